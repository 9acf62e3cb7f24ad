"""Threads of their own for a kind of requests, shared fairly among those who ask.

Whoever sends much waits behind their own requests, not before those of others: addresses (or
browsers that have logged in before) take turns, and a full queue gives way to who has little in it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

KNOWN_IN_A_ROW = 3  # turns of known browsers, then one of the others, if any wait


class Displaced(Exception):
    """The request had to give way while it waited: the client is to come back."""


@dataclass(frozen=True)
class Asker:
    """Whose request it is: an address, or a browser that has logged in before (`known`)."""

    key: str = ""  # "": nobody is told apart
    known: bool = False


@dataclass
class Waiting:
    """A request that waits for a thread."""

    asker: Asker
    work: Callable[[], Any]
    done: asyncio.Future[Any]


class Lane:
    """Requests that wait, the first of each asker in turns."""

    def __init__(self) -> None:
        self.by_key: OrderedDict[str, deque[Waiting]] = OrderedDict()
        self.length = 0

    def add(self, entry: Waiting) -> None:
        self.by_key.setdefault(entry.asker.key, deque()).append(entry)
        self.length += 1

    def take(self, may_run: Callable[[str], bool]) -> Waiting | None:
        """The next whose asker may have one more thread; the asker's turn is then over."""
        key = next((key for key in self.by_key if may_run(key)), None)
        if key is None:
            return None
        entry = self.by_key[key].popleft()
        self._shortened(key)
        if key in self.by_key:
            self.by_key.move_to_end(key)
        return entry

    def longest(self) -> str:
        """The asker with most requests here."""
        return max(self.by_key, key=lambda key: len(self.by_key[key]))

    def drop_newest(self, key: str) -> Waiting:
        entry = self.by_key[key].pop()
        self._shortened(key)
        return entry

    def count(self, key: str) -> int:
        return len(self.by_key.get(key, ()))

    def _shortened(self, key: str) -> None:
        self.length -= 1
        if not self.by_key[key]:
            del self.by_key[key]


class Queue:
    """Threads, and in each lane no more requests waiting than can be answered soon.

    Who has waited for `patience_s` is told to come back: a database that hangs ends nothing itself.
    Where it is `fair`, one asker never holds the last thread, nor do all unknown ones together.
    It is used by the loop's thread alone.
    """

    def __init__(
        self,
        name: str,
        threads: int,
        waiting: int,
        patience_s: float = 600.0,
        *,
        fair: bool = False,
    ) -> None:
        self.patience_s, self.fair = patience_s, fair
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self.threads, self.most_waiting = threads, waiting
        self.lanes = {True: Lane(), False: Lane()}  # of known browsers, of all others
        self.running: Counter[Asker] = Counter()
        self.known_in_a_row = 0

    @property
    def inside(self) -> int:
        return self.running.total() + sum(lane.length for lane in self.lanes.values())

    def has_room(self, asker: Asker) -> bool:
        """Whether one more of theirs may wait, though another's has to give way for it."""
        lane = self.lanes[asker.known]
        if lane.length < self.most_waiting:
            return True
        return bool(lane.length) and lane.count(lane.longest()) > lane.count(asker.key) + 1

    def run(self, asker: Asker, work: Callable[..., Any], *args: object) -> asyncio.Future[Any]:
        """In one of its threads; it counts until the thread is done, whoever still waits for it."""
        lane = self.lanes[asker.known]
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        lane.add(Waiting(asker, lambda: work(*args), done))
        self._start()
        if lane.length > self.most_waiting:
            dropped = lane.drop_newest(lane.longest()).done
            dropped.set_exception(Displaced())
            dropped.exception()  # seen here if nobody waits any more
        return done

    def _start(self) -> None:
        while self.running.total() < self.threads and (entry := self._next()) is not None:
            self.running[entry.asker] += 1
            running = asyncio.get_running_loop().run_in_executor(self.pool, entry.work)
            running.add_done_callback(partial(self._ended, entry))

    def _next(self) -> Waiting | None:
        first = self.known_in_a_row < KNOWN_IN_A_ROW
        for known in (first, not first):
            entry = self.lanes[known].take(partial(self._may_run, known))
            if entry is not None:
                others_wait = bool(self.lanes[False].length)
                self.known_in_a_row = self.known_in_a_row + 1 if known and others_wait else 0
                return entry
        return None

    def _may_run(self, known: bool, key: str) -> bool:
        if not self.fair or self.threads == 1:
            return True
        unknown = sum(count for asker, count in self.running.items() if not asker.known)
        if not known and unknown >= self.threads - 1:
            return False
        return self.running[Asker(key, known)] < self.threads - 1

    def _ended(self, entry: Waiting, running: asyncio.Future[Any]) -> None:
        self.running[entry.asker] -= 1
        if not self.running[entry.asker]:
            del self.running[entry.asker]
        if not entry.done.done():
            if running.cancelled():
                entry.done.cancel()
            elif error := running.exception():
                entry.done.set_exception(error)
                entry.done.exception()  # seen here if nobody waited so long
            else:
                entry.done.set_result(running.result())
        self._start()
