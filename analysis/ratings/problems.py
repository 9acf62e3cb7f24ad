"""What is wrong with ratings, or was guessed of them, in lines that a person can act on."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

from listening.common.spreadsheets import rows_text as rows_text
from listening.common.spreadsheets import some as some

MOST_PROBLEMS_SHOWN = 20
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


def likeness(one: str, other: str) -> float:
    """How like two names are, from 0 to 1 (difflib's ratio)."""
    return SequenceMatcher(None, one, other).ratio()


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is nearest, if it may have been meant; else an empty text."""
    plain = name.strip().casefold()
    best = max(known, key=lambda each: likeness(plain, each.casefold()), default="")
    return best if likeness(plain, best.casefold()) >= MEANT else ""
