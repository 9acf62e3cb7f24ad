"""Paragraphs and their lines in order, from the columns paragraph, position and speaker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from listening.design.studyfile.entries import ItemEntry, StimulusEntry, StudyFile


@dataclass(frozen=True)
class Mistake:
    """What is wrong with a setting (`place`), or with the row of a stimulus."""

    place: str
    what: str
    remedy: str
    stimulus: str = ""


@dataclass(frozen=True)
class Paragraph:
    """Lines by position; `whole` when none is missing at the start or in between."""

    key: str
    lines: tuple[ItemEntry, ...]
    whole: bool = True

    def windows(self, length: int) -> Iterator[tuple[ItemEntry, ...]]:
        """Every run of so many neighbours in the list, whether or not a line is missing there."""
        for start in range(len(self.lines) - length + 1):
            yield self.lines[start : start + length]

    def beginning(self, length: int) -> Paragraph:
        """The paragraph as if it ended after so many lines, counted by their places."""
        end = min(_place(self.lines[0]), 1) + length
        lines = tuple(line for line in self.lines if _place(line) < end)
        return Paragraph(self.key, lines, bool(lines) and self.whole)


def neighbours(lines: Sequence[ItemEntry]) -> bool:
    """Do the lines follow each other without a gap?"""
    places = [_place(line) for line in lines]
    return all(b == a + 1 for a, b in pairwise(places))


@dataclass
class Manifest:
    """The lines of a study: items of paragraphs that have a recording which is no trap."""

    study: StudyFile
    recordings: dict[tuple[str, str], StimulusEntry] = field(default_factory=dict)
    first: dict[str, StimulusEntry] = field(default_factory=dict)  # of each item: its first row

    def __post_init__(self) -> None:
        for stimulus in self.study.stimuli:
            if not stimulus.trap:
                self.recordings.setdefault((stimulus.condition, stimulus.item), stimulus)
                self.first.setdefault(stimulus.item, stimulus)

    def paragraphs(
        self, dimensions: Sequence[str], gaps_allowed: bool
    ) -> tuple[list[Paragraph], list[Mistake]]:
        """In order of appearance; with `dimensions`, only those made of such lines alone."""
        groups: dict[str, list[ItemEntry]] = {}
        for item in self.study.items:
            if item.paragraph and item.key in self.first:
                groups.setdefault(item.paragraph, []).append(item)
        paragraphs, mistakes = [], []
        for key, items in groups.items():
            if dimensions and any(item.dimension not in dimensions for item in items):
                continue
            wrong = list(self._wrong_places(key, items, gaps_allowed))
            mistakes += wrong
            if not wrong:
                lines = tuple(sorted(items, key=_place))
                whole = neighbours(lines) and _place(lines[0]) <= 1
                paragraphs.append(Paragraph(key, lines, whole))
        return paragraphs, mistakes

    def _wrong_places(
        self, key: str, items: Sequence[ItemEntry], gaps_allowed: bool
    ) -> Iterator[Mistake]:
        placed: dict[int, ItemEntry] = {}
        for item in items:
            if item.position is None:
                what = f"The item “{item.key}” of paragraph “{key}” has no position."
                yield self._at(item, what, "Write its place in the paragraph: 1, 2, 3 …")
            elif (other := placed.setdefault(item.position, item)) is not item:
                what = (
                    f"The items “{other.key}” and “{item.key}” both have position "
                    f"{item.position} of paragraph “{key}”."
                )
                yield self._at(item, what, "Correct one of them.")
        if gaps_allowed or len(placed) < len(items):
            return
        first = min(placed, default=1)
        before = first if first <= 1 else 0  # some count from 0
        for position in sorted(placed):
            if position > before + 1:
                missing = f"position {before + 1}"
                if position > before + 2:
                    missing = f"positions {before + 1} to {position - 1}"
                item = placed[position]
                what = f"The paragraph “{key}” has no line at {missing}, before “{item.key}”."
                remedy = "Add the line, correct the position, or set allow_missing = true."
                yield self._at(item, what, remedy)
            before = position

    def _at(self, item: ItemEntry, what: str, remedy: str) -> Mistake:
        return Mistake("position", what, remedy, self.first[item.key].key)


def _place(item: ItemEntry) -> int:
    return item.position or 0
