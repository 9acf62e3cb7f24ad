"""Codes of justifications per condition: the share of coded reasons that hold each."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import PartInput
from analysis.report.parts.justifications.reason_data import Reasons
from analysis.statistics.clustered_interval import Scored, two_way_bounds
from analysis.statistics.comparisons.clustered_variance import spread_of_means
from analysis.statistics.intervals import TWO_WAY, clustered
from analysis.statistics.justifications import code_table

COLUMNS = (
    Column("code", "Code"),
    Column("condition", "Condition"),
    Column("share", "Share", "percent"),
    Column("share_percent", "Interval, %", "interval", 1),
    Column("n_with_code", "With it", "count"),
    Column("n_reasons", "Coded reasons", "count"),
    Column("n_raters_using", "Raters using it", "count"),
    Column("note", "Note"),
)
METHODS = (
    "Codes of justifications are shown as the share of a condition's coded reasons that hold the "
    "code, with two-way clustered intervals over raters and items."
)


def codes_by_condition(found: Reasons, title: str, inputs: PartInput) -> Content:
    """Each code's share in each condition; nothing without codes."""
    coded = (found.table["codes"] != "").to_numpy(dtype=bool)
    if not coded.any() or found.several:
        return Content()
    names, condition = np.unique(found.condition[coded].astype(str), return_inverse=True)
    rater, item = found.rater[coded], found.item[coded]
    table = code_table(found.table["codes"][coded].tolist(), rater)
    has = table.has.toarray()
    rows: list[dict[str, Any]] = []
    for number in np.argsort(-table.n_reasons, kind="stable").tolist():
        code = table.terms[number]
        y = np.asarray(has[:, number], dtype=np.float64)
        means = clustered(y, condition, rater, item, len(names))
        spread = spread_of_means(means)
        for place, name in enumerate(names.tolist()):
            mine = condition == place
            scored = Scored(y, condition, rater, item)
            bounds, note = two_way_bounds(means, place, scored, inputs.options.level, spread)
            low, high = bounds or (None, None)
            rows.append(
                {
                    "code": code,
                    "condition": name,
                    "share": float(means.value[place]),
                    "share_low": low,
                    "share_high": high,
                    "share_percent_low": None if low is None else max(0.0, low * 100),
                    "share_percent_high": None if high is None else min(100.0, high * 100),
                    "level": inputs.options.level,
                    "made_by": TWO_WAY,
                    "n_with_code": int(y[mine].sum()),
                    "n_reasons": int(mine.sum()),
                    "n_raters_using": len(np.unique(rater[mine & (y > 0)])),
                    "note": note,
                }
            )
    note = (
        "Share of the coded reasons of a condition; a reason may hold several codes. Whose codes "
        "they are, and how well coders agree, is not in the ratings."
    )
    return Content(
        sentences=_sentences(title, rows, names.tolist()),
        figures=[_figure(rows, title)],
        tables=[
            Table(
                "codes",
                "Codes of reasons per condition",
                COLUMNS,
                rows,
                note,
                about=title,
                folded=len(rows) > 40,
            )
        ],
        methods=[METHODS],
    )


def _sentences(title: str, rows: list[dict[str, Any]], conditions: list[str]) -> list[str]:
    most = []
    for name in conditions[:12]:
        mine = [row for row in rows if row["condition"] == name]
        top = max(mine, key=lambda row: (row["share"], row["code"]))
        most.append(f"{name} {top['code']} ({top['share']:.0%})")
    return [f"{title}: the most frequent code is, by condition: {'; '.join(most)}."]


def _figure(rows: list[dict[str, Any]], title: str) -> Figure:
    cells = [
        {
            "row": row["code"],
            "column": row["condition"],
            "value": row["share"],
            "text": f"{row['share'] * 100:.0f}",
        }
        for row in rows
    ]
    return Figure(
        "codes",
        "Codes of reasons per condition",
        "heatmap",
        cells,
        x="Condition",
        y="Code",
        ends=(0.0, max(row["share"] for row in rows) or 1.0),
        note="Percent of the condition's coded reasons.",
        about=title,
    )
