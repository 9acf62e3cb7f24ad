"""/readyz for whoever watches from outside, /metrics for Prometheus, /operations/ for people."""

from __future__ import annotations

import shutil
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db import Error
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError as BrokerError
from prometheus_client import CONTENT_TYPE_LATEST
from redis.exceptions import RedisError

from config.installation import version
from config.operations import heartbeats, shared_counters
from config.operations.figures import exposition, figures
from config.operations.health import REMEDIES, readiness
from listening.common.job_queues import queue_states

SHOWN_FAILURES = 20


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 while raters can be served; with ?strict also the work behind must be done."""
    health = readiness.now()
    bad = health.grade == "unavailable" or ("strict" in request.GET and health.grade != "ok")
    checks = {
        name: {"grade": check.grade, "detail": check.detail}
        for name, check in health.checks.items()
    }
    return JsonResponse({"status": health.grade, "checks": checks}, status=503 if bad else 200)


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Behind a proxy every request comes from loopback, so that only a token tells who asks."""
    token = settings.EARNEST_METRICS_TOKEN
    given = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not token or not constant_time_compare(given, token):
        raise Http404
    return HttpResponse(exposition(), content_type=CONTENT_TYPE_LATEST)


@never_cache
@login_required
@require_safe
def operations(request: HttpRequest) -> HttpResponse:
    """The same for people: what runs, what waits, what failed; each part stands alone."""
    if not getattr(request.user, "is_superuser", False):
        raise PermissionDenied
    health = readiness.now()
    disk = shutil.disk_usage(settings.EARNEST_VAR)
    context: dict[str, Any] = {
        "health": health,
        "remedies": [
            (name, REMEDIES[name])
            for name, check in health.checks.items()
            if check.grade != "ok" and not check.detail.startswith("not looked at")
        ],
        "version": version(),
        "disk": disk,
        **_of_database(),
        **_of_cache(),
    }
    return render(request, "operations/operations.html", context)


def _of_database() -> dict[str, Any]:
    try:
        return {"figures": figures(), "beats": heartbeats.read()}
    except Error:
        return {}


def _of_cache() -> dict[str, Any]:
    try:
        failed = shared_counters.failures_of_last_day()
        return {"queues": queue_states(), "failed": failed[:SHOWN_FAILURES], "counted": True}
    except (RedisError, BrokerError):
        return {}
