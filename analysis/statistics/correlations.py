"""Correlation coefficients of two arrays, and their intervals by Fisher's transformation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special, stats

from analysis.arrays import Floats

FISHER = {
    "pearson": "Fisher z, variance 1/(n-3)",
    "spearman": "Fisher z, variance (1+r²/2)/(n-3) (Bonett-Wright)",
    "kendall": "Fisher z, variance 0.437/(n-4) (Fieller)",
}


def correlation(statistic: str, x: Floats, y: Floats) -> float | None:
    """Pearson's r, Spearman's rho or Kendall's tau-b of x and y (n,); None where undefined."""
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    functions: dict[str, Callable[[Floats, Floats], Any]] = {
        "pearson": stats.pearsonr,
        "spearman": stats.spearmanr,
        "kendall": stats.kendalltau,
    }
    return float(functions[statistic](x, y).statistic)


def fisher_interval(
    statistic: str, value: float, n: int, level: float
) -> tuple[float, float] | None:
    """tanh(atanh(value) ± z se): Fisher (1915), Bonett and Wright (2000), Fieller et al. (1957)."""
    spare = n - (4 if statistic == "kendall" else 3)
    if spare < 1 or abs(value) >= 1 - 1e-12:
        return None
    variance = {"pearson": 1.0, "spearman": 1 + value**2 / 2, "kendall": 0.437}[statistic] / spare
    half = float(special.ndtri((1 + level) / 2)) * variance**0.5
    middle = float(np.arctanh(value))
    return float(np.tanh(middle - half)), float(np.tanh(middle + half))
