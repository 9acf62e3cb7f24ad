"""A worker that is rarely wanted rests: it is started when its queue has a job, and ends without.

The supervisor looks into the queue of the embedded broker, and a file's time tells others that it
does. Where the broker is elsewhere the worker always runs.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from listening.common.ages import age_s

LOOK_EVERY_S = 1.0
PATIENCE_S = 0.2  # a server that hangs holds the supervisor's loop up for this long
SUFFIX = ".rests"


class RestingQueue:
    """Whether a queue has jobs, by a question that the supervisor's loop can afford."""

    def __init__(self, var: Path, name: str, key: str, address: Path) -> None:
        self.marker = var / f"{name}{SUFFIX}"
        self.question = f"LLEN {key}\r\n".encode()
        self.address = address
        self.next_at = 0.0

    def has_jobs(self) -> bool:
        """False also between two looks, and while the server is away."""
        now = time.monotonic()
        if now < self.next_at:
            return False
        self.next_at = now + LOOK_EVERY_S
        with suppress(OSError):  # a full disk: the time of a file that is there still changes
            self.marker.touch(0o600)
        with suppress(OSError), socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE_S)
            client.connect(str(self.address))
            client.sendall(self.question)
            reply = client.recv(64)
            return reply.startswith(b":") and reply != b":0\r\n"  # an error is no number
        return False


def resting(var: Path) -> Iterator[tuple[str, float]]:
    """The queues whose workers rest, and how many seconds ago the supervisor last looked."""
    for path in sorted(var.glob(f"*{SUFFIX}")):
        with suppress(FileNotFoundError):
            yield path.stem, age_s(path.stat().st_mtime)
