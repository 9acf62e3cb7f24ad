"""Reasons word for word: a few of each label, only in reports that ask for them."""

from __future__ import annotations

import numpy as np

from analysis.ratings.breakdowns import families, labelled_families
from analysis.report.content import Column, Content, Table, titled, together
from analysis.report.part import Part, PartInput
from analysis.report.parts.justifications.distinctive_terms import (
    FEWEST,
    MOST_REASONS,
    drawn_rows,
    most_telling,
)
from analysis.report.parts.justifications.reason_data import Reasons, reasons_of
from analysis.statistics.justifications import label_groups, term_log_odds, term_table

SHOWN = 5  # reasons per label
COLUMNS = (
    Column("label", "Label"),
    Column("term", "Telling word"),
    Column("reason", "Reason"),
    Column("condition", "Condition"),
)
NOTE = (
    "The shortest reason with each of the label's most telling words, every one by another rater. "
    "Reasons are people's own words: read them before you pass them on."
)


class ExampleReasons(Part):
    """Reasons word for word, a few of each label; only where a report asks for them."""

    key = "example_reasons"
    version = "1"
    title = "Reasons in raters' own words"
    order = 81
    always = False

    def applies(self, inputs: PartInput) -> bool:
        return bool((inputs.kept["justification"] != "").any())

    def make(self, inputs: PartInput) -> Content:
        found = []
        for family in (*families(inputs.kept), *labelled_families(inputs.kept)):
            title = family.title
            found.append(_of_family(reasons_of(family), title, inputs.options.seed))
        shown = together(found)
        return titled(shown) if len(found) > 1 else shown


def _of_family(found: Reasons, title: str, seed: int) -> Content:
    text = found.table["justification"].to_numpy(dtype=object)
    has = np.array([bool(each.strip()) for each in text.tolist()], dtype=bool)
    if found.several or has.sum() < FEWEST:
        return Content()
    if has.sum() > MOST_REASONS:
        has = drawn_rows(has, seed)
    groups = label_groups(found.table[has], found.family.estimand)
    if groups.why_not:
        return Content()
    table = term_table(text[has].tolist(), found.rater[has])
    told = term_log_odds(table, groups.code, groups.names, found.rater[has], found.item[has])
    columns, place = table.has.tocsc(), {term: number for number, term in enumerate(table.terms)}
    places = np.flatnonzero(has)
    rows: list[dict[str, object]] = []
    raters: set[int] = set()
    for row in most_telling(told, table):
        if sum(each["label"] == row.label for each in rows) == SHOWN:
            continue
        number = place[row.term]
        holds = columns.indices[columns.indptr[number] : columns.indptr[number + 1]]
        mine = places[holds[groups.code[holds] == groups.names.index(row.label)]]
        free = [int(at) for at in mine if int(found.rater[at]) not in raters]
        if not free:
            continue
        at = min(free, key=lambda at: (len(text[at]), text[at], at))
        raters.add(int(found.rater[at]))
        rows.append(
            {
                "label": row.label,
                "term": row.term,
                "reason": text[at],
                "condition": found.condition[at],
            }
        )
    heading = "Reasons in raters' own words"
    return Content(tables=[Table("examples", heading, COLUMNS, rows, NOTE, title, folded=True)])
