"""How far the jobs are whose results are kept in the cache and in no table, and why one failed."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

from django.core.cache import cache
from django.utils import timezone
from redis.exceptions import RedisError

from config.missing_packages import failure

log = logging.getLogger(__name__)
NONE, RUNNING, DONE, FAILED, AWAY = "none", "running", "done", "failed", "away"
State = dict[str, Any]


def keep_state(name: str, state: str, timeout_s: int, **result: Any) -> None:
    """Keep the state of a job and its result, with a ``mark`` of what it was made of, if any.

    A state with another mark stays: something else was asked for since.
    """
    fresh = {"state": state, "at": timezone.now().isoformat(), **result}
    with suppress(RedisError):
        stored = cache.get(name)
        if stored is None or stored.get("mark") == fresh.get("mark"):
            cache.set(name, fresh, timeout=timeout_s)


def problem_of(error: Exception, what: str) -> str:
    """Return why a job failed, for its page; what is no ValueError or KeyError is logged, too."""
    if isinstance(error, ValueError | KeyError):
        return str(error) or type(error).__name__
    return failure(error, "analysis", log, what)
