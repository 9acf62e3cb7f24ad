"""Backups of a whole installation: taken while it runs, restored anywhere, or moved."""

from __future__ import annotations

import time
from collections.abc import Callable


class BackupError(Exception):
    """A backup cannot be taken or restored; the message says why and what to do."""


Say = Callable[[str], None]
EVERY_S = 5.0


class Progress:
    """Report how many of a known number of steps are done, every few seconds and at the end."""

    def __init__(self, say: Say, what: str, total: int) -> None:
        self.say, self.what, self.total = say, what, total
        self.done, self.bytes, self.said_at = 0, 0, time.monotonic()

    def step(self, size: int = 0) -> None:
        self.done, self.bytes = self.done + 1, self.bytes + size
        now = time.monotonic()
        if self.done == self.total or now - self.said_at >= EVERY_S:
            self.said_at = now
            amount = f", {as_size(self.bytes)}" if self.bytes else ""
            self.say(f"{self.what}: {self.done:,} of {self.total:,}{amount}")


def as_size(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"
