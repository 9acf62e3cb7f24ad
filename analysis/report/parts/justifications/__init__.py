"""Justifications: how many there are, their codes per condition, and words and codes by label."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.ratings.breakdowns import Family, families, labelled_families
from analysis.report.content import Content, titled, together
from analysis.report.part import Part, PartInput
from analysis.report.parts.justifications.code_shares import codes_by_condition
from analysis.report.parts.justifications.distinctive_terms import codes_by_label, words_by_label
from analysis.report.parts.justifications.example_reasons import ExampleReasons
from analysis.report.parts.justifications.reason_data import Reasons, reasons_of, written

__all__ = ["ExampleReasons", "Justifications"]


class Justifications(Part):
    """Reasons of raters: codes per condition, and the words and codes that go with each label."""

    key = "justifications"
    version = "1"
    title = "Justifications"
    order = 80

    def applies(self, inputs: PartInput) -> bool:
        kept = inputs.kept
        return bool((kept["justification"] != "").any() or (kept["codes"] != "").any())

    def make(self, inputs: PartInput) -> Content:
        every = list(_with_reasons(inputs))
        found: list[Content] = []
        for place, (family, first) in enumerate(every):
            title = family.title
            inputs.progress(place / len(every), title)
            found += _parts(reasons_of(family), title, inputs, first)
        shown = together(found)
        return titled(shown) if len(every) > 1 else shown


def _parts(found: Reasons, title: str, inputs: PartInput, first: bool) -> Iterator[Content]:
    """What depends on conditions alone once per task; what depends on labels for each criterion."""
    if first:
        yield written(found, title)
        yield codes_by_condition(found, title, inputs)
    yield codes_by_label(found, title, inputs)
    yield words_by_label(found, title, inputs)


def _with_reasons(inputs: PartInput) -> Iterator[tuple[Family, bool]]:
    """The families that have reasons, and whether it is the first of its task."""
    seen: set[tuple[str, str]] = set()
    for family in (*families(inputs.kept), *labelled_families(inputs.kept)):
        table = family.table
        if (table["justification"] != "").any() or (table["codes"] != "").any():
            task = (family.group.get("study", ""), family.group["task"])
            yield family, task not in seen
            seen.add(task)
