"""The server behind the cache, for what counts: its hashes add up what many processes saw."""

from __future__ import annotations

from typing import Any

from django.core.cache import cache


def counter_server() -> Any:
    return cache._cache.get_client(write=True)  # type: ignore[attr-defined]  # Django's Redis cache
