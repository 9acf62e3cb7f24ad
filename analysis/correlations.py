"""Correlation coefficients of two arrays: values, intervals of Fisher, bootstrap over units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special, stats

from analysis.intervals import Floats

OVER_STIMULI = "bootstrap over stimuli, percentile"
FISHER = {
    "pearson": "Fisher z, variance 1/(n-3)",
    "spearman": "Fisher z, variance (1+r²/2)/(n-3) (Bonett-Wright)",
    "kendall": "Fisher z, variance 0.437/(n-4) (Fieller)",
}
_CHUNK = 200


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


def bootstrap_replicates(
    statistic: str, x: Floats, y: Floats, rng: np.random.Generator, replicates: int
) -> Floats:
    """The coefficient (B,) over units drawn with replacement; NaN where it is undefined."""
    if statistic == "kendall":
        return _kendall_replicates(x, y, rng, replicates)
    parts = []
    for start in range(0, replicates, _CHUNK):
        drawn = rng.integers(0, len(x), size=(min(_CHUNK, replicates - start), len(x)))
        a, b = x[drawn], y[drawn]
        if statistic == "spearman":
            a, b = stats.rankdata(a, axis=1), stats.rankdata(b, axis=1)
        parts.append(_row_pearson(a, b))
    return np.concatenate(parts)


def _row_pearson(a: Floats, b: Floats) -> Floats:
    constant = (np.ptp(a, axis=1) == 0) | (np.ptp(b, axis=1) == 0)
    a = a - a.mean(axis=1, keepdims=True)
    b = b - b.mean(axis=1, keepdims=True)
    size = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    size[constant] = 1.0
    r = np.clip((a * b).sum(axis=1) / size, -1.0, 1.0)
    return np.asarray(np.where(constant, np.nan, r), dtype=np.float64)


def _kendall_replicates(x: Floats, y: Floats, rng: np.random.Generator, replicates: int) -> Floats:
    """tau-b from multiplicities w: w'Sw / sqrt(w'|Sx|w w'|Sy|w), S the product of the signs."""
    n = len(x)
    sign_x = np.sign(x[:, None] - x[None, :])
    sign_y = np.sign(y[:, None] - y[None, :])
    drawn = rng.integers(0, n, size=(replicates, n)) + np.arange(replicates)[:, None] * n
    w = np.bincount(drawn.reshape(-1), minlength=replicates * n).reshape(replicates, n)
    w = w.astype(np.float64)
    agree = ((w @ (sign_x * sign_y)) * w).sum(axis=1)
    untied_x = ((w @ np.abs(sign_x)) * w).sum(axis=1)
    untied_y = ((w @ np.abs(sign_y)) * w).sum(axis=1)
    size = np.sqrt(untied_x * untied_y)
    undefined = np.full(replicates, np.nan)
    return np.asarray(np.divide(agree, size, out=undefined, where=size > 0), dtype=np.float64)
