"""Errors go to a Sentry-compatible server if a setting names one: what broke, not for whom.

An event is built anew of the few fields that are needed. Messages of errors, variables, addresses,
requests and arguments of jobs may hold answers and codes, so they are left here.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings

FIELDS = ("event_id", "timestamp", "level", "platform", "release", "environment", "sdk")
FRAME = ("filename", "function", "module", "lineno", "context_line", "in_app")


def start() -> None:
    if not settings.EARNEST_SENTRY_DSN:
        return
    import sentry_sdk
    from sentry_sdk.integrations.celery import CeleryIntegration
    from sentry_sdk.integrations.django import DjangoIntegration

    sentry_sdk.init(
        dsn=settings.EARNEST_SENTRY_DSN,
        integrations=[DjangoIntegration(), CeleryIntegration()],
        default_integrations=True,
        auto_enabling_integrations=False,
        before_send=lambda event, hint: stripped(event),
        include_local_variables=False,
        max_request_body_size="never",
        send_default_pii=False,
        send_client_reports=False,
        auto_session_tracking=False,
        max_breadcrumbs=0,
        server_name="",
        traces_sample_rate=None,
    )


def stripped(event: Any) -> Any:
    """Kind of error, place in the code, logger; nothing that a rater or researcher typed."""
    report: dict[str, Any] = {name: event[name] for name in FIELDS if name in event}
    exceptions = (event.get("exception") or {}).get("values") or []
    if exceptions:
        report["exception"] = {"values": [_exception(each) for each in exceptions]}
    if logger := event.get("logger"):
        report["logger"] = logger
    if message := (event.get("logentry") or {}).get("message"):
        # as it stands in the code, before it is filled in
        report["logentry"] = {"message": message}
    return report


def _exception(exception: dict[str, Any]) -> dict[str, Any]:
    frames = (exception.get("stacktrace") or {}).get("frames") or []
    reported_frames = [{name: frame[name] for name in FRAME if name in frame} for frame in frames]
    return {
        "type": exception.get("type"),
        "module": exception.get("module"),
        "value": "",
        "stacktrace": {"frames": reported_frames},
    }
