"""Reasons word for word: quotes of each label, with the system that they are about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from analysis.ratings.breakdowns import Family, families, labelled_families
from analysis.report.content import Content, Table, column, table_row
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.report.parts.justifications.distinctive_terms import (
    FEWEST,
    MOST_REASONS,
    drawn_rows,
    most_telling,
    reasons_holding,
    tied,
)
from analysis.report.parts.justifications.reason_data import Reasons, reasons_of
from analysis.statistics.justifications import label_groups, term_table
from analysis.statistics.justifications.label_groups import Groups

SHOWN = 5  # reasons per label
NOTE = (
    "The shortest reason with each of the label's most telling words, every one by another rater. "
    "Reasons are people's own words: read them before you pass them on."
)


@table_row
class Example:
    """A reason word for word, with the telling word that it holds."""

    label: str = column("Label")
    condition: str = column("System")
    reason: str = column("Reason")
    term: str = column("Telling word")


class ExampleReasons(FamilyPart):
    """Reasons word for word, a few of each label: what its most telling words stand in."""

    key = "example_reasons"
    version = "1"
    title = "Reasons in raters' own words"
    order = 79  # before the statistics of words

    def applies(self, inputs: PartInput) -> bool:
        return bool((inputs.kept["justification"] != "").any())

    def families(self, inputs: PartInput) -> Iterable[Family]:
        return (*families(inputs.kept), *labelled_families(inputs.kept))

    def of_family(self, each: FamilyInput) -> Content:
        reasons = reasons_of(each.family)
        has = reasons.lengths > 0
        if reasons.several or has.sum() < FEWEST:
            return Content()
        if has.sum() > MOST_REASONS:
            has = drawn_rows(has, each.inputs.options.seed)
        groups = label_groups(reasons.table[has], each.family.estimand)
        if groups.why_not:
            return Content()
        rows = list(_examples(reasons, has, groups, each.level))
        table = Table.of(Example, "examples", self.title, rows, note=NOTE, about=each.title)
        return Content(tables=[table])


def _examples(
    reasons: Reasons, has: NDArray[np.bool_], groups: Groups, level: float
) -> Iterator[Example]:
    """Of each telling word the shortest reason, every one by another rater."""
    texts = reasons.table["justification"].to_numpy(dtype=object)
    table = term_table(texts[has].tolist(), reasons.rater[has])
    holding, places = reasons_holding(table), np.flatnonzero(has)
    raters: set[int] = set()
    count: Counter[str] = Counter()
    for row in most_telling(tied(reasons, has, table, groups, level), table):
        holds = holding(row.term)
        mine = places[holds[groups.code[holds] == groups.names.index(row.label)]]
        free = [int(at) for at in mine if int(reasons.rater[at]) not in raters]
        if count[row.label] < SHOWN and free:
            at = min(free, key=lambda at: (len(texts[at]), texts[at], at))
            raters.add(int(reasons.rater[at]))
            count[row.label] += 1
            yield Example(row.label, str(reasons.condition[at]), texts[at], row.term)
