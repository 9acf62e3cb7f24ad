"""Correlations of signed comparisons that do not depend on which side of a pair is named first.

A pair A, B with the difference d of a metric and the preference p of raters is (d, p), or
(-d, -p) where B is named first. Naming is arbitrary, and an ordinary coefficient changes with it,
as the means that it takes away do. Here each pair counts in both orders: the 2n points (d, p) and
(-d, -p). Pearson's coefficient of these is sum(dp) / sqrt(sum(d²) sum(p²)), the cosine; Spearman's
is the same of `signed_ranks`; Kendall's counts a pair of pairs in all four orders.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from analysis.arrays import Floats


def in_both_orders(values: Floats, axis: int = -1) -> Floats:
    """Signed values (…, n) and their negatives as (…, 2n) along the axis."""
    return np.concatenate([values, -values], axis=axis)


def signed_ranks(values: Floats, axis: int = -1) -> Floats:
    """Ranks of signed values among these and their negatives, about their middle.

    sign(v) (r - 1/2), r being the midrank of |v|; 0 of a 0.
    """
    ranks = stats.rankdata(np.abs(values), axis=axis) - 0.5
    return np.asarray(np.sign(values) * ranks, dtype=np.float64)
