"""Tests of two samples as if their values were independent: Welch, Student, Mann-Whitney.

Samples are finite float arrays (n,). The results are R's t.test and wilcox.test.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from analysis.arrays import Floats
from analysis.statistics.comparisons.effect_sizes import cliffs_delta, cohen_d, no_spread
from analysis.statistics.comparisons.test_result import (
    RATINGS,
    TestResult,
    finite,
    refused,
    warning_of,
)
from analysis.statistics.intervals import t_interval

WELCH, STUDENT, MANN_WHITNEY = "Welch t test", "Student t test", "Mann-Whitney U test"
TOO_FEW = "fewer than two values on one side: no test"
NO_SPREAD = "the values of each side are all equal: a test is undefined (0/0)"
_MOST_EXACT = 50


def welch_t(a: ArrayLike, b: ArrayLike, level: float = 0.95, unit: str = RATINGS) -> TestResult:
    """Welch's (1947) t test of mean a - mean b, unequal variances; effect: Cohen's d, pooled SD."""
    return _t_test(WELCH, a, b, level, unit, pooled=False)


def student_t(a: ArrayLike, b: ArrayLike, level: float = 0.95, unit: str = RATINGS) -> TestResult:
    """Student's (1908) t test of mean a - mean b, equal variances; effect: Cohen's d, pooled SD."""
    return _t_test(STUDENT, a, b, level, unit, pooled=True)


def mann_whitney(
    a: ArrayLike, b: ArrayLike, level: float = 0.95, unit: str = RATINGS
) -> TestResult:
    """Mann and Whitney's (1947) U of the first sample: pairs that a wins, ties as halves.

    ``p`` is the normal one with correction for ties and none for continuity (R: exact=FALSE,
    correct=FALSE); ``also`` has it with continuity, and the exact one for up to 50 values a side
    without ties. ``estimate`` is P(a > b) + P(tie)/2 with the interval of Cliff's delta.
    """
    x, y = finite(a, b)
    n, m = len(x), len(y)
    common: dict[str, Any] = {"unit": unit, "warning": warning_of(unit), "level": level}
    if min(n, m) < 1:
        return refused(MANN_WHITNEY, "U", (n, m), "no value on one side: no test", **common)
    both = np.concatenate([x, y])
    delta = cliffs_delta(x, y, level)
    share = (0.5 + delta.value / 2) if delta.value is not None else None
    common |= {
        "estimand": "P(first above second), ties as halves",
        "estimate": share,
        "effect_name": delta.name,
        "effect": delta.value,
        "effect_low": delta.low,
        "effect_high": delta.high,
    }
    if no_spread(both):
        why = "all values are equal: a test is undefined (0/0)"
        return refused(MANN_WHITNEY, "U", (n, m), why, **common)
    ranks = stats.rankdata(both)
    u = float(np.sum(ranks[:n])) - n * (n + 1) / 2
    sd = (n * m / 12 * (n + m + 1 - tie_sum(both) / ((n + m) * (n + m - 1)))) ** 0.5
    away = abs(u - n * m / 2)
    also = {"p, continuity corrected": float(2 * stats.norm.sf(max(away - 0.5, 0.0) / sd))}
    also["p, continuity corrected"] = min(1.0, also["p, continuity corrected"])
    if max(n, m) <= _MOST_EXACT and len(np.unique(both)) == n + m:
        also["p, exact"] = float(stats.mannwhitneyu(x, y, method="exact").pvalue)
    return TestResult(
        MANN_WHITNEY,
        "U",
        u,
        None,
        float(2 * stats.norm.sf(away / sd)),
        (n, m),
        low=None if delta.low is None else 0.5 + delta.low / 2,
        high=None if delta.high is None else 0.5 + delta.high / 2,
        note=delta.note,
        also=also,
        **common,
    )


def tie_sum(values: Floats) -> float:
    """Σ (t³ - t) over groups of t equal values, which corrects variances of ranks."""
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float(np.sum(counts**3 - counts))


def _t_test(
    name: str, a: ArrayLike, b: ArrayLike, level: float, unit: str, *, pooled: bool
) -> TestResult:
    x, y = finite(a, b)
    n, m = len(x), len(y)
    common: dict[str, Any] = {"unit": unit, "warning": warning_of(unit), "level": level}
    if min(n, m) < 2:
        return refused(name, "t", (n, m), TOO_FEW, **common)
    difference = float(np.mean(x)) - float(np.mean(y))
    common |= {"estimand": "difference of means", "estimate": difference}
    if no_spread(x) and no_spread(y):
        return refused(name, "t", (n, m), NO_SPREAD, **common)
    vx, vy = float(np.var(x, ddof=1)), float(np.var(y, ddof=1))
    if pooled:
        df = float(n + m - 2)
        se = (((n - 1) * vx + (m - 1) * vy) / df * (1 / n + 1 / m)) ** 0.5
    else:
        sx, sy = vx / n, vy / m
        df = (sx + sy) ** 2 / (sx**2 / (n - 1) + sy**2 / (m - 1))
        se = (sx + sy) ** 0.5
    low, high = t_interval(difference, se, df, level)
    effect = cohen_d(x, y, level)
    return TestResult(
        name,
        "t",
        difference / se,
        df,
        float(2 * stats.t.sf(abs(difference) / se, df)),
        (n, m),
        low=low,
        high=high,
        effect_name=effect.name,
        effect=effect.value,
        effect_low=effect.low,
        effect_high=effect.high,
        **common,
    )
