"""Marks of errors: which words of a text, which kind of error, and how an answer writes them.

An answer is a list such as “3:stress 5-6:glitch”: word 3, then words 5 to 6, counted from 1.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

NO_ERRORS = "[no errors]"  # the label of the box; a rater who skips the question sends nothing
MOST_MARKS = 60
MARK = re.compile(r"([1-9][0-9]{0,3})(?:-([1-9][0-9]{0,3}))?:([a-z0-9_-]+)")
MOST_FURTHER = 2  # marks that an answer to a trap may hold besides the expected ones


class Mark(NamedTuple):
    """Words ``first`` to ``last`` of a text, both counted from 1, and the kind of error."""

    first: int
    last: int
    kind: str

    @property
    def words(self) -> range:
        """The places of the words, counted from 1."""
        return range(self.first, self.last + 1)

    def label(self) -> str:
        """The mark as an answer writes it."""
        words = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        return f"{words}:{self.kind}"

    def overlaps(self, other: Mark) -> bool:
        """Whether both hold the same word."""
        return self.first <= other.last and other.first <= self.last


def read_marks(label: str, kinds: Collection[str] | None = None) -> tuple[Mark, ...]:
    """Return the marks of an answer in the order of the text; none of NO_ERRORS.

    ``kinds`` are the known kinds of errors; None: any.
    Raises ValueError for an answer that is not written as a page writes it: unknown kinds, a word
    in two marks, another order, too many marks, or nothing at all.
    """
    if label == NO_ERRORS:
        return ()
    marks = []
    for text in label.split(" "):
        results = MARK.fullmatch(text)
        if results is None:
            raise ValueError(f"“{text[:80]}” is no mark; write it as 3:glitch or 5-6:glitch")
        first, last, kind = results.groups()
        marks.append(Mark(int(first), int(last or first), kind))
        if kinds is not None and kind not in kinds:
            raise ValueError(f"“{kind[:40]}” is no kind of error of this task")
    if len(marks) > MOST_MARKS:
        raise ValueError(f"an answer has at most {MOST_MARKS} marks")
    end = 0
    for mark in marks:
        if not end < mark.first <= mark.last:
            raise ValueError("marks follow the text, and each word is in one mark at most")
        end = mark.last
    if write_marks(marks) != label:
        raise ValueError(f"write “{write_marks(marks)}”")
    return tuple(marks)


def write_marks(marks: Sequence[Mark]) -> str:
    """Return an answer with these marks."""
    return " ".join(mark.label() for mark in marks) or NO_ERRORS


def finds_marks(marks: Sequence[Mark], expected: Sequence[Mark]) -> bool:
    """Whether an answer finds the errors of a trap: a word of each, and few marks elsewhere.

    The kind does not matter. Where no error is expected, the answer may have none.
    """
    if not expected:
        return not marks
    results = all(any(mark.overlaps(other) for mark in marks) for other in expected)
    further = sum(not any(mark.overlaps(other) for other in expected) for mark in marks)
    return results and further <= MOST_FURTHER
