"""Counts of whole studies for pages: kept, told with their age, and made again.

What is quick to make is made when a page asks. What took long the last time is shown as it was
kept while a worker makes it anew, so that nobody waits for a million ratings to be counted.
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
KEPT_S = 30 * 86_400
REST = 4  # it rests at least this many times as long as it took to make
TOLD_FROM_S = 30.0
ASKED_S = 60  # a worker that was asked is not asked again meanwhile
RECOUNT = "listening.jobs.recount"  # named, since the job imports what counts
# What Python says of a pickle whose classes have other names or fields by now.
UNREADABLE = (pickle.UnpicklingError, AttributeError, ImportError, TypeError, EOFError, IndexError)
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Kept:
    """A value, when it was made, and how long that took."""

    value: Any
    made_at: float
    took_s: float

    @property
    def counted_at(self) -> datetime:
        return datetime.fromtimestamp(self.made_at, UTC)

    @property
    def is_old(self) -> bool:
        """Whether a page says when it was counted."""
        return age_s(self.made_at) > TOLD_FROM_S


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


def look(kind: str, of: str, max_age_s: float, patience: Patience | None = None) -> Kept | None:
    """The counts, no older than that where making them is quick; None: a worker makes the first."""
    try:
        kept: Kept | None = readable(_name(kind, of))
    except RedisError:
        return _made(kind, of)
    slow = kept is not None and kept.took_s > SLOW_S
    if kept and age_s(kept.made_at) < max(max_age_s, REST * kept.took_s * slow):
        return kept
    if slow or (patience is not None and patience.is_over):
        ask(kind, of)
        return kept
    fresh = remake(kind, of)
    if patience is not None:
        patience.left_s -= fresh.took_s
    return fresh


def readable(name: str) -> Any:
    """What the cache holds; None, too, where another version of this program put it there."""
    try:
        return cache.get(name)
    except UNREADABLE:
        return None


def remake(kind: str, of: str) -> Kept:
    """Counted now, and kept."""
    fresh = _made(kind, of)
    with suppress(RedisError):
        cache.set(_name(kind, of), fresh, timeout=KEPT_S)
        cache.delete(asked_name(kind, of))
    return fresh


def ask(kind: str, of: str) -> None:
    """Has a worker count; once for all who ask meanwhile."""
    try:
        if claim(asked_name(kind, of), ASKED_S):
            current_app.send_task(RECOUNT, [kind, of])
    except (RedisError, OperationalError) as error:
        log.warning("No worker could be asked to count %s of %s: %s", kind, of, error)


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


def _made(kind: str, of: str) -> Kept:
    began = time.monotonic()
    value = import_string(MAKERS[kind])(of)
    return Kept(value, time.time(), time.monotonic() - began)


def _name(kind: str, of: str) -> str:
    return f"kept/{kind}/{of}"


def asked_name(kind: str, of: str) -> str:
    return f"{_name(kind, of)}/asked"
