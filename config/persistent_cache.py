"""Django's cache in Valkey with a client that is kept: one made anew costs half an answer."""

from __future__ import annotations

from typing import Any

from django.core.cache.backends.redis import RedisCache, RedisCacheClient
from django.db import connection


def key_of_database(key: str, prefix: str, version: int) -> str:
    """Keys name rows by their numbers, which mean others in another database."""
    return f"{prefix}:{connection.settings_dict['NAME']}:{version}:{key}"


class KeptClient(RedisCacheClient):
    """Its clients hold no connection between commands, so that one serves all."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._kept: dict[int, Any] = {}

    def get_client(self, key: Any = None, *, write: bool = False) -> Any:
        pool = self._get_connection_pool(write)  # type: ignore[attr-defined]  # no stubs
        client = self._kept.get(id(pool))
        if client is None:
            client = self._kept[id(pool)] = self._client(  # type: ignore[attr-defined]
                connection_pool=pool
            )
        return client


class KeptCache(RedisCache):
    """For CACHES."""

    def __init__(self, server: Any, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = KeptClient
