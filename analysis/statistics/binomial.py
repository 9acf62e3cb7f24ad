"""Exact binomial bounds and test of a share of n answers, where n is an effective number."""

from __future__ import annotations

import numpy as np
from scipy import special

from analysis.arrays import Codes


def exact_bounds(share: float, n: float, level: float) -> tuple[float, float]:
    """Clopper and Pearson's (1934) interval of a share of n answers; n need not be whole."""
    x, tail = share * n, (1 - level) / 2
    low = float(special.betaincinv(x, n - x + 1, tail)) if x > 0 else 0.0
    high = float(special.betaincinv(x + 1, n - x, 1 - tail)) if x < n else 1.0
    return low, high


def sign_test(share: float, n: float) -> float:
    """Two-sided exact binomial p of a share of n answers against one half; n need not be whole."""
    x = max(share, 1 - share) * n
    return min(1.0, 2 * float(special.betainc(x, n - x + 1, 0.5)))


def effective(groups: Codes) -> float:
    """n²/Σn_g² of group codes (n,): the number of groups where they are of equal size."""
    counts = np.bincount(groups).astype(np.float64)
    return float(counts.sum() ** 2 / np.sum(counts**2))
