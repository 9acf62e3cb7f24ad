"""A study's progress for everybody who watches: one aggregate in the cache, made once a second."""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import suppress
from typing import Any, TypedDict, overload

from django.core.cache import cache
from redis.exceptions import RedisError

from listening.common.ages import age_s
from listening.common.cached_counts import KEPT_S, REST, SLOW_S, Patience, ask, asked_name, claim
from listening.models import Study
from listening.selectors.progress import study_progress

AT_MOST_EVERY_S = 1.0
KIND = "progress"  # of what `listening.common.cached_counts` asks a worker for
LOCKED_S = 60  # a maker that dies keeps the others waiting no longer than this


class Snapshot(TypedDict):
    """A study's progress as it was at `made_at`; `version` changes when a number does."""

    progress: dict[str, Any]
    version: str
    made_at: float
    took_s: float
    rests_until: float


@overload
def page_progress(study: str, *, max_age_s: float = 0.0) -> dict[str, Any]: ...
@overload
def page_progress(
    study: str, *, max_age_s: float = 0.0, patience: Patience | None
) -> dict[str, Any] | None: ...
def page_progress(
    study: str, *, max_age_s: float = 0.0, patience: Patience | None = None
) -> dict[str, Any] | None:
    """The aggregate for a page, which is served without the cache when that is away.

    One that took long is shown as it was kept, while a worker makes it anew; None is only given to
    who has no patience left.
    """
    try:
        kept: Snapshot | None = cache.get(_name(study))
        over = patience is not None and patience.is_over
        if over or (kept and kept["took_s"] > SLOW_S):
            if not (kept and _lasts(kept, max_age_s)):
                ask(KIND, study)
            return kept["progress"] if kept else None
        fresh = latest_progress(study, max_age_s=max_age_s)
        if patience is not None and fresh != kept:
            patience.left_s -= fresh["took_s"]
        return fresh["progress"]
    except RedisError:
        return _snapshot(study)["progress"]


def latest_progress(study: str, *, max_age_s: float = 0.0) -> Snapshot:
    """The newest aggregate; made anew when it has rested enough and is older than `max_age_s`."""
    name = _name(study)
    kept: Snapshot | None = cache.get(name)
    if kept and _lasts(kept, max_age_s):
        return kept
    lock = f"{name}/lock"
    mine = claim(lock, LOCKED_S)
    if kept and not mine:
        return kept  # somebody else is at it
    try:
        fresh = _snapshot(study)
        cache.set(name, fresh, timeout=KEPT_S)
        cache.delete(asked_name(KIND, study))
    finally:
        if mine:
            cache.delete(lock)
    return fresh


def _lasts(kept: Snapshot, max_age_s: float) -> bool:
    rests_s = kept["rests_until"] - kept["made_at"]
    return age_s(kept["made_at"]) < max(rests_s, max_age_s)


def _name(study: str) -> str:
    return f"progress/{study}"


def _snapshot(study: str) -> Snapshot:
    began = time.monotonic()
    progress: dict[str, Any] = dict(study_progress(study))
    progress["total"] = {
        key: sum(task[key] for task in progress["tasks"]) for key in ("planned", "rated")
    }
    lasting = {key: value for key, value in progress.items() if key != "at"}
    version = hashlib.sha256(json.dumps(lasting, sort_keys=True).encode()).hexdigest()[:16]
    made_at = time.time()
    took_s = time.monotonic() - began
    rests_until = made_at + max(AT_MOST_EVERY_S, REST * took_s)
    return Snapshot(
        progress=progress, version=version, made_at=made_at, took_s=took_s, rests_until=rests_until
    )


def forget_progress(study: str) -> None:
    """After a change that the researcher made: the next look counts again.

    Where that takes long, pages show the counts of before with the state of now until a worker has
    counted.
    """
    with suppress(RedisError):
        kept: Snapshot | None = cache.get(_name(study))
        state = Study.objects.filter(key=study).values_list("state", flat=True).first()
        if kept is None or state is None or kept["took_s"] <= SLOW_S:
            cache.delete(_name(study))
            return
        progress = kept["progress"] | {"state": state}
        stale: Snapshot = {**kept, "progress": progress, "made_at": 0.0, "rests_until": 0.0}
        cache.set(_name(study), stale, timeout=KEPT_S)
