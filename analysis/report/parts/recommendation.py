"""The tables that the ITU's Recommendations ask for: MUSHRA (BS.1534-3) and crowds (P.808)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.citations import citation, cite
from analysis.name_spans import family_span
from analysis.ratings.estimands import Estimand, estimand_of
from analysis.ratings.reference import anchors_of, reference_of, roles_of
from analysis.report.content import (
    Content,
    Figure,
    Table,
    bounds_cells,
    column,
    columns_of,
    pick_cells,
    table_row,
    together,
)
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.statistics.intervals import naive_interval

MUSHRA, IMPAIRMENT, CROWD = "mushra", "bs1116", "p808"
ROLES = {"reference": "reference", "anchor": "anchor", "test": "system"}
METHODS = {
    MUSHRA: "Per condition the mean with its t interval over assessors (each one's mean), median "
    f"and quartiles are given, as {citation('itu_bs1534', '-3')} asks for.",
    IMPAIRMENT: "Per condition the mean difference grade with its t interval over listeners (each "
    f"one's mean), median and quartiles are given {cite('itu_bs1116')}.",
    CROWD: "Per condition the number of votes, their mean, standard deviation and t interval over "
    f"votes are given, as {citation('itu_p808')} and {citation('itu_p1401')} ask for, and an "
    "interval over raters' means.",
}
NOTES = {
    MUSHRA: "Interval: t over the assessors' own means; other items are not allowed for. Reference "
    "and anchors are no candidates. Post-screening (hidden_reference, mid_anchor) are rules: ask "
    "for them with --rule.",
    IMPAIRMENT: "Interval: t over the listeners' own means; other items are not allowed for. At 0 "
    "the object was graded like the hidden reference. Post-screening (expertise) is a rule: ask "
    "for it with --rule.",
    CROWD: "Votes: t over all votes, as if independent, which is what P.808 prints and too narrow "
    "where raters differ. Raters: t over raters' own means. The answer above allows for raters and "
    "clips.",
}


@table_row
class ConditionRow:
    """A condition, or a pair of them that was compared, as the Recommendations print it."""

    condition: str = column("Condition")
    role: str = column("Role")
    mean: float = column("Mean", "number")
    rater_mean: float = column("Mean", "number")
    sd: float | None = column("SD", "number")
    votes_low: float | None = column("{level}, votes", "interval", key="votes")
    votes_high: float | None
    raters_low: float | None = column("{level}, {raters}", "interval", key="raters")
    raters_high: float | None
    q1: float = column("Lower quartile", "number")
    median: float = column("Median", "number")
    q3: float = column("Upper quartile", "number")
    lowest: float
    highest: float
    n_votes: int = column("Votes", "count")
    n_raters: int = column("Raters", "count")
    n_clips: int = column("Clips", "count")


COUNTS = ("n_votes", "n_raters")
SHOWN = {
    MUSHRA: ("condition", "role", "rater_mean", "raters_low", "median", "q1", "q3", *COUNTS),
    IMPAIRMENT: ("condition", "rater_mean", "raters_low", "median", "q1", "q3", *COUNTS),
    CROWD: ("condition", "role", "mean", "sd", "votes_low", "raters_low", *COUNTS, "n_clips"),
}


class Recommendation(FamilyPart):
    """Mean, interval, median and quartiles per condition as BS.1534-3 and P.808 print them."""

    key = "recommendation"
    version = "1"
    title = "Tables as in ITU Recommendations"
    order = 41
    always = False
    presets = frozenset({"mushra", "p808"})
    nothing = "no ratings with scores: collect some, or name the column of scores"

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.ratings) > 0

    def of_family(self, each: FamilyInput) -> Content:
        estimand = estimand_of(each.family.estimand)
        style = MUSHRA if estimand.continuous else CROWD
        style = IMPAIRMENT if estimand.key == "sdg" else style
        turn = 1 if estimand.lowest_is_best else -1
        rows = sorted(_rows(each), key=lambda row: (turn * row.mean, row.condition))
        key, about = f"recommendation-{each.place + 1}", each.title
        columns = columns_of(
            ConditionRow,
            *SHOWN[style],
            level=each.level,
            decimals=estimand.decimals,
            raters={MUSHRA: "assessors", IMPAIRMENT: "listeners"}.get(style, "raters"),
        )
        table = Table.from_rows(
            ConditionRow,
            key,
            family_span(about),
            rows,
            columns=columns,
            note=NOTES[style],
            about=about,
        )
        figures = [_boxes(key, about, rows, estimand)] if style != CROWD else []
        return Content(figures=figures, tables=[table], methods=[METHODS[style]])

    def of_all(self, contents: Sequence[Content], inputs: PartInput) -> Content:
        """Titles say already what they are about."""
        content = together(contents)
        return replace(content, methods=[m for m in METHODS.values() if m in content.methods])


def _rows(each: FamilyInput) -> Iterator[ConditionRow]:
    """One row per condition, or per pair of conditions that was compared."""
    table = each.family.table
    by = ["condition", *["versus_condition"] * each.family.in_pairs]
    names, roles = sorted(set(table["condition"])), roles_of(table)
    reference = reference_of(names, each.inputs.options.reference, roles).name
    role = dict.fromkeys(anchors_of(names, roles), "anchor") | {reference: "reference"}
    for key, mine in table.groupby(by, sort=True):
        y = mine["score"].to_numpy(dtype=np.float64)
        means = mine.groupby("rater")["score"].mean().to_numpy(dtype=np.float64)
        q1, median, q3 = map(float, np.quantile(y, [0.25, 0.5, 0.75]))
        yield ConditionRow(
            condition=" against ".join(map(str, key)),
            role=ROLES[role.get(str(key[0]), "test")],
            mean=float(y.mean()),
            rater_mean=float(means.mean()),
            sd=float(np.std(y, ddof=1)) if len(y) > 1 else None,
            **bounds_cells("votes", naive_interval(y, each.level)),
            **bounds_cells("raters", naive_interval(means, each.level)),
            q1=q1,
            median=median,
            q3=q3,
            lowest=float(y.min()),
            highest=float(y.max()),
            n_votes=len(y),
            n_raters=len(means),
            n_clips=int(pd.unique(mine["stimulus"]).size),
        )


def _boxes(key: str, about: str, rows: Sequence[ConditionRow], estimand: Estimand) -> Figure:
    boxes = [
        {
            "name": row.condition,
            "low": row.lowest,
            **pick_cells(row, "q1", "median", "q3"),
            "high": row.highest,
            "value": row.rater_mean,
        }
        for row in rows
    ]
    return Figure(
        key,
        f"Boxes: {family_span(about)}",
        "boxes",
        boxes,
        x=estimand.axis,
        ends=estimand.ends,
        note="Whiskers reach to the lowest and the highest score.",
        about=about,
    )
