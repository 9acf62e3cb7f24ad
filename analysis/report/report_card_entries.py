"""The entries of a report card: what is known, in words and for programs, and what is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.report.small_cells import LEAST, cells_shown

NO_STUDY = "not known: these ratings came from a file, without their study"
NO_REPORT = "not known: no analysis of this study is finished yet"
SMALL = (
    f"Counts of raters below {LEAST} are not shown. Where subtraction would reveal one, the next "
    "smallest is hidden too. Counts of sessions and exclusions are exact. No rater's code, "
    "answer in words or single session is in this card."
)


@dataclass(frozen=True)
class Entry:
    """One fact: a label, its words as lines, and its value for programs (None: not known)."""

    label: str
    lines: tuple[str, ...]
    value: Any = None

    @property
    def known(self) -> bool:
        """Whether there is anything to say."""
        return self.value is not None


@dataclass(frozen=True)
class Section:
    """Facts under one heading."""

    key: str
    title: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Card:
    """A study's report card: its title, sections in their order, and what holds of all."""

    title: str
    sections: tuple[Section, ...]
    notes: tuple[str, ...] = field(default=(SMALL,))

    @property
    def unknown(self) -> list[str]:
        """The labels of what is not known."""
        return [e.label for section in self.sections for e in section.entries if not e.known]


def fact(label: str, lines: str | Iterable[str], value: Any = None) -> Entry:
    """A known fact; its value is its words where none is given."""
    words = (lines,) if isinstance(lines, str) else tuple(lines)
    return Entry(label, words, list(words) if value is None else value)


def unknown(label: str, why: str = NO_STUDY) -> Entry:
    """A fact that is missing, and why."""
    return Entry(label, (why,))


def cells(label: str, counts: Mapping[str, int]) -> Entry:
    """Counts of raters, small ones hidden."""
    shown = cells_shown(counts)
    if not shown.counts and not shown.hidden:
        return unknown(label, "not known: nobody answered")
    return fact(label, shown.text, {"counts": shown.counts, "hidden_together": shown.hidden})
