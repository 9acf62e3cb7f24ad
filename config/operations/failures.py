"""Failures of the last day, of pages and jobs: counted by hour, place and kind in the cache."""

from __future__ import annotations

import logging
import time
from collections import Counter
from typing import Any

from celery.signals import task_failure
from django.core.cache import cache
from redis.exceptions import RedisError

from config.operations.shared import counter_server
from listening.common.signals import job_lost

HOURS = 24
log = logging.getLogger(__name__)


def _key(hour: int) -> str:
    return f"{cache.key_prefix}-failures-{hour}"


def count_failure(place: str, kind: str, now: float | None = None) -> None:
    """One failure more; if the cache is away, the log alone has it."""
    name = _key(int((now or time.time()) // 3600))
    try:
        pipe = counter_server().pipeline(transaction=True)
        pipe.hincrby(name, f"{place}|{kind}", 1)
        pipe.expire(name, (HOURS + 1) * 3600)
        pipe.execute()
    except RedisError:
        log.warning("A failure of %s could not be counted", place)


def failures_of_last_day(now: float | None = None) -> list[tuple[str, str, int]]:
    """(place, kind, how often), most frequent first."""
    hour = int((now or time.time()) // 3600)
    found: Counter[tuple[str, str]] = Counter()
    for past in range(HOURS):
        for field, count in counter_server().hgetall(_key(hour - past)).items():
            place, _, kind = field.decode().rpartition("|")
            found[place, kind] += int(count)
    return [(place, kind, count) for (place, kind), count in found.most_common()]


def _on_failure(sender: Any = None, exception: BaseException | None = None, **_: Any) -> None:
    count_failure(f"job {getattr(sender, 'name', 'unknown')}", type(exception).__name__)


def _on_loss(job: str, why: str, **_: Any) -> None:
    count_failure(f"job {job}", why)


def count_failures_of_jobs() -> None:
    task_failure.connect(_on_failure, weak=False, dispatch_uid="count-failures")
    job_lost.connect(_on_loss, weak=False, dispatch_uid="count-losses")
