"""Fatigue and order: ratings and traps over the session, the clip before, first or second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.formatting import interval_text, number
from analysis.name_spans import family_prefix
from analysis.ratings.breakdowns import Family
from analysis.ratings.estimands import estimand_of
from analysis.ratings.table import TRAINING
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import FamilyInput
from analysis.report.parts.raters.family_rows import before_rules, plain_row
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
    Column("passed_percent", "Interval, %", "interval", 0),
    Column("n_raters", "Raters", "count"),
    Column("n_ratings", "Traps", "count"),
    Column("note", "Note"),
)
METHODS = (
    "The trend over trials and the carry-over from the clip before (its mean by the other raters; "
    "above 0: assimilation, below 0: contrast) are slopes within raters and clips, clustered over "
    "raters."
)


def effects_of_order(each: FamilyInput) -> Content:
    """Effects of time and order on the ratings of one family."""
    rated, level, title = rated_units(each.family), each.level, each.title
    columns = (rated.unit, rated.rater, rated.score)
    rows, sentences, warnings, figures = [], [], [], []
    if not np.isnan(rated.position).all():
        slope = trend(*columns, rated.position, level=level)
        rows.append(_row(slope, f"Change of a rating over {TRIALS} trials", TRIALS))
        before = carry_over(
            rated.unit, rated.rater, rated.session, rated.score, rated.position, level=level
        )
        rows.append(_row(before, "Change per score unit that the clip before was better"))
        sentences += _trend_in_words(title, slope)
        warnings += _strong(title, slope, rated)
        figures = _figure(title, rated, level)
    second = _second(each.family, level)
    if second is not None:
        rows.append(_row(second, "Advantage of the clip heard second"))
    tables = []
    if rows:
        tables.append(Table("order", "Fatigue and order", EFFECTS, rows, about=title))
    tables += _traps(each)
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
    known = ~np.isnan(rated.position) & ~np.isnan(apart)
    if not known.any():
        return []
    stretch, ends = stretches(rated.position[known], STRETCHES)
    rows: list[dict[str, Any]] = []
    for place in by_position(stretch, rated.rater[known], apart[known], level=level):
        first, last = ends[int(place.place)]
        numbers = {"low": place.low, "high": place.high}
        counts = {"n_ratings": place.n_ratings, "n_raters": place.n_raters}
        x = (first + last) / 2
        rows.append({"group": "all raters", "x": x, "y": place.value, **numbers, **counts})
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


def _row(effect: Agreement, words: str, times: float = 1) -> dict[str, Any]:
    row = {"measure": words, **plain_row(effect)}
    for name in ("value", "low", "high"):
        row[name] = None if row[name] is None else row[name] * times
    return row


def _trend_in_words(title: str, slope: Agreement) -> list[str]:
    if slope.value is None:
        return []
    change = number(slope.value * TRIALS, True, 3)
    if slope.low is None or slope.high is None:
        return [
            f"{family_prefix(title)}ratings change by {change} over {TRIALS} trials ({slope.note})."
        ]
    ends = interval_text(slope.low * TRIALS, slope.high * TRIALS, None, 3)
    size = f"{change} over {TRIALS} trials {ends}"
    if slope.low <= 0 <= slope.high:
        return [f"{family_prefix(title)}no trend of the ratings over the session is seen ({size})."]
    way = "fall" if slope.value < 0 else "rise"
    return [f"{family_prefix(title)}for the same clips, ratings {way} over the session, by {size}."]


def _strong(title: str, slope: Agreement, rated: Rated) -> list[str]:
    if slope.value is None or slope.low is None or slope.high is None:
        return []
    spread, length = float(np.ptp(rated.score)), float(np.nanmax(rated.position))
    least = min(abs(slope.low), abs(slope.high)) * length
    if slope.low <= 0 <= slope.high or least < NOTICEABLE * spread:
        return []
    return [
        f"{family_prefix(title)}from the first to the last trial a rating moves by {least:.2f} "
        "or more. That "
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


def _traps(each: FamilyInput) -> Sequence[Table]:
    """The share of traps passed over the session, once per task (its first criterion)."""
    table = before_rules(each.inputs.table, each.family)
    answered = table["trap_passed"].notna() & table["position"].notna()
    use = table[answered & ~table["trap"].isin(["", TRAINING])]
    if len(use) < FIFTHS:
        return []
    stretch, ends = stretches(numbers(use, "position"), FIFTHS)
    passed = use["trap_passed"].astype(bool).to_numpy().astype(np.float64)
    raters = use["rater"].to_numpy(dtype=object)
    rows = []
    for place in by_position(stretch, raters, passed, level=each.level):
        first, last = ends[int(place.place)]
        name = f"{first}–{last}" if last > first else str(first)
        row = plain_row(place)
        for end in ("low", "high"):  # a t interval of a share may run past its ends
            bound = row[end]
            row[f"passed_percent_{end}"] = None if bound is None else 100 * min(max(bound, 0), 1)
        rows.append({**row, "place": name})
    note = "All raters, those included whom the rules leave out. Intervals are cut at 0 and 100 %."
    about = f"Traps · {each.family.group['task']}"
    return [Table("traps", "Traps passed over the session", PLACES, rows, note, about)]
