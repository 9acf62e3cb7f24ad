"""Kendall's W, the concordance of several rankings, corrected for ties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.arrays import Floats
from analysis.statistics.agreement.agreement_result import ALL_EQUAL, NOTHING, Names, Scores, coded
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.intervals import percentile_interval

BOOTSTRAP = "bootstrap over units, percentile"
FEWEST_UNITS = 10


@dataclass(frozen=True)
class Concordance(FlatRow):
    """Kendall's W (0..1) with its interval and the chi-squared test of no concordance.

    All numbers are None where undefined; ``note`` says why.
    """

    value: float | None
    low: float | None
    high: float | None
    level: float
    interval: str
    chi2: float | None
    df: int | None
    p: float | None
    n_units: int
    n_raters: int
    n_ratings: int
    note: str = ""


def kendall_w(
    unit: Names,
    rater: Names,
    score: Scores,
    *,
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
) -> Concordance:
    """W of the raters' rankings of the units that all of them rated: 0 none, 1 full concordance.

    Ratings (n,) may tie; units that a rater did not rate are left out and told. Undefined, with
    the reason, for fewer than two raters or units, or when each rater gave one score only. The
    interval resamples units and is left out under 10 units. Kendall and Gibbons (1990), Rank
    Correlation Methods, 5th ed., eq. 6.9 (ties); chi2 = k (n - 1) W.
    """
    ratings = coded(unit, rater, score)
    x, left_out = ratings.complete()
    value = None
    if not len(ratings.y):
        note = NOTHING
    elif len(ratings.raters) < 2:
        note = "one rater only: concordance is undefined"
    elif len(x) < 2:
        note = f"{len(x)} of 2 or more units needed were rated by every rater"
    else:
        value, note = _w(x), ALL_EQUAL
    if value is None:
        return Concordance(
            None, None, None, level, BOOTSTRAP, None, None, None, *ratings.counts, note
        )
    n, k = x.shape
    bounds, note = _interval(x, level, replicates, seed)
    note = "; ".join(filter(None, (left_out, note)))
    chi2 = k * (n - 1) * value
    p = float(stats.chi2.sf(chi2, n - 1))
    low, high = bounds or (None, None)
    return Concordance(value, low, high, level, BOOTSTRAP, chi2, n - 1, p, n, k, n * k, note)


def _w(x: Floats) -> float | None:
    """12 S / (k^2 (n^3 - n) - k sum of (t^3 - t)); None when every column is constant."""
    n, k = x.shape
    ranks = stats.rankdata(x, axis=0)
    spread = float(((ranks.sum(axis=1) - k * (n + 1) / 2) ** 2).sum())
    largest = k * float(((ranks - (n + 1) / 2) ** 2).sum())  # = k (k (n^3-n) - sum(t^3-t)) / 12
    return spread / largest if largest > 0 else None


def _interval(
    x: Floats, level: float, replicates: int, seed: int
) -> tuple[tuple[float, float] | None, str]:
    if len(x) < FEWEST_UNITS:
        return None, f"fewer than {FEWEST_UNITS} units: no interval"
    rng = np.random.default_rng(seed)
    drawn = [_w(x[rng.integers(0, len(x), len(x))]) for _ in range(replicates)]
    values = np.array([np.nan if w is None else w for w in drawn])
    bounds = percentile_interval(values, level)
    return bounds, "" if bounds else "too few units that differ: no interval"
