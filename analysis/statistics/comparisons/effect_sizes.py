"""Effect sizes with intervals: Cohen's d, Cliff's delta, and d of paired differences.

Ours, as SciPy has none of them. Samples are float arrays (n,), finite. `Effect.value` is None where
undefined; ``note`` says why.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from analysis.arrays import Floats
from analysis.statistics.comparisons.test_result import Effect, finite

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
    low, high = _widened(excess, t - step, t + step, step)
    return float(optimize.brentq(excess, low, high, xtol=1e-10))


def _widened(
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
