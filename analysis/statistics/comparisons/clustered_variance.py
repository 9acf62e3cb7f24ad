"""Variances and degrees of freedom of clustered means and of their contrasts.

Variances are clustered by raters and items (Cameron, Gelbach and Miller 2011) with a factor
G / (G - 1) for each; t has degrees of freedom after Satterthwaite (1946).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.statistics.intervals import Clustered

_LEAST_DF = 0.5
_LEAST_SHARE, _ROUNDING = 1e-6, 1e-9


@dataclass(frozen=True)
class Spread:
    """Variances and degrees of freedom (m,) of m contrasts of clustered means.

    ``each`` (C,) is what the correlation of contrasts is taken from: variances of the C means as
    if they were independent.
    """

    variance: Floats
    df: Floats
    each: Floats


def spread_of(contrasts: Floats, means: Clustered) -> Spread:
    """All of contrasts (m, C); two raters and items or more."""
    by_rater, by_item = _factors(means)
    covariance = means.by_rater * np.outer(by_rater, by_rater)
    covariance += means.by_item * np.outer(by_item, by_item)
    each = _as_if_independent(contrasts, covariance)
    return Spread(*variances_and_df(contrasts, means), each)


def variances_and_df(contrasts: Floats, means: Clustered) -> tuple[Floats, Floats]:
    """Variances and degrees of freedom (m,) of contrasts (m, C): all that some analyses need.

    V = V_raters + V_items - V_both with the factors R/(R-1) and I/(I-1) of each condition, which
    makes it the unbiased one of a balanced two-way layout; at least the larger one-way variance.
    df = 1 / (r²/(R-1) + i²/(I-1)) (Satterthwaite), at least the smaller of R-1 and I-1, where r
    and i are the shares of raters and items in V: the contrast's own or the family's, whichever is
    larger, since few groups may show too small a share by chance. R and I are effective numbers, so
    that a few raters with most of the ratings count as few; below two there is no more than R - 1.
    """
    raters, items = _less_one(means.effective_raters), _less_one(means.effective_items)
    by_rater, by_item = _factors(means)
    both = means.by_rater + means.by_item - means.by_both
    parts = (
        _quadratic(contrasts, means.by_rater, by_rater),
        _quadratic(contrasts, means.by_item, by_item),
        _quadratic(contrasts, both, by_rater * by_item),
    )
    involved = contrasts != 0
    dr = np.where(involved, raters, np.inf).min(axis=1, initial=np.inf)
    di = np.where(involved, items, np.inf).min(axis=1, initial=np.inf)
    return _variance_and_df(*parts, dr, di)


def spread_of_means(means: Clustered) -> tuple[Floats, Floats]:
    """Variances and degrees of freedom (C,) of the means themselves, as `spread_of` has them."""
    raters, items = _less_one(means.effective_raters), _less_one(means.effective_items)
    rater, item, both = (np.diag(part) for part in (means.by_rater, means.by_item, means.by_both))
    two_way = (rater + item - both) * (1 + 1 / raters) ** 0.5 * (1 + 1 / items) ** 0.5
    parts = rater * (1 + 1 / raters), item * (1 + 1 / items), two_way
    return _variance_and_df(*parts, raters, items)


def _variance_and_df(
    rater: Floats, item: Floats, two_way: Floats, dr: Floats, di: Floats
) -> tuple[Floats, Floats]:
    variance = np.maximum.reduce([two_way, rater, item])
    share = _share(rater, variance) ** 2 / dr + _share(item, variance) ** 2 / di
    least = np.minimum(dr, di)
    enough = (share > 0) & (least >= 1 - _ROUNDING)
    df = np.maximum(least, np.divide(1.0, share, out=least.copy(), where=enough))
    return variance, df


def variance_and_df(means: Clustered, a: int, b: int | None = None) -> tuple[float, float]:
    """Variance and degrees of freedom of mean a, or of mean a - mean b, by itself."""
    if b is None:
        rater, item, both = (
            float(part[a, a]) for part in (means.by_rater, means.by_item, means.by_both)
        )
        raters, items = float(means.effective_raters[a]), float(means.effective_items[a])
        return spread_of_one(rater, item, both, raters, items)
    row = np.zeros((1, len(means.value)))
    row[0, a], row[0, b] = 1.0, -1.0
    variance, df = variances_and_df(row, means)
    return float(variance[0]), float(df[0])


def spread_of_one(
    by_rater: float, by_item: float, by_both: float, raters: float, items: float
) -> tuple[float, float]:
    """Variance and degrees of freedom, as `spread_of` has them, of a single clustered number.

    ``raters`` and ``items`` are effective numbers.
    """
    counts = np.array([raters, items], dtype=np.float64)
    dr, di = _less_one(counts).tolist()
    two_way = (by_rater + by_item - by_both) * (1 + 1 / dr) ** 0.5 * (1 + 1 / di) ** 0.5
    parts = (by_rater * (1 + 1 / dr), by_item * (1 + 1 / di), two_way, dr, di)
    variance, df = _variance_and_df(*(np.array([float(part)]) for part in parts))
    return float(variance[0]), float(df[0])


def two_way_sums(contribution: Floats, rater: Codes, item: Codes) -> tuple[float, float, float]:
    """Σ over raters, over items, and over both, of the squared sum of contributions (n,)."""
    by_rater, by_item, by_both = (
        float(np.sum(np.bincount(groups, contribution) ** 2))
        for groups in (rater, item, both_codes(rater, item))
    )
    return by_rater, by_item, by_both


def both_codes(rater: Codes, item: Codes) -> Codes:
    """Codes (n,) of the rater-and-item groups."""
    joint = rater * (int(item.max(initial=0)) + 1) + item
    return np.asarray(np.unique(joint, return_inverse=True)[1], dtype=np.int64)


def _as_if_independent(contrasts: Floats, covariance: Floats) -> Floats:
    """Variances of independent means (C,) whose differences vary like those with the covariance.

    With few items an estimated covariance has few dimensions, and its contrasts seem to be more
    alike than they are. Least squares over all pairs of the conditions involved, for differences;
    for single means their own variances, which leaves out what shared raters bring.
    """
    own = np.diag(covariance).copy()
    at = np.flatnonzero((contrasts != 0).any(axis=0))
    if len(at) > 2 and np.allclose(contrasts.sum(axis=1), 0):
        among = covariance[np.ix_(at, at)]
        sums = len(at) * np.diag(among) + np.trace(among) - 2 * among.sum(axis=1)
        own[at] = (sums - sums.sum() / (2 * len(at) - 2)) / (len(at) - 2)
    largest = float(own[at].max(initial=0.0))
    return np.asarray(np.maximum(own, _LEAST_SHARE * largest), dtype=np.float64)


def _factors(means: Clustered) -> tuple[Floats, Floats]:
    """The roots (C,) of R/(R-1) and of I/(I-1)."""
    raters, items = _less_one(means.effective_raters), _less_one(means.effective_items)
    return np.sqrt(1 + 1 / raters), np.sqrt(1 + 1 / items)


def _less_one(groups: Floats) -> Floats:
    return np.asarray(np.maximum(groups - 1.0, _LEAST_DF), dtype=np.float64)


def _quadratic(rows: Floats, gram: Floats, factor: Floats) -> Floats:
    scaled = rows * factor
    return np.asarray(((scaled @ gram) * scaled).sum(axis=1), dtype=np.float64)


def _share(part: Floats, variance: Floats) -> Floats:
    """The part's share of the variance, of each contrast or of all, whichever is larger."""
    whole = float(variance.sum())
    own = np.divide(part, variance, out=np.zeros_like(part), where=variance > 0)
    of_all = float(part.sum()) / whole if whole > 0 else 0.0
    return np.asarray(np.maximum(own, of_all), dtype=np.float64)
