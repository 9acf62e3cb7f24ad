"""The tables that the ITU's Recommendations ask for: MUSHRA (BS.1534-3) and crowds (P.808)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from analysis.ratings.breakdowns import Family, families
from analysis.ratings.estimands import Estimand, estimand_of
from analysis.ratings.reference import anchors_of, reference_of, roles_of
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import Part, PartInput
from analysis.statistics.intervals import naive_interval

MUSHRA, CROWD = "mushra", "p808"
ROLES = {"reference": "reference", "anchor": "anchor", "test": "system"}
METHODS = {
    MUSHRA: "Per condition the mean with its t interval over assessors (each one's mean), median "
    "and quartiles are given, as ITU-R BS.1534-3 asks for.",
    CROWD: "Per condition the number of votes, their mean, standard deviation and t interval over "
    "votes are given, as ITU-T P.808 and P.1401 ask for, and an interval over raters' means.",
}
NOTES = {
    MUSHRA: "Interval: t over the assessors' own means; other items are not allowed for. Reference "
    "and anchors are no candidates. Post-screening (hidden_reference, mid_anchor) are rules: ask "
    "for them with --rule.",
    CROWD: "Votes: t over all votes, as if independent, which is what P.808 prints and too narrow "
    "where raters differ. Raters: t over raters' own means. The answer above allows for raters and "
    "clips.",
}


class Recommendation(Part):
    """Mean, interval, median and quartiles per condition as BS.1534-3 and P.808 print them."""

    key = "recommendation"
    version = "1"
    title = "As the ITU's Recommendations print it"
    order = 41
    always = False
    presets = frozenset({"mushra", "p808"})

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.kept) > 0

    def make(self, inputs: PartInput) -> Content:
        found = list(families(inputs.kept))
        if not found:
            raise ValueError("no ratings with scores: collect some, or name the column of scores")
        tables, figures, used = [], [], set()
        for place, family in enumerate(found, start=1):
            estimand = estimand_of(family.estimand)
            style = MUSHRA if estimand.continuous else CROWD
            used.add(style)
            title = family.title
            rows = sorted(_rows(family, inputs), key=lambda row: _falling(row, estimand))
            tables.append(_table(place, title, rows, style, estimand, inputs.options.level))
            if style == MUSHRA:
                figures.append(_boxes(place, title, rows, estimand))
        return Content(
            figures=figures, tables=tables, methods=[METHODS[each] for each in sorted(used)]
        )


def _rows(family: Family, inputs: PartInput) -> Iterator[dict[str, Any]]:
    """One row per condition, or per pair of conditions that was compared."""
    by = ["condition", *["versus_condition"] * family.in_pairs]
    names, roles = sorted(set(family.table["condition"])), roles_of(family.table)
    reference = reference_of(names, inputs.options.reference, roles).name
    role = dict.fromkeys(anchors_of(names, roles), "anchor") | {reference: "reference"}
    level = inputs.options.level
    for key, mine in family.table.groupby(by, sort=True):
        y = mine["score"].to_numpy(dtype=np.float64)
        raters = mine.groupby("rater")["score"].mean().to_numpy(dtype=np.float64)
        votes, own = naive_interval(y, level), naive_interval(raters, level)
        quartiles = [float(q) for q in np.quantile(y, [0.25, 0.5, 0.75])]
        yield {
            "condition": " against ".join(map(str, key)),
            "role": ROLES[role.get(str(key[0]), "test")],
            "mean": float(y.mean()),
            "rater_mean": float(raters.mean()),
            "sd": float(np.std(y, ddof=1)) if len(y) > 1 else None,
            "votes_low": votes[0] if votes else None,
            "votes_high": votes[1] if votes else None,
            "raters_low": own[0] if own else None,
            "raters_high": own[1] if own else None,
            **dict(zip(("q1", "median", "q3"), quartiles, strict=True)),
            "lowest": float(y.min()),
            "highest": float(y.max()),
            "n_votes": len(y),
            "n_raters": len(raters),
            "n_clips": int(pd.unique(mine["stimulus"]).size),
        }


def _falling(row: dict[str, Any], estimand: Estimand) -> tuple[float, str]:
    return (row["mean"] if estimand.lowest_is_best else -row["mean"]), row["condition"]


def _table(
    place: int,
    title: str,
    rows: list[dict[str, Any]],
    style: str,
    estimand: Estimand,
    level: float,
) -> Table:
    digits, percent = estimand.decimals, f"{level * 100:g} %"
    first = [Column("condition", "Condition"), Column("role", "Role")]
    last = [Column("n_votes", "Votes", "count"), Column("n_raters", "Raters", "count")]
    if style == MUSHRA:
        middle = [
            Column("rater_mean", "Mean", "number", digits),
            Column("raters", f"{percent}, assessors", "interval", digits),
            Column("median", "Median", "number", digits),
            Column("q1", "Lower quartile", "number", digits),
            Column("q3", "Upper quartile", "number", digits),
        ]
    else:
        middle = [
            Column("mean", "Mean", "number", digits),
            Column("sd", "SD", "number", digits),
            Column("votes", f"{percent}, votes", "interval", digits),
            Column("raters", f"{percent}, raters", "interval", digits),
        ]
        last.append(Column("n_clips", "Clips", "count"))
    key = f"recommendation-{place}"
    return Table(key, title, [*first, *middle, *last], rows, NOTES[style], about=title)


def _boxes(place: int, title: str, rows: list[dict[str, Any]], estimand: Estimand) -> Figure:
    boxes = [
        {
            "name": row["condition"],
            "low": row["lowest"],
            "q1": row["q1"],
            "median": row["median"],
            "q3": row["q3"],
            "high": row["highest"],
            "value": row["rater_mean"],
        }
        for row in rows
    ]
    return Figure(
        f"recommendation-{place}",
        f"Boxes: {title}",
        "boxes",
        boxes,
        x=estimand.axis,
        ends=estimand.ends,
        note="Whiskers reach to the lowest and the highest score.",
        about=title,
    )
