"""What is wrong with ratings, or was guessed of them, in lines that a person can act on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from analysis.formatting import enumerated

MOST_PROBLEMS_SHOWN = 20
_NAMED = 3
NEAR = 0.8  # from this ratio on (difflib, 0 to 1) a name looks like another
MEANT = 0.6  # and from this one it may have been meant, where it is none that there is


class RatingsError(ValueError):
    """What is wrong with a set of ratings: every problem with its rows, column and remedy."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        lines = problems[:MOST_PROBLEMS_SHOWN]
        if len(problems) > len(lines):
            lines = [*lines, f"... and {len(problems) - len(lines)} more"]
        super().__init__("\n".join(lines))


class RatingsWarning(UserWarning):
    """What was guessed while ratings were read, or not used."""


def rows_text(rows: Sequence[int]) -> str:
    """Numbers of rows (at least one) in words: row 2; rows 2, 17, 18 and 690 more."""
    return f"row {rows[0]}" if len(rows) == 1 else f"rows {some([f'{row}' for row in rows])}"


def some(names: Iterable[str]) -> str:
    """The first three names, and how many more there are."""
    names = list(names)
    more = len(names) - _NAMED
    return f"{', '.join(names[:_NAMED])} and {more} more" if more > 0 else enumerated(names)


def likeness(one: str, other: str) -> float:
    """How like two names are, from 0 to 1 (difflib's ratio)."""
    return SequenceMatcher(None, one, other).ratio()


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is nearest, if it may have been meant; else an empty text."""
    plain = name.strip().casefold()
    best = max(known, key=lambda each: likeness(plain, each.casefold()), default="")
    return best if likeness(plain, best.casefold()) >= MEANT else ""
