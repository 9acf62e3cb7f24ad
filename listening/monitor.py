"""A study's progress for everybody who watches: one aggregate in the cache, made once a second."""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import suppress
from typing import Any, TypedDict

from django.core.cache import cache
from redis.exceptions import RedisError

from listening.selectors import study_progress

AT_MOST_EVERY_S = 1.0
REST = 4  # the aggregate rests at least this many times as long as it took to make
KEPT_S = 3600
LOCKED_S = 60  # a maker that dies keeps the others waiting no longer than this


class Snapshot(TypedDict):
    """A study's progress as it was at `made_at`; `version` changes when a number does."""

    progress: dict[str, Any]
    version: str
    made_at: float
    rests_until: float


def page_progress(study: str, *, max_age_s: float = 0.0) -> dict[str, Any]:
    """The newest aggregate for a page, which is served without the cache when that is away."""
    try:
        return latest_progress(study, max_age_s=max_age_s)["progress"]
    except RedisError:
        return _snapshot(study, time.time())["progress"]


def latest_progress(study: str, *, max_age_s: float = 0.0) -> Snapshot:
    """The newest aggregate; made anew when it has rested enough and is older than `max_age_s`."""
    name = f"monitor/{study}"
    kept: Snapshot | None = cache.get(name)
    now = time.time()
    if kept and (now < kept["rests_until"] or now < kept["made_at"] + max_age_s):
        return kept
    lock = f"{name}/lock"
    mine = cache.add(lock, 1, timeout=LOCKED_S)
    if kept and not mine:
        return kept  # somebody else is at it
    try:
        fresh = _snapshot(study, now)
        cache.set(name, fresh, timeout=KEPT_S)
    finally:
        if mine:
            cache.delete(lock)
    return fresh


def _snapshot(study: str, began: float) -> Snapshot:
    progress: dict[str, Any] = dict(study_progress(study))
    progress["total"] = {
        key: sum(task[key] for task in progress["tasks"]) for key in ("planned", "rated")
    }
    lasting = {key: value for key, value in progress.items() if key != "at"}
    version = hashlib.sha256(json.dumps(lasting, sort_keys=True).encode()).hexdigest()[:16]
    made_at = time.time()
    rests_until = made_at + max(AT_MOST_EVERY_S, REST * (made_at - began))
    return Snapshot(progress=progress, version=version, made_at=made_at, rests_until=rests_until)


def forget_progress(study: str) -> None:
    """After a change that the researcher made: the next look counts again."""
    with suppress(RedisError):
        cache.delete(f"monitor/{study}")
