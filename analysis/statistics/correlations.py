"""Correlations of two arrays, their intervals and differences; and of pairs in both orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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


def in_both_orders(values: Floats) -> Floats:
    """Signed values (…, n) and their negatives as (…, 2n)."""
    return np.concatenate([values, -values], axis=-1)


def signed_ranks(values: Floats, axis: int = -1) -> Floats:
    """Ranks of signed values among these and their negatives, about their middle.

    sign(v) (r - 1/2), r being the midrank of |v|; 0 of a 0.
    """
    ranks = stats.rankdata(np.abs(values), axis=axis) - 0.5
    return np.asarray(np.sign(values) * ranks, dtype=np.float64)


@dataclass(frozen=True)
class RankDistance:
    """The normalised Kendall distance of two orders of n things, with the p of their agreement."""

    distance: float
    p: float | None
    n: int


def rank_distance(a: Floats, b: Floats) -> RankDistance:
    """The share of the pairs of n things (0 to 1) that two scores (n,) put in opposite order.

    A pair that one score leaves tied counts half, one that both leave tied not at all as opposite.
    0: the same order, 0.5: none in common, 1: reversed. ``p`` tests that the orders have nothing
    in common (Kendall's tau-b, exact without ties up to 50 things); None where undefined. Audio
    Turing Test, Table 4. Raises ValueError below 2 things.
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if x.shape != y.shape or len(x) < 2:
        raise ValueError("give two scores for each of at least 2 things")
    above = np.triu_indices(len(x), 1)
    one = np.sign(x[:, None] - x[None, :])[above]
    other = np.sign(y[:, None] - y[None, :])[above]
    half = (one == 0) != (other == 0)
    distance = float(((one * other < 0) + 0.5 * half).mean())
    flat = np.ptp(x) == 0 or np.ptp(y) == 0
    p = None if flat or len(x) < 3 else float(stats.kendalltau(x, y).pvalue)
    return RankDistance(distance, p, len(x))


@dataclass(frozen=True)
class Williams:
    """The test that two scores correlate equally with a third: difference of r, t and p."""

    difference: float
    t: float
    df: int
    p: float


def williams(first: Floats, second: Floats, human: Floats) -> Williams | None:
    """Williams' test (Steiger 1980, eq. 7) of r(first, human) - r(second, human), arrays (n,).

    Two-sided, n - 3 degrees of freedom. None where a correlation is undefined, the two scores are
    equal, or n < 4.
    """
    n = len(human)
    if n < 4 or any(np.ptp(each) == 0 for each in (first, second, human)):
        return None
    r = np.corrcoef([human, first, second])
    r12, r13, r23 = r[0, 1], r[0, 2], r[1, 2]
    if r23 > 1 - 1e-12:
        return None
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    mean = (r12 + r13) / 2
    below = 2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - r23) ** 3
    t = (r12 - r13) * np.sqrt((n - 1) * (1 + r23) / below)
    return Williams(float(r12 - r13), float(t), n - 3, float(2 * stats.t.sf(abs(t), n - 3)))
