"""How two orders and two correlations differ: the normalised rank distance, Williams' test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.arrays import Floats


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
