"""What the scoring commands print: how far they are, odd audio, and why values are missing."""

from __future__ import annotations

import importlib
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from listening.common.counted import counted
from metrics.core.input_warnings import TITLES

EVERY_S = 10.0


class Progress:
    """Counts scores up to ``total``; closed when it goes out of its `with` block.

    ``stored``: whether what is done is stored, so that the command goes on after an interruption.
    """

    def __init__(
        self, total: int, stream: Any, what: str = "scores", *, stored: bool = True
    ) -> None:
        self.total, self.done, self.what, self.stored = total, 0, what, stored
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
            of = f" of {self.total}" if self.total else ""
            about = f" ({doing})" if doing else ""
            self._stream.write(f"{self.done}{of} {self.what}{about}\n")

    def say(self, line: str) -> None:
        """A line above the bar."""
        if self._bar is not None:
            self._bar.write(line, file=self._stream)
        else:
            self._stream.write(line + "\n")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()
        if kind is KeyboardInterrupt:
            of = f" of {self.total}" if self.total else ""
            state = "stored; the same command goes on from there" if self.stored else "not stored"
            self._stream.write(f"\n{self.done}{of} {self.what} are done and {state}.\n")


class InputNotes:
    """Counts the clips with each kind of warning, and keeps the first one's words."""

    def __init__(self) -> None:
        self._clips: dict[str, set[str]] = {}
        self._first: dict[str, str] = {}

    def add(self, clip: str, warnings: Mapping[str, str]) -> None:
        """The warnings of one score of a clip."""
        for code, words in warnings.items():
            self._clips.setdefault(code, set()).add(clip)
            self._first.setdefault(code, f"{clip}: {words}")

    def lines(self) -> Iterator[str]:
        """A line for each kind of warning."""
        for code, clips in self._clips.items():
            count = counted(len(clips), "clip")
            yield f"Warning, {TITLES.get(code, code)} ({code}), {count}: {self._first[code]}"


NUMBERS = re.compile(r"\d+(\.\d+)?")


class Reasons:
    """Says the first clip with a kind of reason at once, and counts the others.

    Reasons that differ in numbers only are of one kind.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._first: dict[tuple[str, str], str] = {}
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, metric: str, clip: str, reason: str) -> None:
        """One more clip without a value of `metric` (its label)."""
        line = one_line(reason)
        kind = (metric, NUMBERS.sub("#", line.replace(clip, "")))
        self._counts[kind] += 1
        if kind not in self._first:
            self._first[kind] = line
            self._say(f"{metric}: {clip}: {line}")

    def lines(self) -> Iterator[str]:
        """A line for each kind with more clips than the one that was named."""
        for kind, count in self._counts.items():
            if count > 1:
                reason = self._first[kind]
                short = reason if len(reason) <= 60 else f"{reason[:59]}…"
                yield f"{kind[0]}: {count} clips in all without a value like this: {short}"


def one_line(text: str) -> str:
    return " ".join(text.split())
