"""How many jobs wait in each queue, and how long the oldest has waited."""

from __future__ import annotations

import json
import time
from typing import Any, NamedTuple

from celery.signals import before_task_publish
from django.conf import settings

QUEUES = ("default", "analysis", "gpu")
SENT_AT = "earnest_sent_at"  # a header of every job
PATIENCE_S = 2.0


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


def age_s(message: bytes | str, now: float) -> float | None:
    """How long ago a job was sent, as its header says; jobs of an older version do not say."""
    sent_at = json.loads(message).get("headers", {}).get(SENT_AT)
    return None if sent_at is None else max(0.0, now - float(sent_at))
