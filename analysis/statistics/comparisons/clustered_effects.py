"""Cohen's d and Cliff's delta with intervals that let raters and items both vary."""

from __future__ import annotations

import numpy as np

from analysis.arrays import Bools, Codes, Floats
from analysis.statistics.bounded_interval import Shares
from analysis.statistics.clustered_variance import least_df, variances_and_df
from analysis.statistics.comparisons.effect_sizes import (
    CLIFFS_DELTA,
    COHEN_D,
    NO_SPREAD,
    dominance,
    no_spread,
)
from analysis.statistics.comparisons.test_result import Effect
from analysis.statistics.intervals import clustered, has_no_width, t_interval

TOO_FEW = "one rater or item only: how they differ cannot be estimated"
CANCELLED = "the sums per rater and per item cancel out: no interval"


def clustered_d(y: Floats, first: Bools, rater: Codes, item: Codes, level: float = 0.95) -> Effect:
    """(mean of the first - mean of the others) over their pooled SD, of ratings (n,).

    As `cohen_d`; the interval is a t one over the clustered variance of what each rating
    contributes (delta method: its distance from its mean, and d / 2 times what its square adds to
    the variance).
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
    part = shift - d * square / (2 * pooled * (n + m - 2))
    variance, df, least = _variance(part, first, rater, item)
    if least is None:
        return Effect(COHEN_D, d, None, None, level, TOO_FEW)
    if has_no_width(variance, np.ones(1)):
        return Effect(COHEN_D, d, None, None, level, CANCELLED)
    return Effect(COHEN_D, d, *t_interval(d, variance**0.5, df, level), level)


def clustered_delta(
    y: Floats, first: Bools, rater: Codes, item: Codes, level: float = 0.95
) -> Effect:
    """P(first above others) - P(below) over all pairs of ratings (n,), in [-1, 1].

    As `cliffs_delta`; the interval is that of a share, (delta + 1) / 2, by the two-way clustered
    variance of each rating's mean dominance (`bounded_interval.Shares`).
    """
    if not first.any() or first.all():
        return Effect(CLIFFS_DELTA, None, None, None, level, "no value on one side")
    mine, theirs = dominance(y[first], y[~first]), -dominance(y[~first], y[first])
    delta = float(mine.mean())
    part = np.empty(len(y))
    part[first], part[~first] = (mine - delta) / len(mine), (theirs - delta) / len(theirs)
    variance, df, least = _variance(part, first, rater, item)
    if least is None:
        return Effect(CLIFFS_DELTA, delta, None, None, level, TOO_FEW)
    answers = float(min(len(mine), len(theirs)))
    one = np.array([[(delta + 1) / 2, variance / 4, 0.0, answers * np.sum(part**2) / 4]]).T
    share, variance_of, design, spread = np.clip(one, 0.0, None)
    shares = Shares(share, variance_of, design, spread, np.array([answers]), np.array([least]))
    low, high = (float(end[0]) for end in shares.bounds(np.array([df]), 1 - level))
    return Effect(CLIFFS_DELTA, delta, 2 * low - 1, 2 * high - 1, level)


def _variance(
    part: Floats, first: Bools, rater: Codes, item: Codes
) -> tuple[float, float, float | None]:
    """The clustered variance of a sum of parts (n,), its df, and the fewest groups minus 1.

    None for the last where a side has one rater or one item.
    """
    side = (~first).astype(np.int64)
    each = np.bincount(side)
    sums = clustered(part * each[side], side, rater, item, 2)
    both = np.ones((1, 2))
    variance, df = variances_and_df(both, sums)
    few = min(sums.n_raters.min(), sums.n_items.min()) < 2
    return float(variance[0]), float(df[0]), None if few else float(least_df(both, sums)[0])
