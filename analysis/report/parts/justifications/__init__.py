"""Justifications: how many there are, their codes per system, and words and codes by label."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.ratings.breakdowns import Family, families, labelled_families
from analysis.report.content import Content, titled, together
from analysis.report.part import Part, PartInput
from analysis.report.parts.justifications.code_shares import codes_by_system
from analysis.report.parts.justifications.code_together import codes_by_dimension, codes_together
from analysis.report.parts.justifications.distinctive_terms import codes_by_label, words_by_label
from analysis.report.parts.justifications.example_reasons import ExampleReasons
from analysis.report.parts.justifications.reason_data import Reasons, reasons_of, written

__all__ = ["ExampleReasons", "Justifications"]


class Justifications(Part):
    """Reasons of raters: codes per system, and the words and codes that go with each label."""

    key = "justifications"
    version = "3"
    title = "Justifications"
    order = 80

    def applies(self, inputs: PartInput) -> bool:
        kept = inputs.kept
        return bool((kept["justification"] != "").any() or (kept["codes"] != "").any())

    def make(self, inputs: PartInput) -> Content:
        every = list(_with_reasons(inputs))
        contents: list[Content] = []
        for place, (family, first) in enumerate(every):
            inputs.progress(place / len(every), family.title)
            contents += _contents(reasons_of(family), inputs, first)
        content = together(contents)
        return titled(content) if len(every) > 1 else content


def _contents(reasons: Reasons, inputs: PartInput, first: bool) -> Iterator[Content]:
    """What depends on conditions alone once per task; what depends on labels for each criterion."""
    options = inputs.options
    if first:
        yield written(reasons)
        yield codes_by_system(reasons, inputs)
        yield codes_by_dimension(reasons, inputs)
        yield codes_together(reasons)
    yield codes_by_label(reasons, options.level)
    yield words_by_label(reasons, options)


def _with_reasons(inputs: PartInput) -> Iterator[tuple[Family, bool]]:
    """The families that have reasons, and whether it is the first of its task."""
    seen: set[tuple[str, str]] = set()
    for family in (*families(inputs.kept), *labelled_families(inputs.kept)):
        table = family.table
        if (table["justification"] != "").any() or (table["codes"] != "").any():
            task = (family.group.get("study", ""), family.group["task"])
            yield family, task not in seen
            seen.add(task)
