"""Fatigue and order: ratings and traps over the session, the clip before, first or second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.formatting import interval_text, number
from analysis.ratings.breakdowns import Family
from analysis.ratings.estimands import estimand_of
from analysis.ratings.table import TRAINING
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import PartInput
from analysis.statistics.agreement import (
    Agreement,
    Rated,
    by_position,
    carry_over,
    coded,
    order_effect,
    rated_units,
    trend,
)
from analysis.statistics.agreement.rating_units import numbers
from analysis.statistics.agreement.versus_rest import rest_means
from analysis.statistics.pairs.pair_ratings import HEARD_SECOND

STRETCHES = 10  # of a session, for the figure
FIFTHS = 5  # of a session, for traps
TRIALS = 10  # a trend is told per so many
NOTICEABLE = 0.05  # of the scores' range, from the first to the last trial
EFFECTS = (
    Column("measure", "Effect"),
    Column("value", "Value", "number", sign=True),
    Column("interval", "Interval", "interval"),
    Column("n_raters", "Raters", "count"),
    Column("n_ratings", "Ratings", "count"),
    Column("note", "Note"),
)
PLACES = (
    Column("place", "Trials"),
    Column("value", "Traps passed", "percent"),
    Column("interval", "Interval", "interval"),
    Column("n_raters", "Raters", "count"),
    Column("n_ratings", "Traps", "count"),
    Column("note", "Note"),
)
METHODS = (
    "The trend over trials and the carry-over from the clip before (its mean by the other raters; "
    "above 0: assimilation, below 0: contrast) are slopes within raters and clips, clustered over "
    "raters."
)


def order_of(family: Family, title: str, inputs: PartInput) -> Content:
    """Effects of time and order on the ratings of one family."""
    rated, level = rated_units(family), inputs.options.level
    three = (rated.unit, rated.rater, rated.score)
    rows, sentences, warnings, figures = [], [], [], []
    known = ~np.isnan(rated.position)
    if known.any():
        slope = trend(*three, rated.position, level=level)
        rows.append(_row(slope, f"Change of a rating over {TRIALS} trials", TRIALS))
        before = carry_over(*three[:2], rated.session, *three[2:], rated.position, level=level)
        rows.append(_row(before, "Change per score unit that the clip before was better", 1))
        sentences += _told(title, slope)
        warnings += _strong(title, slope, rated)
        figures = _figure(title, rated, level)
    second = _second(family, level)
    if second is not None:
        rows.append(_row(second, "Advantage of the clip heard second", 1))
    tables = []
    if rows:
        tables.append(Table("order", "Fatigue and order", EFFECTS, rows, about=title))
    tables += _traps(family, inputs)
    return Content(sentences, figures, tables, warnings, [METHODS] if rows else [])


def stretches(position: Floats, count: int) -> tuple[Codes, list[tuple[int, int]]]:
    """For each position (n,) its stretch of the session, and the first and last trial of each.

    Up to ``count`` stretches with about as many ratings in each: fewer raters come far.
    """
    cuts = np.quantile(position, np.arange(1, count) / count, method="higher")
    _, stretch = np.unique(np.searchsorted(cuts, position, side="right"), return_inverse=True)
    ends = []
    for code in range(int(stretch.max()) + 1):
        mine = position[stretch == code]
        ends.append((int(mine.min()), int(mine.max())))
    return stretch.astype(np.int64), ends


def _figure(title: str, rated: Rated, level: float) -> list[Figure]:
    """How far ratings lie from what others gave the same clips, over the session."""
    ratings = coded(rated.unit, rated.rater, rated.score)
    apart = ratings.y - rest_means(ratings)
    told = ~np.isnan(rated.position) & ~np.isnan(apart)
    if not told.any():
        return []
    stretch, ends = stretches(rated.position[told], STRETCHES)
    found = by_position(stretch, rated.rater[told], apart[told], level=level)
    rows: list[dict[str, Any]] = []
    for place in found:
        first, last = ends[int(place.place)]
        rows.append(
            {
                "group": "all raters",
                "x": (first + last) / 2,
                "y": place.value,
                "low": place.low,
                "high": place.high,
                "n_ratings": place.n_ratings,
                "n_raters": place.n_raters,
            }
        )
    if len(rows) < 2:
        return []
    return [
        Figure(
            "over-trials",
            "Ratings over the session",
            "lines",
            rows,
            x="Trial",
            y="Above what others gave the same clips",
            at=(0.0,),
            note="Each point holds about as many ratings; later ones fewer raters.",
            about=title,
        )
    ]


def _row(found: Agreement, words: str, times: float) -> dict[str, Any]:
    row = found.row()
    made_by = row.pop("interval")
    for name in ("value", "low", "high"):
        row[name] = None if row[name] is None else row[name] * times
    return {"measure": words, **row, "made_by": made_by}


def _told(title: str, slope: Agreement) -> list[str]:
    if slope.value is None:
        return []
    change = slope.value * TRIALS
    if slope.low is None or slope.high is None:
        return [
            f"{title}: ratings change by {number(change, True, 3)} over {TRIALS} trials "
            f"({slope.note})."
        ]
    told = interval_text(slope.low * TRIALS, slope.high * TRIALS, None, 3)
    if slope.low <= 0 <= slope.high:
        return [
            f"{title}: no trend of the ratings over the session is seen ({_signed(change)} over "
            f"{TRIALS} trials {told})."
        ]
    way = "fall" if change < 0 else "rise"
    return [
        f"{title}: for the same clips, ratings {way} over the session, by {_signed(change)} over "
        f"{TRIALS} trials {told}."
    ]


def _signed(value: float) -> str:
    return number(value, True, 3)


def _strong(title: str, slope: Agreement, rated: Rated) -> list[str]:
    if slope.value is None or slope.low is None or slope.high is None:
        return []
    spread, length = float(np.ptp(rated.score)), float(np.nanmax(rated.position))
    least = min(abs(slope.low), abs(slope.high)) * length
    if slope.low <= 0 <= slope.high or least < NOTICEABLE * spread:
        return []
    return [
        f"{title}: from the first to the last trial a rating moves by {least:.2f} or more. That "
        "biases no comparison as long as each rater hears the conditions in random order."
    ]


def _second(family: Family, level: float) -> Agreement | None:
    """The advantage of the second clip, for comparisons whose order is known and varies."""
    order = family.table["presented_first"].map(HEARD_SECOND)
    estimand = estimand_of(family.estimand)
    if not estimand.prefers or order.nunique() < 2:
        return None
    rows = order.notna().to_numpy(dtype=bool)
    table = family.table[rows]
    score = estimand.centred(table["score"].to_numpy(dtype=np.float64))
    first = (order[rows] < 0).to_numpy(dtype=bool)
    return order_effect(score, first, table["rater"].to_numpy(dtype=object), level=level)


def _traps(family: Family, inputs: PartInput) -> Sequence[Table]:
    """The share of traps passed over the session, once per task (its first criterion)."""
    table = inputs.table
    rows = table[
        (table["task"] == family.group["task"])
        & (table["criterion"] == family.group["criterion"])
        & (table["estimand"] == family.estimand)
        & ~table["trap"].isin(["", TRAINING])
        & table["trap_passed"].notna()
        & table["position"].notna()
    ]
    if "study" in family.group:
        rows = rows[rows["study"] == family.group["study"]]
    if len(rows) < FIFTHS:
        return []
    stretch, ends = stretches(numbers(rows, "position"), FIFTHS)
    passed = rows["trap_passed"].astype(bool).to_numpy().astype(np.float64)
    found = by_position(
        stretch, rows["rater"].to_numpy(dtype=object), passed, level=inputs.options.level
    )
    told = []
    for place in found:
        first, last = ends[int(place.place)]
        row = place.row()
        row["made_by"] = row.pop("interval")
        told.append({**row, "place": f"{first}–{last}" if last > first else str(first)})
    note = "All raters, those included whom the rules leave out."
    title = f"Traps · {family.group['task']}"
    return [Table("traps", "Traps passed over the session", PLACES, told, note, about=title)]
