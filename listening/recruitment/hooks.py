"""Events that Prolific sends: believed by their signature, counted once, worked off by a look."""

from __future__ import annotations

import base64
import hmac
import time
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from listening.common.addresses import public_route
from listening.common.plain_json import read_json
from listening.models import Connection, HookEvent, Recruitment, Submission
from listening.recruitment.children import named_by
from listening.recruitment.connecting import client_of
from listening.recruitment.errors import RecruitmentError
from listening.recruitment.prolific import ProlificError

OLDEST_S = 26 * 3600.0  # Prolific repeats an event for about a day, maybe with its first stamp
WANTED = ("submission.status.change", "study.status.change")


class NotBelieved(Exception):
    """The event is not Prolific's, or too old."""


def signature(secret: str, timestamp: str, body: bytes) -> str:
    mac = hmac.digest(secret.encode(), timestamp.encode() + body, "sha256")
    return base64.b64encode(mac).decode()


def receive(connection: Connection, headers: Mapping[str, str], body: bytes) -> list[Recruitment]:
    """The recruitments that an event may be about, to be looked at; none where it came before.

    What the event says is not used: events come late, twice and out of order, so it only says
    where to look.
    """
    stamp = headers.get("X-Prolific-Request-Timestamp", "")
    sent = headers.get("X-Prolific-Request-Signature", "")
    own = signature(connection.hook_secret, stamp, body) if connection.hook_secret else ""
    if not own or not hmac.compare_digest(own.encode(), sent.encode()):
        raise NotBelieved("The signature does not fit.")
    if not stamp.isdecimal() or len(stamp) > 15 or abs(time.time() - int(stamp)) > OLDEST_S:
        raise NotBelieved("The event is too old.")
    try:
        event: Any = read_json(body)
    except ValueError:
        raise NotBelieved("The event cannot be read.") from None
    if not isinstance(event, dict):
        raise NotBelieved("The event cannot be read.")
    kind = str(event.get("event_type", ""))[:60]
    resource = str(event.get("resource_id", ""))[:80]
    name = headers.get("X-Event-ID", "")[:120] or signature("", stamp, body)
    _, fresh = HookEvent.objects.get_or_create(
        event=name, defaults={"kind": kind, "resource": resource}
    )
    return _about(connection, resource) if fresh else []


def _about(connection: Connection, resource: str) -> list[Recruitment]:
    """By the study or a child of it; by a submission that is known; else all that are live."""
    own = Recruitment.objects.filter(connection=connection)
    row = Submission.objects.filter(prolific_id=resource, recruitment__in=own).first()
    found = [row.recruitment] if row else list(own.filter(named_by(resource)).distinct())
    return found or list(own.filter(state=Recruitment.State.LIVE))


def subscribe(connection: Connection) -> None:
    """Has Prolific tell us of changes, instead of our asking every few minutes."""
    address = public_route("prolific-hook", connection.pk)
    if not address.startswith("https://"):
        raise RecruitmentError(
            "Prolific sends events to public https addresses only, and this server's is "
            f"{settings.EARNEST_PUBLIC_URL}. Earnest asks Prolific every few minutes instead."
        )
    try:
        with client_of(connection) as prolific:
            known = set(prolific.event_types())
            connection.hook_secret = prolific.create_hook_secret(connection.workspace)
            connection.hooks = {
                kind: prolific.subscribe(connection.workspace, kind, address)
                for kind in WANTED
                if kind in known
            }
    except ProlificError as error:
        raise RecruitmentError(
            f"Prolific does not send events: {error} Earnest asks every few minutes instead."
        ) from None
    connection.save(update_fields=["hook_secret", "hooks"])
