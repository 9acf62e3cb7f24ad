"""Errors that raters marked, on words or on the waveform: rates, maps, agreement, and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from analysis.ratings.breakdowns import Family
from analysis.report.content import Content
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.report.parts.marking.spans import content_of_spans
from analysis.report.parts.marking.words import content_of_words

CONTENTS: dict[str, Callable[[FamilyInput], Content]] = {
    "errors_per_100_words": content_of_words,
    "errors_per_minute": content_of_spans,
}


class Marking(FamilyPart):
    """Errors by system and kind, maps of clips, agreement, and a recogniser's words."""

    key = "marking"
    version = "2"
    title = "Marked errors"
    order = 42

    def applies(self, inputs: PartInput) -> bool:
        return bool(inputs.ratings["estimand"].isin(CONTENTS).any())

    def families(self, inputs: PartInput) -> Iterator[Family]:
        return (each for each in super().families(inputs) if each.estimand in CONTENTS)

    def of_family(self, each: FamilyInput) -> Content:
        return CONTENTS[each.family.estimand](each)
