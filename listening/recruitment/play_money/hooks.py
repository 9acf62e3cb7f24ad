"""Hooks: subscriptions, events, and their delivery with signature and retries."""

from __future__ import annotations

import base64
import hmac
import json
import random
import secrets
import threading
import time
import urllib.error
import urllib.request
from typing import Any

from listening.recruitment.play_money.state import ApiError, Json, State

EVENT_TYPES = {
    "submission.status.change": "A submission has another status.",
    "study.status.change": "A study has another status.",
    "study.progress.change": "Places of a study were taken or freed.",
    "study.has_high_return_rate": "Many participants return a study.",
}
RETRIES = 11
GIVE_UP_S = 5 * 24 * 3600
TIMEOUT_S = 10
DELIVERING = threading.Lock()


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """The signature's header: over the timestamp and, right after it, the raw body."""
    digest = hmac.digest(secret.encode(), timestamp.encode() + body, "sha256")
    return base64.b64encode(digest).decode()


def new_secret(state: State, workspace: str) -> Json:
    """The workspace's one secret; the one before it is dead."""
    for old in state.all("secrets", workspace_id=workspace):
        del state.data["secrets"][old["id"]]
    return state.add("secrets", workspace_id=workspace, value=secrets.token_urlsafe(32))


def subscribe(state: State, workspace: str, event_type: Any, target: Any) -> Json:
    check(state, event_type, target)
    if not state.all("secrets", workspace_id=workspace):
        raise ApiError(400, "The workspace has no secret: create one first.")
    return state.add(
        "subscriptions",
        workspace_id=workspace,
        event_type=event_type,
        target_url=target,
        is_enabled=False,
        confirmation=secrets.token_urlsafe(24),
        failing_since=None,
    )


def check(state: State, event_type: Any, target: Any) -> None:
    if str(event_type) not in EVENT_TYPES:
        raise ApiError(400, {"event_type": [f"{event_type!r} is not a valid choice."]})
    if not isinstance(target, str) or not target.startswith(("https://", "http://")):
        raise ApiError(400, {"target_url": ["An address on the web is required."]})


def confirm(subscription: Json, secret: Any) -> None:
    if not hmac.compare_digest(str(secret).encode(), subscription["confirmation"].encode()):
        raise ApiError(400, {"secret": ["This is not the subscription's X-Hook-Secret."]})
    subscription["is_enabled"] = True


def subscription_json(subscription: Json) -> Json:
    names = ("id", "workspace_id", "event_type", "target_url", "is_enabled")
    return {name: subscription[name] for name in names}


# --- Sending -------------------------------------------------------------------------------------


def emit(state: State, workspace: str, event_type: str, resource: str, **more: Any) -> None:
    """Writes an event down for each subscription to it, to be sent soon."""
    for subscription in state.all("subscriptions", workspace_id=workspace, event_type=event_type):
        if not subscription["is_enabled"]:
            continue
        payload = {"resource_id": resource, "event_type": event_type, **more}
        event = state.add(
            "events",
            subscription=subscription["id"],
            event_type=event_type,
            resource_id=resource,
            status="PENDING",
            target_url=subscription["target_url"],
            payload=payload,
            updated=state.now(),
            tries=0,
        )
        state.later("deliver", 0.0, event=event["id"], attempt=0)


def deliver_due(state: State, *, all_now: bool = False, retries: bool = False) -> int:
    """Sends what is due, one after the other; the state is not locked while a receiver works."""
    sent = 0
    while True:
        with DELIVERING:
            with state.lock:
                job = state.take_due(deliveries=True, all_now=all_now, retries=retries)
                request = job and _request(state, job["args"])
            if job is None:
                return sent
            sent += 1
            answer = _send(request) if request else "nobody listens"
            with state.lock:
                state.is_dirty = True
                _record(state, job["args"], answer)
                state.save()


def _request(state: State, args: Json) -> urllib.request.Request | None:
    event = state.get("events", args["event"])
    subscription = state.data["subscriptions"].get(event["subscription"])
    if subscription is None or not subscription["is_enabled"]:
        return None
    owned = state.all("secrets", workspace_id=subscription["workspace_id"])
    body, timestamp = json.dumps(event["payload"]).encode(), str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "X-Prolific-Request-Signature": sign(owned[-1]["value"], timestamp, body),
        "X-Prolific-Request-Timestamp": timestamp,
        "X-Event-ID": event["id"],
        "X-Timestamp": str(int(time.time())),
    }
    return urllib.request.Request(subscription["target_url"], body, headers, method="POST")


class _Stay(urllib.request.HTTPRedirectHandler):
    """A redirect is a failure: nothing is sent to another address."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _send(request: urllib.request.Request) -> str:
    """Nothing, or why it failed."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Stay())
    try:
        with opener.open(request, timeout=TIMEOUT_S) as response:
            return "" if 200 <= response.status < 300 else str(response.status)
    except (OSError, ValueError, urllib.error.HTTPError) as error:
        return str(error) or type(error).__name__


def _record(state: State, args: Json, problem: str) -> None:
    event = state.get("events", args["event"])
    event["tries"] += 1
    event["updated"] = state.now()
    subscription = state.data["subscriptions"].get(event["subscription"])
    if not problem:
        event["status"] = "SUCCEEDED"
        if subscription:
            subscription["failing_since"] = None
        return
    event["problem"] = problem
    if subscription:
        since = subscription["failing_since"] = subscription["failing_since"] or state.now()
        subscription["is_enabled"] &= state.now() - since < GIVE_UP_S
    attempt = args["attempt"] + 1
    if attempt > RETRIES or not subscription:
        event["status"] = "FAILED"
        return
    wait_s = random.uniform(0, 60 * 2 ** (attempt - 1))
    state.later("deliver", wait_s, event=event["id"], attempt=attempt)
