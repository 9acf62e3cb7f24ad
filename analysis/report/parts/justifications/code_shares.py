"""Codes of justifications per system or condition: the share of coded reasons that hold each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.arrays import Codes
from analysis.name_spans import condition_span, family_prefix
from analysis.report.content import (
    Column,
    Content,
    Figure,
    Table,
    column,
    columns_of,
    table_row,
)
from analysis.report.part import PartInput
from analysis.report.parts.justifications.reason_data import Reasons
from analysis.statistics.clustered_variance import two_way_intervals
from analysis.statistics.intervals import TWO_WAY, clustered
from analysis.statistics.justifications import code_table

MOST_ACROSS = 8  # columns of a table of codes by system

METHODS = (
    "Codes of justifications are shown as the share of a {what}'s coded reasons that hold the "
    "code, with two-way clustered intervals over raters and items."
)


NOTE = (
    "Share of the coded reasons of a {what}; a reason may hold several codes. Whose codes they "
    "are, and how well coders agree, is not in the ratings."
)


@table_row
class CodeRow:
    """A code in one system or condition: its share of the coded reasons."""

    code: str = column("Code")
    condition: str = column("{What}")
    share: float = column("Share", "percent")
    share_low: float | None
    share_high: float | None
    share_percent_low: float | None = column("Interval, %", "interval", 1, key="share_percent")
    share_percent_high: float | None
    level: float
    made_by: str
    n_with_code: int = column("With it", "count")
    n_reasons: int = column("Coded reasons", "count")
    n_raters_using: int = column("Raters using it", "count")
    note: str = column("Note")


def codes_by_system(reasons: Reasons, inputs: PartInput) -> Content:
    """Each code's share in each system (condition where not all have one); nothing without codes.

    Systems and conditions stand in the study's order.
    """
    coded = (reasons.table["codes"] != "").to_numpy(dtype=bool)
    if not coded.any() or reasons.several:
        return Content()
    what, of = "condition", reasons.condition
    systems = reasons.table["system"].to_numpy(dtype=object)
    if not reasons.family.in_pairs and bool((systems != "").all()):
        what, of = "system", systems
    names = inputs.ordered(what, of[coded].tolist())
    places = {name: place for place, name in enumerate(names)}
    condition = np.array([places[name] for name in of[coded].tolist()], dtype=np.int64)
    rows = code_rows(reasons, coded, names, condition, inputs.options.level)
    title, note = f"Codes of reasons per {what}", NOTE.format(what=what)
    columns = columns_of(CodeRow, What=what.capitalize())
    every = Table.of(CodeRow, "codes", f"{title}, with intervals", rows, columns=columns,
                     note=note, about=reasons.title, folded=True)  # fmt: skip
    return Content(
        sentences=[_sentence(reasons.title, rows, names, what)],
        figures=[_figure(title, rows, reasons.title, what)],
        tables=[*_across(rows, names, title, note, reasons.title), every],
        methods=[METHODS.format(what=what)],
    )


def _across(
    rows: Sequence[CodeRow], names: Sequence[str], title: str, note: str, about: str
) -> list[Table]:
    """A code a row, a system a column: as a paper prints it; none where a page is too narrow."""
    if len(names) > MOST_ACROSS:
        return []
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        found.setdefault(row.code, {"code": row.code})[f"in {row.condition}"] = row.share
    reasons = {row.condition: row.n_reasons for row in rows}
    columns = [Column("code", "Code")]
    columns += [Column(f"in {name}", name, "percent") for name in names]
    counts = ", ".join(f"{condition_span(name)} {reasons[name]:,}" for name in names)
    note = f"{note} Coded reasons: {counts}."
    return [Table("codes-across", title, columns, list(found.values()), note, about)]


def code_rows(
    reasons: Reasons, coded: np.ndarray, names: Sequence[str], condition: Codes, level: float
) -> list[CodeRow]:
    """A row per code and system, the most frequent code first."""
    rater, item = reasons.rater[coded], reasons.item[coded]
    table = code_table(reasons.table["codes"][coded].tolist(), rater)
    has = table.has.toarray()
    rows: list[CodeRow] = []
    for number in np.argsort(-table.n_reasons, kind="stable").tolist():
        y = np.asarray(has[:, number], dtype=np.float64)
        means = clustered(y, condition, rater, item, len(names), ends=(0.0, 1.0))
        two_way = two_way_intervals(means, level)
        for place, name in enumerate(names):
            mine = condition == place
            bounds, note = two_way[place]
            low, high = bounds or (None, None)
            rows.append(
                CodeRow(
                    code=table.terms[number],
                    condition=name,
                    share=float(means.value[place]),
                    share_low=low,
                    share_high=high,
                    share_percent_low=None if low is None else low * 100,
                    share_percent_high=None if high is None else high * 100,
                    level=level,
                    made_by=TWO_WAY,
                    n_with_code=int(y[mine].sum()),
                    n_reasons=int(mine.sum()),
                    n_raters_using=len(np.unique(rater[mine & (y > 0)])),
                    note=note,
                )
            )
    return rows


def _sentence(title: str, rows: Sequence[CodeRow], conditions: Sequence[str], what: str) -> str:
    most = []
    for name in conditions[:12]:
        mine = [row for row in rows if row.condition == name]
        top = max(mine, key=lambda row: (row.share, row.code))
        most.append(f"{condition_span(name)} {top.code} ({top.share:.0%})")
    return f"{family_prefix(title)}the most frequent code is, by {what}: {'; '.join(most)}."


def _figure(title: str, rows: Sequence[CodeRow], about: str, what: str) -> Figure:
    cells = [
        {
            "row": row.code,
            "column": row.condition,
            "value": row.share,
            "text": f"{row.share * 100:.0f}",
        }
        for row in rows
    ]
    return Figure(
        "codes",
        title,
        "heatmap",
        cells,
        x=what.capitalize(),
        y="Code",
        ends=(0.0, max(row.share for row in rows) or 1.0),
        note=f"Percent of the {what}'s coded reasons.",
        about=about,
    )
