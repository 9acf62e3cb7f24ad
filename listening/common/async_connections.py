"""Connections to the database for the event loop: short statements, with no thread between."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from django.conf import settings
from django.db import connections
from psycopg.types.numeric import Int8BinaryDumper
from psycopg_pool import AsyncConnectionPool, PoolTimeout

CONNECTIONS = 8
FAILURES = (psycopg.Error, PoolTimeout, TimeoutError)  # of the database, or of who waits for it
# Each statement finds its rows by an index, at any size, and whatever PostgreSQL knows of it yet.
SETTINGS = (
    "plan_cache_mode = force_generic_plan",
    *(f"enable_{way} = off" for way in ("seqscan", "hashjoin", "mergejoin")),
    "jit = off",
)
Connection = psycopg.AsyncConnection[Any]


class LoopPool:
    """Opened in the loop that uses it, by the first who asks for a connection."""

    def __init__(self) -> None:
        self.pool: AsyncConnectionPool | None = None

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        if self.pool is None:
            self.pool = _pool()
            await self.pool.open()
        async with self.pool.connection() as connection:
            yield connection

    async def close(self) -> None:
        if self.pool is not None:
            await self.pool.close()


def _pool() -> AsyncConnectionPool:
    """Connections as Django makes them; each statement is a transaction."""
    known = connections["default"].get_connection_params()
    given = {
        name: value for name, value in known.items() if name not in ("cursor_factory", "context")
    }
    own = {"autocommit": True, "prepare_threshold": 0}
    return AsyncConnectionPool(
        kwargs={**given, **own},
        min_size=1,
        max_size=CONNECTIONS,
        configure=_prepared_once,
        open=False,
        name="loop",
    )


async def _prepared_once(connection: Connection) -> None:
    """Each statement is planned once: for whole numbers of one width, and for whatever they are."""
    connection.adapters.register_dumper(int, Int8BinaryDumper)
    if settings.EARNEST_POOLER:
        return  # the next transaction on this connection may be a page's
    for setting in SETTINGS:
        await connection.execute(f"SET {setting}")
