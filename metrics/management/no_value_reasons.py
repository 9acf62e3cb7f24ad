"""Why clips have no value, told once for each kind of reason instead of once for each clip."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

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
    """The text without breaks."""
    return " ".join(text.split())
