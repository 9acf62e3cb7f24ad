"""Justifications: how many there are, their codes per condition, and words and codes by label."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.ratings.breakdowns import Family, families, labelled_families
from analysis.ratings.scales import family_title
from analysis.report.content import Shown, titled, together
from analysis.report.part import Given, Part
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

    def applies(self, given: Given) -> bool:
        kept = given.kept
        return bool((kept["justification"] != "").any() or (kept["codes"] != "").any())

    def make(self, given: Given) -> Shown:
        every = list(_with_reasons(given))
        found: list[Shown] = []
        for place, (family, first) in enumerate(every):
            title = family_title({"estimand": family.estimand, **family.group})
            given.progress(place / len(every), title)
            found += _parts(reasons_of(family), title, given, first)
        shown = together(found)
        return titled(shown) if len(every) > 1 else shown


def _parts(found: Reasons, title: str, given: Given, first: bool) -> Iterator[Shown]:
    """What depends on conditions alone once per task; what depends on labels for each criterion."""
    if first:
        yield written(found, title)
        yield codes_by_condition(found, title, given)
    yield codes_by_label(found, title, given)
    yield words_by_label(found, title, given)


def _with_reasons(given: Given) -> Iterator[tuple[Family, bool]]:
    """The families that have reasons, and whether it is the first of its task."""
    seen: set[tuple[str, str]] = set()
    for family in (*families(given.kept), *labelled_families(given.kept)):
        table = family.table
        if (table["justification"] != "").any() or (table["codes"] != "").any():
            task = (family.group.get("study", ""), family.group["task"])
            yield family, task not in seen
            seen.add(task)
