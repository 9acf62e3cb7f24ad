"""What children print, read from pipes and written to files that rotate while the children run.

The reader is the loop of whoever watches the children: no thread, so a fork stays safe. A child
never sees a full disk: lines that cannot be written are left out, and their number is said.
"""

from __future__ import annotations

import fcntl
import os
import selectors
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

LARGEST_BYTES = 20 * 1024**2
KEPT = 3  # older files of each log
PIPE_BYTES = 1024**2  # what children may print while their reader does something else
_F_SETPIPE_SZ = 1031


class RotatingLog:
    """A file that is appended to; a full one is renamed, so that no line is lost or copied."""

    def __init__(self, path: Path, largest_bytes: int = LARGEST_BYTES, kept: int = KEPT) -> None:
        self.path, self.largest_bytes, self.kept = path, largest_bytes, kept
        self.left_out = 0
        self.begins_line = True

    def write(self, data: bytes) -> None:
        """Whole lines stay in one file: it rotates only where a line begins."""
        try:
            full = self.path.exists() and self.path.stat().st_size >= self.largest_bytes
            if full and not self.begins_line:
                line, end, data = data.partition(b"\n")
                self._append(line + end)
            if full and self.begins_line:
                self._rotate()
            if data:
                self._append(data)
        except OSError:
            self.left_out += len(data)

    def _append(self, data: bytes) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if self.left_out:
                gap = b"" if self.begins_line else b"\n"
                os.write(handle, gap + b"(%d bytes could not be written here)\n" % self.left_out)
                self.left_out = 0
            written = os.write(handle, data)
        finally:
            os.close(handle)
        self.left_out = len(data) - written
        self.begins_line = data[:written].endswith(b"\n")

    def _rotate(self) -> None:
        names = [self.path.with_name(f"{self.path.name}.{n}") for n in range(1, self.kept + 1)]
        for older, newer in zip(reversed(names), reversed([self.path, *names[:-1]]), strict=True):
            with suppress(FileNotFoundError):
                newer.replace(older)


class LogPipes:
    """The pipes of all children that one loop watches."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.logs: dict[Path, RotatingLog] = {}

    def attach(self, child: subprocess.Popen[bytes], path: Path) -> None:
        assert child.stdout is not None
        os.set_blocking(child.stdout.fileno(), False)
        if sys.platform == "linux":
            with suppress(OSError):  # more than the system allows
                fcntl.fcntl(child.stdout, _F_SETPIPE_SZ, PIPE_BYTES)
        log = self.logs.setdefault(path, RotatingLog(path))
        self.selector.register(child.stdout, selectors.EVENT_READ, log)

    def pump(self, wait_s: float) -> None:
        """Writes what has arrived; returns after `wait_s`, or a little later."""
        until = time.monotonic() + wait_s
        while True:
            left_s = max(0.0, until - time.monotonic())
            if not self.selector.get_map():
                time.sleep(left_s)
                return
            for key, _ in self.selector.select(left_s):
                self._read(key.fileobj, key.data)  # type: ignore[arg-type]  # what was registered
            if time.monotonic() >= until:
                return

    def _read(self, pipe: IO[bytes], log: RotatingLog) -> None:
        try:
            data = os.read(pipe.fileno(), PIPE_BYTES)
        except BlockingIOError:
            return
        if data:
            log.write(data)
        else:  # the child and all that it started have ended
            self.selector.unregister(pipe)
            pipe.close()

    def drain(self) -> None:
        """What children that have ended left in their pipes."""
        while self.selector.get_map():
            ready = self.selector.select(0)
            if not ready:
                return  # somebody else holds the pipe open and says nothing
            for key, _ in ready:
                self._read(key.fileobj, key.data)  # type: ignore[arg-type]  # what was registered
