"""Tests of two samples as if their values were independent: Welch, Student, Mann-Whitney.

Samples are finite float arrays (n,). The results are R's t.test and wilcox.test, by SciPy; ours
are the sentences where SciPy gives NaN, and the effect sizes.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from analysis.statistics.comparisons.effect_sizes import cliffs_delta, cohen_d, no_spread
from analysis.statistics.comparisons.test_result import RATINGS, TestResult, finite

WELCH, STUDENT, MANN_WHITNEY = "Welch t test", "Student t test", "Mann-Whitney U test"
TOO_FEW = "fewer than two values on one side: no test"
NO_SPREAD = "the values of each side are all equal: a test is undefined (0/0)"
_MOST_EXACT = 50


def welch_t(a: ArrayLike, b: ArrayLike, level: float = 0.95, unit: str = RATINGS) -> TestResult:
    """Welch's (1947) t test of mean a - mean b, unequal variances; effect: Cohen's d, pooled SD."""
    return _t_test(WELCH, a, b, level, unit)


def student_t(a: ArrayLike, b: ArrayLike, level: float = 0.95, unit: str = RATINGS) -> TestResult:
    """Student's (1908) t test of mean a - mean b, equal variances; effect: Cohen's d, pooled SD."""
    return _t_test(STUDENT, a, b, level, unit)


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
    result = TestResult(MANN_WHITNEY, "U", n=(n, m), level=level, unit=unit)
    if min(n, m) < 1:
        return replace(result, note="no value on one side: no test")
    delta = cliffs_delta(x, y, level)
    result = replace(
        result.with_effect(delta),
        estimand="P(first above second), ties as halves",
        estimate=None if delta.value is None else 0.5 + delta.value / 2,
    )
    both = np.concatenate([x, y])
    if no_spread(both):
        return replace(result, note="all values are equal: a test is undefined (0/0)")
    plain, continuity = (
        stats.mannwhitneyu(x, y, use_continuity=corrected, method="asymptotic")
        for corrected in (False, True)
    )
    also = {"p, continuity corrected": float(continuity.pvalue)}
    if max(n, m) <= _MOST_EXACT and len(np.unique(both)) == n + m:
        also["p, exact"] = float(stats.mannwhitneyu(x, y, method="exact").pvalue)
    return replace(
        result,
        statistic=float(plain.statistic),
        p=float(plain.pvalue),
        low=None if delta.low is None else 0.5 + delta.low / 2,
        high=None if delta.high is None else 0.5 + delta.high / 2,
        note=delta.note,
        also=also,
    )


def _t_test(name: str, a: ArrayLike, b: ArrayLike, level: float, unit: str) -> TestResult:
    x, y = finite(a, b)
    n, m = len(x), len(y)
    result = TestResult(name, "t", n=(n, m), level=level, unit=unit)
    if min(n, m) < 2:
        return replace(result, note=TOO_FEW)
    difference = float(np.mean(x)) - float(np.mean(y))
    result = replace(result, estimand="difference of means", estimate=difference)
    if no_spread(x) and no_spread(y):
        return replace(result, note=NO_SPREAD)
    with warnings.catch_warnings():  # SciPy warns where one side alone is constant: it may be
        warnings.simplefilter("ignore", RuntimeWarning)
        test = stats.ttest_ind(x, y, equal_var=name == STUDENT)
    return with_t_test(result.with_effect(cohen_d(x, y, level)), test)


def with_t_test(result: TestResult, test: Any) -> TestResult:
    """The result with statistic, df, p and interval of SciPy's t test."""
    low, high = test.confidence_interval(result.level)
    return replace(
        result,
        statistic=float(test.statistic),
        df=float(test.df),
        p=float(test.pvalue),
        low=float(low),
        high=float(high),
    )
