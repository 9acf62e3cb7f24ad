"""Effect sizes: Cohen's d, Cliff's delta and d of pairs, with their intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from analysis.arrays import Bools, Codes, Floats
from analysis.statistics.bounded_interval import Shares
from analysis.statistics.clustered_variance import least_df, variances_and_df
from analysis.statistics.comparisons.test_result import Effect, finite
from analysis.statistics.intervals import clustered, has_no_width, t_interval

COHEN_D, CLIFFS_DELTA = "Cohen's d (pooled SD)", "Cliff's delta"
NO_SPREAD = "the values of both sides are all equal: no spread to measure the difference by"
_MOST_T = 1e4
TOO_FEW = "fewer than two values on one side: no spread to measure the difference by"


def cohen_d(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Effect:
    """(mean a - mean b) / pooled SD; interval by the noncentral t (Cohen 1988; Cumming 2001)."""
    x, y = finite(a, b)
    n, m = len(x), len(y)
    if min(n, m) < 1 or n + m < 3:
        return Effect(COHEN_D, None, None, None, level, TOO_FEW)
    if no_spread(x) and no_spread(y):
        return Effect(COHEN_D, None, None, None, level, NO_SPREAD)
    squares = sum(float(np.var(side, ddof=1)) * (len(side) - 1) for side in (x, y) if len(side) > 1)
    df, scale = n + m - 2, (1 / n + 1 / m) ** 0.5
    d = (float(np.mean(x)) - float(np.mean(y))) / (squares / df) ** 0.5
    low, high = noncentral_interval(d / scale, df, level)
    return Effect(COHEN_D, d, low * scale, high * scale, level)


def cohen_d_paired(differences: ArrayLike, level: float = 0.95) -> Effect:
    """d_z: the mean difference over the SD of the differences (n,); interval by noncentral t."""
    (d,) = finite(differences)
    name = "Cohen's d of differences (d_z)"
    if len(d) < 2:
        return Effect(name, None, None, None, level, "fewer than two pairs: no spread")
    sd = float(np.std(d, ddof=1))
    if no_spread(d):
        return Effect(name, None, None, None, level, "the differences are all equal: no spread")
    value, scale = float(np.mean(d)) / sd, len(d) ** -0.5
    low, high = noncentral_interval(value / scale, len(d) - 1, level)
    return Effect(name, value, low * scale, high * scale, level)


def cliffs_delta(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Effect:
    """P(a > b) - P(a < b) over all pairs, in [-1, 1] (Cliff 1993).

    The interval is Feng and Cliff's (2004) asymmetric one with the unbiased variance of Cliff
    (1993, eq. 7), which stays inside [-1, 1]; values are taken as independent.
    """
    x, y = finite(a, b)
    n, m = len(x), len(y)
    if not n or not m:
        return Effect(CLIFFS_DELTA, None, None, None, level, "no value on one side")
    by_x, by_y = dominance(x, y), -dominance(y, x)
    delta = float(by_x.mean())
    if min(n, m) < 2:
        return Effect(CLIFFS_DELTA, delta, None, None, level, "one value on one side: no interval")
    decided = n * m - _ties(x, y)
    around = decided - n * m * delta**2
    rows, columns = float(np.sum((by_x - delta) ** 2)), float(np.sum((by_y - delta) ** 2))
    variance = (m**2 * rows + n**2 * columns - around) / (n * m * (n - 1) * (m - 1))
    variance = max(variance, (1 - delta**2) / (n * m - 1))
    if variance <= 0:
        note = "every value of one side is above every value of the other: no interval"
        return Effect(CLIFFS_DELTA, delta, None, None, level, note)
    z = float(stats.norm.ppf((1 + level) / 2))
    return Effect(CLIFFS_DELTA, delta, *asymmetric_interval(delta, z * variance**0.5), level)


def asymmetric_interval(delta: float, half: float) -> tuple[float, float]:
    """Feng and Cliff's (2004) interval of a delta, by its quantile times standard error."""
    h2 = half**2
    reach = (h2 * ((1 - delta**2) ** 2 + h2)) ** 0.5
    low, high = ((delta - delta**3 + s * reach) / (1 - delta**2 + h2) for s in (-1, 1))
    return low, high


def noncentral_interval(t: float, df: float, level: float) -> tuple[float, float]:
    """The noncentralities that put an observed t at the two tails (Steiger and Fouladi 1997).

    Beyond |t| of 10,000, where the noncentral t cannot be computed, its limit t √(χ²/df). By root
    finding, as SciPy's own inverse (nctdtrinc) is right to 1e-6 only.
    """
    if abs(t) > _MOST_T:
        spread = stats.chi2.ppf([(1 - level) / 2, (1 + level) / 2], df)
        ends = sorted((t * np.sqrt(spread / df)).tolist())
        return ends[0], ends[1]
    tails = ((1 + level) / 2, (1 - level) / 2)
    low, high = (_noncentrality(t, df, tail) for tail in tails)
    return low, high


