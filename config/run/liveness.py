"""Whether the pages answer at all, asked from the supervisor's loop without ever waiting there."""

from __future__ import annotations

import select
import socket
from contextlib import suppress

EVERY_S = 5.0
PATIENCE_S = 10.0
FAILURES = 6  # in a row, at least half a minute; a count, as the loop itself may have been stopped
REQUEST = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Liveness:
    """One question at a time; many in a row without an answer mean that the pages hang."""

    def __init__(self, host: str, port: int) -> None:
        self.address = (host, port)
        self.asking: socket.socket | None = None
        self.deadline = self.next_at = 0.0
        self.sent = False
        self.failures = 0
        self.answered = False  # since the pages were started: a slow start is not a hang

    def forget(self) -> None:
        """The pages start anew: so does the count."""
        self._end()
        self.failures, self.answered = 0, False

    def is_dead(self, now: float) -> bool:
        """Goes one step on; true when too many questions in a row got no answer."""
        if self.asking is not None:
            self._go_on(now)
        elif now >= self.next_at:
            self._ask(now)
        return self.failures >= FAILURES

    def _ask(self, now: float) -> None:
        family = socket.AF_INET6 if ":" in self.address[0] else socket.AF_INET
        self.asking = socket.socket(family)
        self.asking.setblocking(False)
        self.asking.connect_ex(self.address)
        self.sent = False
        self.deadline, self.next_at = now + PATIENCE_S, now + EVERY_S

    def _go_on(self, now: float) -> None:
        assert self.asking is not None
        try:
            if not self.sent:
                with suppress(BlockingIOError):
                    self.asking.sendall(REQUEST)
                    self.sent = True
            elif select.select([self.asking], [], [], 0)[0]:
                self._count(b" 200 " in self.asking.recv(64))
                return
        except OSError:
            self._count(False)
            return
        if now > self.deadline:
            self._count(False)

    def _count(self, alive: bool) -> None:
        self.answered = self.answered or alive
        self.failures = self.failures + 1 if self.answered and not alive else 0
        self._end()

    def _end(self) -> None:
        if self.asking is not None:
            self.asking.close()
            self.asking = None
