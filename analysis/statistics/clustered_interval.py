"""The two-way clustered interval of a mean, with the reason where there is none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.ratings.estimands import Estimand
from analysis.statistics.intervals import Clustered, has_no_width, t_interval
from analysis.statistics.unanimous import edge_of, equal_bounds

FEW = 10
_NO_WIDTH = "the interval has no width and says nothing of other raters"
ALL_EQUAL = {
    False: f"all ratings are equal: {_NO_WIDTH}",
    True: f"all raters have the same mean: {_NO_WIDTH}",
}

Bounds = tuple[float, float] | None


class Scored(NamedTuple):
    """Scores with the codes of whom and what they are of, each (n,)."""

    y: Floats
    condition: Codes
    rater: Codes
    item: Codes


def two_way_bounds(
    means: Clustered,
    code: int,
    scored: Scored,
    level: float,
    spread: tuple[Floats, Floats],
    estimand: Estimand | None = None,
) -> tuple[Bounds, str]:
    """The two-way clustered t interval of one mean, or None; and the reason or a warning.

    ``scored`` are all scores of the table, ``spread`` is what `spread_of_means` gives of all
    of ``means``; ``estimand`` is None for shares. Where scores do not differ, every rater or item
    counts as one answer (`unanimous`).
    """
    few = too_few(means, code)
    if few:
        return None, few
    rows = scored.condition == code
    y, who = scored.y[rows], (scored.rater[rows], scored.item[rows])
    variances, degrees = spread
    value, variance = float(means.value[code]), float(variances[code])
    bounds: Bounds = None
    if not has_no_width(variance, y):
        bounds = t_interval(value, variance**0.5, float(degrees[code]), level)
    if estimand is not None and estimand.neutral is not None:
        middle, farthest = estimand.neutral, float(np.abs(scored.y - estimand.neutral).max())
        edge = edge_of(y - middle, *who, level, farthest)
        if edge is not None:
            low, high = bounds or (value, value)
            return (min(low, edge.low + middle), max(high, edge.high + middle)), edge.note
    if bounds is None:
        if float(np.ptp(y)) > 0:
            return None, "the sums per rater and per item cancel out: no clustered interval"
        ends = (0.0, 1.0) if estimand is None else estimand.ends_for(float(y[0]), float(y[0]))
        equal = ends and equal_bounds(y, *who, level, ends)
        return (equal[:2], equal[2]) if equal else ((value, value), ALL_EQUAL[False])
    groups = means.degrees(code) + 1
    return bounds, f"only {groups} raters or items: a rough interval" if groups < FEW else ""


def too_few(means: Clustered, code: int) -> str:
    """Why a mean has no clustered interval, or nothing."""
    if means.n_ratings[code] < 2:
        return "one rating only: no interval"
    if means.n_raters[code] < 2:
        return "one rater only: how raters differ cannot be estimated"
    if means.n_items[code] < 2:
        return "one item only: how items differ cannot be estimated"
    return ""