def no_spread(values: Floats) -> bool:
    """Whether values are all equal but for rounding."""
    return bool(np.ptp(values) <= 1e-12 * max(1.0, float(np.max(np.abs(values)))))


def _noncentrality(t: float, df: float, tail: float) -> float:
    def excess(nc: float) -> float:
        return float(stats.nct.cdf(t, df, nc)) - tail

    step = 4.0 + abs(t) / df**0.5
    low, high = _widen(excess, t - step, t + step, step)
    return float(optimize.brentq(excess, low, high, xtol=1e-10))


def _widen(
    excess: Callable[[float], float], low: float, high: float, step: float
) -> tuple[float, float]:
    while excess(low) < 0:
        low -= step
    while excess(high) > 0:
        high += step
    return low, high


def dominance(x: Floats, y: Floats) -> Floats:
    """For each of x, the share of y below minus the share above (n,), in [-1, 1]."""
    ordered = np.sort(y)
    below = np.searchsorted(ordered, x, side="left")
    above = len(y) - np.searchsorted(ordered, x, side="right")
    return np.asarray((below - above) / len(y), dtype=np.float64)


def _ties(x: Floats, y: Floats) -> int:
    ordered = np.sort(y)
    left = np.searchsorted(ordered, x, side="left")
    return int(np.sum(np.searchsorted(ordered, x, side="right") - left))


LEAST_DELTAS = ((0.474, "large"), (0.33, "medium"), (0.147, "small"), (0.0, "negligible"))


@dataclass(frozen=True)
class AllEffects:
    """Effect sizes of condition a (row) against b (column), (C, C); NaN where undefined.

    ``d`` is (mean a - mean b) over the pooled SD of both, ``delta`` P(a > b) - P(a < b) over all
    pairs of a rating of a with one of b. Both take the ratings as they are: who gave them, and to
    which item, does not enter.
    """

    d: Floats
    delta: Floats


def all_effects(y: Floats, condition: Codes, n_conditions: int) -> AllEffects:
    """d and delta of scores (n,) by condition codes (n,), C conditions.

    As `effects.cohen_d` (Cohen 1988) and `effects.cliffs_delta` (Cliff 1993), pair by pair.
    """
    n = np.bincount(condition, minlength=n_conditions).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(condition, weights=y, minlength=n_conditions) / n
        around = (y - mean[condition]) ** 2
        squares = np.bincount(condition, weights=around, minlength=n_conditions)
        pooled = (squares[:, None] + squares[None, :]) / (n[:, None] + n[None, :] - 2)
        dust = (1e-12 * max(1.0, float(np.max(np.abs(y), initial=0.0)))) ** 2
        d = (mean[:, None] - mean[None, :]) / np.sqrt(np.where(pooled > dust, pooled, np.nan))
        delta = _dominance(y, condition, n_conditions) / (n[:, None] * n[None, :])
    return AllEffects(np.asarray(d, dtype=np.float64), np.asarray(delta, dtype=np.float64))


def _dominance(y: Floats, condition: Codes, n_conditions: int) -> Floats:
    """Pairs of ratings that a wins minus those that it loses (C, C), from counts of each score."""
    steps, step = np.unique(y, return_inverse=True)
    cell = condition * len(steps) + step
    counts = np.bincount(cell, minlength=n_conditions * len(steps)).astype(np.float64)
    counts = counts.reshape(n_conditions, len(steps))
    upto = np.cumsum(counts, axis=1)
    balance = upto - counts - (upto[:, -1:] - upto)  # of each condition: below minus above a step
    return np.asarray(counts @ balance.T, dtype=np.float64)


def delta_size(delta: float) -> str:
    """Negligible, small, medium or large, from .147, .33 and .474 on (Romano et al. 2006)."""
    return next(word for least, word in LEAST_DELTAS if abs(delta) >= least)


ONE_CLUSTER = "one rater or item only: how they differ cannot be estimated"
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
        return Effect(COHEN_D, d, None, None, level, ONE_CLUSTER)
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
        return Effect(CLIFFS_DELTA, delta, None, None, level, ONE_CLUSTER)
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

    None for the last where a side has one rater or one item. It is that of the difference between
    the first side's parts and the other's with their sign turned: where a rater's level adds to
    one and takes from the other, what the rater adds to both cancels.
    """
    side = (~first).astype(np.int64)
    sign = np.array([1.0, -1.0])
    means = clustered(part * (sign * np.bincount(side))[side], side, rater, item, 2)
    variance, df = variances_and_df(sign[None], means)
    few = min(means.n_raters.min(), means.n_items.min()) < 2
    return float(variance[0]), float(df[0]), None if few else float(least_df(sign[None], means)[0])
