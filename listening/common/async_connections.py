"""Database connections of the event loop, and batches of statements that share one.

Statements are short, with no thread between. Calls that arrive while others are on their way wait
for each other and go on together.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

import psycopg
from django.conf import settings
from django.db import connections
from psycopg.types.numeric import Int8BinaryDumper
from psycopg_pool import AsyncConnectionPool, PoolTimeout

log = logging.getLogger(__name__)
Call = TypeVar("Call")
Result = TypeVar("Result")
CONNECTIONS = 8
FAILURES = (psycopg.Error, PoolTimeout, TimeoutError)  # of the database, or of who waits for it
# Each statement finds its rows by an index, at any size, and whatever PostgreSQL knows of it yet.
SETTINGS = (
    "plan_cache_mode = force_generic_plan",
    *(f"enable_{way} = off" for way in ("seqscan", "hashjoin", "mergejoin")),
    "jit = off",
)
Connection = psycopg.AsyncConnection[Any]


class Batches(Generic[Call, Result]):
    """Awaited with a call, it returns its result, from `work`, which gets all that have come."""

    def __init__(
        self,
        work: Callable[[list[Call]], Awaitable[Sequence[Result]]],
        *,
        at_once: int = 1,
        largest: int = 64,
        by_one: tuple[type[Exception], ...] = (),
    ) -> None:
        """`work` returns one result per call, in their order; what it raises, all of them get.

        `at_once`: batches on their way at most. `largest`: calls in one. `by_one`: errors that a
        single call causes, after which `work` has done nothing: the others are not to fail with it.
        """
        self.work, self.at_once, self.largest, self.by_one = work, at_once, largest, by_one
        self.waiting: deque[tuple[Call, asyncio.Future[Result]]] = deque()
        self.working = 0
        self.tasks: set[asyncio.Task[None]] = set()  # the loop itself holds them weakly

    async def __call__(self, call: Call) -> Result:
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self.waiting.append((call, future))
        if self.working < self.at_once:
            self.working += 1
            task = asyncio.create_task(self._work())
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        return await future

    async def _work(self) -> None:
        try:
            while batch := self._next():
                await self._settle(batch)
        finally:
            self.working -= 1  # now, not when the task is found to be done: else who comes waits

    async def _settle(self, batch: list[tuple[Call, asyncio.Future[Result]]]) -> None:
        try:
            results = await self.work([call for call, _ in batch])
        except Exception as error:
            kind = type(error.__cause__ or error).__name__  # the message may hold data
            log.warning("%d calls failed that went together: %s", len(batch), kind)
            if len(batch) > 1 and isinstance(error, self.by_one):  # halves find the one soon
                await self._settle(batch[: len(batch) // 2])
                await self._settle(batch[len(batch) // 2 :])
                return
            for _, future in batch:
                if not future.done():  # whoever waited has gone
                    future.set_exception(error)
        else:
            for (_, future), result in zip(batch, results, strict=True):
                if not future.done():
                    future.set_result(result)

    def _next(self) -> list[tuple[Call, asyncio.Future[Result]]]:
        batch: list[tuple[Call, asyncio.Future[Result]]] = []
        while self.waiting and len(batch) < self.largest:
            call, future = self.waiting.popleft()
            if not future.done():
                batch.append((call, future))
        return batch


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
    defaults = connections["default"].get_connection_params()
    params = {
        name: value for name, value in defaults.items() if name not in ("cursor_factory", "context")
    }
    own = {"autocommit": True, "prepare_threshold": 0}
    return AsyncConnectionPool(
        kwargs={**params, **own},
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
