"""Cohen's d and Cliff's delta with intervals that let raters and items both vary."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analysis.arrays import Codes, Floats
from analysis.statistics.binomial import effective, exact_bounds
from analysis.statistics.comparisons.clustered_variance import two_way_sums
from analysis.statistics.comparisons.effect_sizes import (
    CLIFFS_DELTA,
    COHEN_D,
    NO_SPREAD,
    asymmetric_interval,
    dominance,
    no_spread,
)
from analysis.statistics.comparisons.test_result import Effect
from analysis.statistics.intervals import has_no_width, t_interval

TOO_FEW = "one rater or item only: how they differ cannot be estimated"
CANCELLED = "the sums per rater and per item cancel out: no interval"
Bools = NDArray[np.bool_]


def clustered_d(y: Floats, first: Bools, rater: Codes, item: Codes, level: float = 0.95) -> Effect:
    """(mean of the first - mean of the others) over their pooled SD, of ratings (n,).

    As `cohen_d`; the interval is a t one over the two-way clustered variance of what each
    rating contributes (delta method: its distance from its mean, and d / 2 times what its square
    adds to the variance), with the fewest raters or items of either condition minus 1 as degrees.
    """
    x, z = y[first], y[~first]
    n, m = len(x), len(z)
    if min(n, m) < 1 or n + m < 3 or (no_spread(x) and no_spread(z)):
        return Effect(COHEN_D, None, None, None, level, NO_SPREAD)
    apart = y - np.where(first, x.mean(), z.mean())
    square = apart**2 - np.where(first, x.var(), z.var())
    pooled = float(np.sum(apart**2)) / (n + m - 2)
    d = float(x.mean() - z.mean()) / pooled**0.5
    shift = apart * np.where(first, 1 / n, -1 / m) / pooled**0.5
    variance, df = _variance(shift - d * square / (2 * pooled * (n + m - 2)), first, rater, item)
    if df < 1:
        return Effect(COHEN_D, d, None, None, level, TOO_FEW)
    if has_no_width(variance, np.ones(1)):
        return Effect(COHEN_D, d, None, None, level, CANCELLED)
    return Effect(COHEN_D, d, *t_interval(d, variance**0.5, df, level), level)


def clustered_delta(
    y: Floats, first: Bools, rater: Codes, item: Codes, level: float = 0.95
) -> Effect:
    """P(first above others) - P(below) over all pairs of ratings (n,), in [-1, 1].

    As `cliffs_delta`; the interval is Feng and Cliff's (2004), with the two-way clustered
    variance of each rating's mean dominance and a t quantile. Where every rating of one side is
    above every one of the other, it is Clopper and Pearson's with each rater (or item) one answer.
    """
    if not first.any() or first.all():
        return Effect(CLIFFS_DELTA, None, None, None, level, "no value on one side")
    mine, theirs = dominance(y[first], y[~first]), -dominance(y[~first], y[first])
    delta = float(mine.mean())
    part = np.empty(len(y))
    part[first], part[~first] = (mine - delta) / len(mine), (theirs - delta) / len(theirs)
    variance, df = _variance(part, first, rater, item)
    if df < 1:
        return Effect(CLIFFS_DELTA, delta, None, None, level, TOO_FEW)
    if 1 - abs(delta) <= 1e-12:
        sides = (first, ~first)
        groups = min(effective(code[side]) for code in (rater, item) for side in sides)
        low = 2 * exact_bounds(1.0, groups, level)[0] - 1
        ends = (low, 1.0) if delta > 0 else (-1.0, -low)
        return Effect(CLIFFS_DELTA, delta, *ends, level)
    if has_no_width(variance, np.ones(1)):
        return Effect(CLIFFS_DELTA, delta, None, None, level, CANCELLED)
    t = float(special.stdtrit(df, (1 + level) / 2))
    return Effect(CLIFFS_DELTA, delta, *asymmetric_interval(delta, t * variance**0.5), level)


def _variance(part: Floats, first: Bools, rater: Codes, item: Codes) -> tuple[float, int]:
    """The two-way clustered variance of a sum of parts (n,), and its degrees of freedom.

    Cameron, Gelbach and Miller (2011), eq. 2.11, floored at the larger one-way variance.
    """
    by_rater, by_item, by_both = two_way_sums(part, rater, item)
    sides = (first, ~first)
    groups = min(len(np.unique(code[side])) for code in (rater, item) for side in sides)
    return max(by_rater + by_item - by_both, by_rater, by_item), groups - 1
