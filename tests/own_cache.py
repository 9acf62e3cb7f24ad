"""The cache of one test process: all of them share a server, and its own `clear` empties it."""

from __future__ import annotations

from django.core.cache import cache


def empty_cache() -> None:
    """Forgets what this process keeps; what others keep beside it stays."""
    client = cache._cache.get_client(write=True)
    if keys := list(client.scan_iter(f"{cache.key_prefix}:*")):
        client.delete(*keys)
