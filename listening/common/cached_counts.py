"""Cached counts of whole studies for pages, with their age.

What is quick to count is counted when a page asks. What took long the last time is shown from the
cache while a worker counts again, so that nobody waits for a million ratings to be counted.
"""

from __future__ import annotations

import logging
import pickle
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from celery import current_app
from django.core.cache import cache
from django.utils.module_loading import import_string
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from listening.common.ages import age_s

SLOW_S = 0.1  # what takes longer is left to a worker
LIFETIME_S = 30 * 86_400
REST = 4  # it rests at least this many times as long as it took to make
STALE_AFTER_S = 30.0
REQUEST_S = 60  # a worker that was asked is not asked again meanwhile
RECOUNT = "listening.jobs.recount"  # named, since the job imports what counts
# What Python says of a pickle whose classes have other names or fields by now.
UNREADABLE = (pickle.UnpicklingError, AttributeError, ImportError, TypeError, EOFError, IndexError)
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Kept:
    """A cached value, the time at which it was counted, and how long that took."""

    value: Any
    made_at: float
    took_s: float

    @property
    def counted_at(self) -> datetime:
        return datetime.fromtimestamp(self.made_at, UTC)

    @property
    def is_old(self) -> bool:
        """Whether a page says when it was counted."""
        return age_s(self.made_at) > STALE_AFTER_S


@dataclass
class Patience:
    """How long one page may count: what is not there by then is shown older, or not yet."""

    left_s: float = 0.05

    @property
    def is_over(self) -> bool:
        return self.left_s <= 0


MAKERS = {  # kind -> what counts it, of a study or of one of its questions
    "clips": "listening.selectors.clip_answers.tallies",
    "reason-evidence": "listening.review.items.count_evidence",
    "times": "listening.selectors.study_overview.rating_hours",
}


def look(
    kind: str, subject: str, max_age_s: float, patience: Patience | None = None
) -> Kept | None:
    """The counts, no older than that where making them is quick; None: a worker makes the first."""
    try:
        cached: Kept | None = readable(_cache_key(kind, subject))
    except RedisError:
        return _count(kind, subject)
    slow = cached is not None and cached.took_s > SLOW_S
    if cached and age_s(cached.made_at) < max(max_age_s, REST * cached.took_s * slow):
        return cached
    if slow or (patience is not None and patience.is_over):
        ask(kind, subject)
        return cached
    fresh = remake(kind, subject)
    if patience is not None:
        patience.left_s -= fresh.took_s
    return fresh


def readable(name: str) -> Any:
    """What the cache holds; None, too, where another version of this program put it there."""
    try:
        return cache.get(name)
    except UNREADABLE:
        return None


def remake(kind: str, subject: str) -> Kept:
    """Count now, and cache the result."""
    fresh = _count(kind, subject)
    with suppress(RedisError):
        cache.set(_cache_key(kind, subject), fresh, timeout=LIFETIME_S)
        cache.delete(request_key(kind, subject))
    return fresh


def ask(kind: str, subject: str) -> None:
    """Has a worker count; once for all who ask meanwhile."""
    try:
        if claim(request_key(kind, subject), REQUEST_S):
            current_app.send_task(RECOUNT, [kind, subject])
    except (RedisError, OperationalError) as error:
        log.warning("No worker could be asked to count %s of %s: %s", kind, subject, error)


def claim(name: str, seconds: float) -> bool:
    """Whether nobody else has claimed this name in the last `seconds`; it is ours then.

    The stamp counts and not the end that the cache keeps: that one goes by the clock, too.
    """
    if cache.add(name, time.time(), timeout=seconds):
        return True
    if age_s(cache.get(name) or 0.0) < seconds:
        return False
    cache.set(name, time.time(), timeout=seconds)
    return True


def _count(kind: str, subject: str) -> Kept:
    began = time.monotonic()
    value = import_string(MAKERS[kind])(subject)
    return Kept(value, time.time(), time.monotonic() - began)


def _cache_key(kind: str, subject: str) -> str:
    return f"kept/{kind}/{subject}"


def request_key(kind: str, subject: str) -> str:
    return f"{_cache_key(kind, subject)}/asked"
