"""How many jobs wait in each queue, how long the oldest has waited, and what is in it no more."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from celery.signals import before_task_publish
from django.conf import settings

QUEUES = ("default", "analysis", "gpu")
SENT_AT = "earnest_sent_at"  # a header of every job
PATIENCE_S = 2.0
NOT_FOUND = "404"
ON_ITS_WAY = timedelta(seconds=60)  # from "sent" in a table to its message, and from that to work
UNSEEN = timedelta(minutes=40)  # how long a job may wait in a queue that cannot be looked into


class QueueState(NamedTuple):
    """`waiting` is None where the broker does not say."""

    name: str
    waiting: int | None
    oldest_s: float | None


def mark(headers: dict[str, Any] | None = None, **_: Any) -> None:
    if headers is not None:
        headers[SENT_AT] = time.time()


before_task_publish.connect(mark, weak=False, dispatch_uid="sent-at")


def queue_states() -> list[QueueState]:
    """Of the embedded or a real Redis; RabbitMQ has pages of its own for this."""
    if settings.CELERY_BROKER_URL.startswith("amqp"):
        return [QueueState(name, None, None) for name in QUEUES]
    from celery import current_app

    prefix = settings.CELERY_BROKER_TRANSPORT_OPTIONS.get("global_keyprefix", "")
    with current_app.connection_for_read(connect_timeout=PATIENCE_S) as connection:
        client: Any = connection.default_channel.client  # type: ignore[attr-defined]  # of Redis
        return [_state(client, name, f"{prefix}{name}") for name in QUEUES]


def _state(client: Any, name: str, key: str) -> QueueState:
    """kombu's client adds the prefix to the keys of those commands that kombu itself uses."""
    oldest = client.lrange(key, -1, -1)
    return QueueState(name, client.llen(name), age_s(oldest[0], time.time()) if oldest else None)


def queue_of(job: str) -> str:
    """The queue into which the settings route a job."""
    from celery import current_app

    route: Any = current_app.amqp.router.route({}, job)
    return str(route["queue"].name)


def processed_until(queue: str) -> datetime:
    """What was sent into the queue before this moment is in it no more: it was taken, or lost.

    Queues are worked off in their order, so whatever is older than the oldest message is gone.
    RabbitMQ tells only whether a queue is empty. Raises what the broker's library does.
    """
    state = next((each for each in queue_states() if each.name == queue), None)
    empty = _is_empty(queue) if state is None or state.waiting is None else state.waiting == 0
    now = datetime.now(UTC)
    if empty:
        return now - ON_ITS_WAY
    if state is None or state.oldest_s is None:
        return now - UNSEEN
    return now - timedelta(seconds=state.oldest_s) - ON_ITS_WAY


def _is_empty(queue: str) -> bool:
    from celery import current_app

    with current_app.connection_for_read(connect_timeout=PATIENCE_S) as connection:
        channel: Any = connection.default_channel
        try:
            declared = channel.queue_declare(queue, passive=True)
        except connection.channel_errors as error:
            if str(getattr(error, "reply_code", "")) != NOT_FOUND:
                raise
            return True  # nobody has sent anything since the broker began
    return bool(declared.message_count == 0)


def age_s(message: bytes | str, now: float) -> float | None:
    """How long ago a job was sent, as its header says; jobs of an older version do not say."""
    sent_at = json.loads(message).get("headers", {}).get(SENT_AT)
    return None if sent_at is None else max(0.0, now - float(sent_at))
