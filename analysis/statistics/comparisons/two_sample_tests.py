"""Tests of two samples: independent (Welch, Student, Mann-Whitney) or matched (t, Wilcoxon)."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from analysis.arrays import Floats
from analysis.statistics.comparisons.effect_sizes import (
    cliffs_delta,
    cohen_d,
    cohen_d_paired,
    no_spread,
)
from analysis.statistics.comparisons.test_result import RATINGS, TestResult, Undefined, finite

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


PAIRED_T, WILCOXON = "paired t test", "Wilcoxon signed rank test"
TOO_FEW_PAIRS = "fewer than two units have both conditions: no paired test"
MOST_FOR_HODGES_LEHMANN = 2000
_PAIRED_MOST_EXACT = 50


def paired_t(a: ArrayLike, b: ArrayLike, level: float = 0.95, unit: str = "raters") -> TestResult:
    """t test of the mean of a - b over n units (Student 1908); effect: d_z."""
    d = _differences(a, b)
    result = TestResult(PAIRED_T, "t", n=(len(d),), level=level, unit=unit)
    if len(d) < 2:
        return replace(result, note=TOO_FEW_PAIRS)
    mean = float(np.mean(d))
    result = replace(result, estimand="mean difference", estimate=mean)
    if no_spread(d):
        return replace(result, note="the differences are all equal: a test is undefined")
    test = stats.ttest_1samp(d, 0.0)
    result = with_t_test(result.with_effect(cohen_d_paired(d, level)), test)
    return replace(result, df=len(d) - 1)


def wilcoxon(a: ArrayLike, b: ArrayLike, level: float = 0.95, unit: str = "raters") -> TestResult:
    """Wilcoxon's (1945) signed rank test of a - b; V is the sum of the positive ranks (R's V).

    Zeros are dropped; p is normal with correction for ties and none for continuity. ``also`` has
    scipy's statistic (the smaller of both sums), p with continuity correction, the exact p for up
    to 50 differences without zeros and ties, and, where rounding told equal differences of means
    apart (as in R), V and p with those ties restored. ``estimate`` is the pseudomedian (Hodges and
    Lehmann 1963) up to 2,000 units; the effect is the matched rank-biserial correlation
    (V+ - V-)/(V+ + V-) (Kerby 2014).
    """
    d = _differences(a, b)
    result = TestResult(WILCOXON, "V", n=(len(d),), level=level, unit=unit)
    if len(d) < 2:
        return replace(result, note=TOO_FEW_PAIRS)
    if len(d) <= MOST_FOR_HODGES_LEHMANN:
        result = replace(result, estimand="pseudomedian of differences", estimate=_pseudomedian(d))
    nonzero = d[np.abs(d) > 1e-12 * max(1.0, float(np.max(np.abs(d))))]
    if not len(nonzero):
        why = "the two never differ: a test is undefined (every difference is dropped)"
        return replace(result, note=why)
    n, size = len(nonzero), np.abs(nonzero)
    positive, p, continuity = _signed_ranks(nonzero)
    whole = n * (n + 1) / 2
    also = {
        "W, scipy's: the smaller sum": min(positive, whole - positive),
        "p, continuity corrected": continuity,
    }
    tied = np.asarray(np.round(size / np.max(size), 12), dtype=np.float64)
    if len(np.unique(tied)) < len(np.unique(size)):
        v, p_tied, _ = _signed_ranks(np.copysign(tied, nonzero))
        also |= {"V, ties to 12 digits": v, "p, ties to 12 digits": p_tied}
    if n == len(d) <= _PAIRED_MOST_EXACT and len(np.unique(tied)) == n:
        also["p, exact"] = float(stats.wilcoxon(nonzero, method="exact").pvalue)
    return replace(
        result,
        statistic=positive,
        p=p,
        effect_name="rank-biserial correlation",
        effect=2 * positive / whole - 1,
        note=f"{len(d) - n} of {len(d)} differences are 0 and dropped" if n < len(d) else "",
        also=also,
    )


def _differences(a: ArrayLike, b: ArrayLike) -> Floats:
    x, y = finite(a, b)
    if x.shape != y.shape:
        raise Undefined(f"{len(x)} values against {len(y)}: matched values come in pairs")
    return np.asarray(x - y, dtype=np.float64)


def _pseudomedian(d: Floats) -> float:
    first, second = np.triu_indices(len(d))
    return float(np.median((d[first] + d[second]) / 2))


def _signed_ranks(d: Floats) -> tuple[float, float, float]:
    """The sum of the positive ranks of d (n,), p without and p with continuity correction."""
    normal: dict[str, Any] = {"method": "asymptotic"}  # which SciPy's stubs do not know
    above = stats.wilcoxon(d, alternative="greater", **normal)  # its W is V
    plain, continuity = (
        stats.wilcoxon(d, correction=corrected, **normal) for corrected in (False, True)
    )
    return float(above.statistic), float(plain.pvalue), min(1.0, float(continuity.pvalue))
