"""Codes of justifications per condition: the share of coded reasons that hold each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.report.content import Content, Figure, Table, column, table_row
from analysis.report.parts.justifications.reason_data import Reasons
from analysis.statistics.clustered_interval import Scored, two_way_bounds
from analysis.statistics.comparisons.clustered_variance import spread_of_means
from analysis.statistics.intervals import TWO_WAY, clustered
from analysis.statistics.justifications import code_table

METHODS = (
    "Codes of justifications are shown as the share of a condition's coded reasons that hold the "
    "code, with two-way clustered intervals over raters and items."
)


NOTE = (
    "Share of the coded reasons of a condition; a reason may hold several codes. Whose codes they "
    "are, and how well coders agree, is not in the ratings."
)


@table_row
class CodeRow:
    """A code in one condition: its share of the coded reasons."""

    code: str = column("Code")
    condition: str = column("Condition")
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


def codes_by_condition(reasons: Reasons, level: float) -> Content:
    """Each code's share in each condition; nothing without codes."""
    coded = (reasons.table["codes"] != "").to_numpy(dtype=bool)
    if not coded.any() or reasons.several:
        return Content()
    names, condition = np.unique(reasons.condition[coded].astype(str), return_inverse=True)
    rater, item = reasons.rater[coded], reasons.item[coded]
    table = code_table(reasons.table["codes"][coded].tolist(), rater)
    has = table.has.toarray()
    rows: list[CodeRow] = []
    for number in np.argsort(-table.n_reasons, kind="stable").tolist():
        y = np.asarray(has[:, number], dtype=np.float64)
        means = clustered(y, condition, rater, item, len(names))
        spread = spread_of_means(means)
        for place, name in enumerate(names.tolist()):
            mine = condition == place
            scored = Scored(y, condition, rater, item)
            bounds, note = two_way_bounds(means, place, scored, level, spread)
            low, high = bounds or (None, None)
            rows.append(
                CodeRow(
                    code=table.terms[number],
                    condition=name,
                    share=float(means.value[place]),
                    share_low=low,
                    share_high=high,
                    share_percent_low=None if low is None else max(0.0, low * 100),
                    share_percent_high=None if high is None else min(100.0, high * 100),
                    level=level,
                    made_by=TWO_WAY,
                    n_with_code=int(y[mine].sum()),
                    n_reasons=int(mine.sum()),
                    n_raters_using=len(np.unique(rater[mine & (y > 0)])),
                    note=note,
                )
            )
    title, many = "Codes of reasons per condition", len(rows) > 40
    return Content(
        sentences=[_sentence(reasons.title, rows, names.tolist())],
        figures=[_figure(title, rows, reasons.title)],
        tables=[
            Table.of(CodeRow, "codes", title, rows, note=NOTE, about=reasons.title, folded=many)
        ],
        methods=[METHODS],
    )


def _sentence(title: str, rows: Sequence[CodeRow], conditions: Sequence[str]) -> str:
    most = []
    for name in conditions[:12]:
        mine = [row for row in rows if row.condition == name]
        top = max(mine, key=lambda row: (row.share, row.code))
        most.append(f"{name} {top.code} ({top.share:.0%})")
    return f"{title}: the most frequent code is, by condition: {'; '.join(most)}."


def _figure(title: str, rows: Sequence[CodeRow], about: str) -> Figure:
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
        x="Condition",
        y="Code",
        ends=(0.0, max(row.share for row in rows) or 1.0),
        note="Percent of the condition's coded reasons.",
        about=about,
    )
