"""How far a run is: a bar in a terminal, else a line now and then."""

from __future__ import annotations

import importlib
import time
from typing import Any

EVERY_S = 10.0


class Progress:
    """Counts scores up to ``total``; closed when it goes out of its `with` block."""

    def __init__(self, total: int, stream: Any, what: str = "scores") -> None:
        self.total, self.done, self.what = total, 0, what
        self._stream = getattr(stream, "_out", stream)  # below Django's wrapper, which adds lines
        self._told_at = time.monotonic()
        self._bar: Any = None
        if total and getattr(stream, "isatty", lambda: False)():
            tqdm = importlib.import_module("tqdm")
            self._bar = tqdm.tqdm(total=total, unit=what.rstrip("s"), file=stream, smoothing=0.1)

    def add(self, count: int, doing: str = "") -> None:
        """``count`` more are done; ``doing`` says what they were."""
        self.done += count
        if self._bar is not None:
            self._bar.set_description(doing, refresh=False)
            self._bar.update(count)
        elif time.monotonic() - self._told_at > EVERY_S:
            self._told_at = time.monotonic()
            self._stream.write(f"{self.done} of {self.total} {self.what} ({doing})\n")

    def say(self, line: str) -> None:
        """A line above the bar."""
        if self._bar is not None:
            self._bar.write(line, file=self._stream)
        else:
            self._stream.write(line + "\n")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()
