"""How well an automatic score stands in for people: five measures, rank distance, Williams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from analysis.agreement import kappa
from analysis.agreement.kappa import FIVE
from analysis.correlations import OVER_STIMULI, bootstrap_replicates, correlation
from analysis.intervals import Floats, naive_interval, percentile_interval

MEASURES = ("plcc", "srcc", "krcc", "qwk", "mae")
_STATISTICS = {"plcc": "pearson", "srcc": "spearman", "krcc": "kendall"}
T_OVER_STIMULI = "t over stimuli"
NOTHING = (None, None)
UNDEFINED = "the score or the human means are all equal: undefined"


@dataclass(frozen=True)
class Alignment:
    """One measure of a predictor against human means over n clips; None where undefined."""

    measure: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    interval: str
    note: str = ""

    def row(self) -> dict[str, Any]:
        """The measure as one flat row of plain values."""
        return asdict(self)


def alignment(
    predicted: Floats,
    human: Floats,
    *,
    categories: Sequence[float] = FIVE,
    level: float = 0.95,
    replicates: int = 500,
    seed: int = 0,
) -> list[Alignment]:
    """Five rows (in the order of ``MEASURES``) for scores (n,) and human means (n,) of n clips.

    plcc, srcc, krcc (tau-b) in -1..1; qwk rounds both sides half up to ``categories`` and is 0 for
    a constant score; mae in score units, not rounded. Intervals: bootstrap over clips
    (percentile), of mae t over clips. LFS-Bench, Tables 4 and 5. Raises ValueError for other
    than two equal lengths of at least 3.
    """
    x, y = np.asarray(predicted, dtype=np.float64), np.asarray(human, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1 or len(x) < 3:
        raise ValueError("give one score and one human mean for each of at least 3 clips")
    found = []
    for measure, statistic in _STATISTICS.items():
        value = correlation(statistic, x, y)
        again = bootstrap_replicates(statistic, x, y, np.random.default_rng(seed), replicates)
        bounds = percentile_interval(again, level) if value is not None else None
        note = UNDEFINED if value is None else ""
        low, high = bounds or NOTHING
        found.append(Alignment(measure, value, low, high, len(x), OVER_STIMULI, note))
    told = kappa(x, y, categories=categories, level=level, replicates=replicates, seed=seed)
    found.append(Alignment("qwk", told.value, told.low, told.high, len(x), OVER_STIMULI, told.note))
    apart = np.abs(x - y)
    low, high = naive_interval(apart, level) or NOTHING
    found.append(Alignment("mae", float(apart.mean()), low, high, len(x), T_OVER_STIMULI))
    return found


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
