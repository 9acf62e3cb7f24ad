"""The tests that papers use, by name, on coded ratings: pairs of conditions, or all at once.

Samples are finite float arrays (n_i,); a matrix is (units, conditions), complete, one value per
rater or item and condition. A post-hoc result is a list of `PostHoc`, one for every pair.

ANOVA and Kruskal-Wallis are SciPy's. Friedman is ours, as SciPy's refuses two conditions, and so is
what follows: scikit-posthocs gives the same p without statistics, and brings statsmodels along.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, stats

from analysis.arrays import Codes, Floats
from analysis.statistics.comparisons.effect_sizes import no_spread
from analysis.statistics.comparisons.p_adjustment import adjust_p, tukey
from analysis.statistics.comparisons.pairwise_contrasts import Pair, all_pairs
from analysis.statistics.comparisons.test_result import RATINGS, TestResult, Undefined, finite
from analysis.statistics.comparisons.two_sample_tests import (
    mann_whitney,
    paired_t,
    student_t,
    welch_t,
    wilcoxon,
)

ANOVA, KRUSKAL, FRIEDMAN = "one-way ANOVA", "Kruskal-Wallis test", "Friedman test"
TOO_FEW = "fewer than two conditions, or no two values in any: no test"
TOO_FEW_UNITS = "fewer than two units have every condition, or fewer than two conditions"
ALL_EQUAL = "all values are equal: a test is undefined (0/0)"


@dataclass(frozen=True)
class PostHoc:
    """A pair of conditions (by place) after a test of all: mean ranks' difference, statistic, p.

    ``p_adjusted`` equals p where the statistic accounts for all pairs already (Nemenyi).
    """

    first: int
    second: int
    estimate: float
    statistic: float
    p: float
    p_adjusted: float
    test: str
    adjustment: str


def anova(samples: Sequence[ArrayLike], level: float = 0.95, unit: str = RATINGS) -> TestResult:
    """One-way ANOVA (Fisher 1925): F on k - 1 and N - k; effect ω²; ``also`` η²."""
    groups = _groups(samples)
    result = TestResult(ANOVA, "F", n=tuple(map(len, groups)), level=level, unit=unit)
    df, df2 = len(groups) - 1, sum(result.n) - len(groups)
    if df < 1 or df2 < 1:
        return replace(result, note=TOO_FEW)
    if all(no_spread(group) for group in groups):
        why = "the values of each condition are all equal: a test is undefined"
        return replace(result, note=why)
    test = stats.f_oneway(*groups)
    f = float(test.statistic)
    return replace(
        result,
        statistic=f,
        df=df,
        df2=df2,
        p=float(test.pvalue),
        effect_name="omega squared",
        effect=df * (f - 1) / (df * f + df2 + 1),
        also={"eta squared": df * f / (df * f + df2)},
    )


def kruskal_wallis(
    samples: Sequence[ArrayLike], level: float = 0.95, unit: str = RATINGS
) -> TestResult:
    """Kruskal and Wallis' (1952) H, tie-corrected, chi-squared on k - 1; effect ε² = H/(N - 1)."""
    groups = _groups(samples)
    n = tuple(map(len, groups))
    result = TestResult(KRUSKAL, "H", n=n, level=level, unit=unit)
    if len(n) < 2 or sum(n) <= len(n):
        return replace(result, note=TOO_FEW)
    every = np.concatenate(groups)
    if no_spread(every):
        return replace(result, note=ALL_EQUAL)
    test = stats.kruskal(*groups)
    return replace(
        result,
        statistic=float(test.statistic),
        df=len(n) - 1,
        p=float(test.pvalue),
        effect_name="epsilon squared",
        effect=float(test.statistic) / (len(every) - 1),
    )


def dunn(samples: Sequence[ArrayLike], adjustment: str = "holm") -> list[PostHoc]:
    """Dunn's (1964) z tests of mean ranks after Kruskal-Wallis, tie-corrected, p two-sided."""
    groups = _groups(samples)
    every = np.concatenate(groups) if groups else np.zeros(0)
    if len(groups) < 2 or no_spread(every):
        raise Undefined(ALL_EQUAL if len(groups) > 1 else TOO_FEW)
    total = len(every)
    ties = np.unique(every, return_counts=True)[1].astype(np.float64)
    variance = total * (total + 1) / 12 - float(np.sum(ties**3 - ties)) / (12 * (total - 1))
    means, pairs = _mean_ranks(groups), all_pairs(len(groups))
    difference = np.array([means[a] - means[b] for a, b in pairs])
    inverse = np.array([1 / len(groups[a]) + 1 / len(groups[b]) for a, b in pairs])
    z = difference / np.sqrt(variance * inverse)
    return _post_hoc("Dunn's test", pairs, difference, z, 2 * stats.norm.sf(np.abs(z)), adjustment)


def friedman(matrix: ArrayLike, level: float = 0.95, unit: str = "raters") -> TestResult:
    """Friedman's (1937) chi-squared of ranks within units, tie-corrected; effect: Kendall's W.

    ``also`` has Iman and Davenport's (1980) F and its p, which keep their size with few units.
    """
    x = _matrix(matrix)
    n, k = x.shape
    result = TestResult(FRIEDMAN, "chi-squared", n=(n,), level=level, unit=unit)
    if n < 2 or k < 2:
        return replace(result, note=f"{TOO_FEW_UNITS}: no test")
    ranks = _ranks_within(x)
    spread = float(np.sum((ranks - (k + 1) / 2) ** 2)) / (k - 1)
    if spread == 0:
        why = "every unit scores all conditions alike: a test is undefined (0/0)"
        return replace(result, note=why)
    sums = ranks.sum(axis=0)
    chi2 = float(np.sum((sums - n * (k + 1) / 2) ** 2)) / spread
    also = {}
    if chi2 < n * (k - 1) * (1 - 1e-12):
        f = (n - 1) * chi2 / (n * (k - 1) - chi2)
        also = {
            "F, Iman-Davenport": f,
            "p, Iman-Davenport": float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))),
        }
    return replace(
        result,
        statistic=chi2,
        df=k - 1,
        p=float(stats.chi2.sf(chi2, k - 1)),
        effect_name="Kendall's W",
        effect=chi2 / (n * (k - 1)),
        also=also,
    )


def nemenyi(matrix: ArrayLike) -> list[PostHoc]:
    """Nemenyi's (1963) tests of mean ranks after Friedman: studentised range, all pairs at once."""
    x = _rank_rows(matrix)
    n, k = x.shape
    means, pairs = x.mean(axis=0), all_pairs(k)
    difference = np.array([means[a] - means[b] for a, b in pairs])
    z = difference / (k * (k + 1) / (6 * n)) ** 0.5
    return _post_hoc("Nemenyi's test", pairs, difference, z, tukey(z, k), "none")


def conover(matrix: ArrayLike, adjustment: str = "holm") -> list[PostHoc]:
    """Conover's (1999, p. 371) t tests of rank sums after Friedman, on (n - 1)(k - 1) df."""
    x = _rank_rows(matrix)
    n, k = x.shape
    sums, pairs, df = x.sum(axis=0), all_pairs(k), (n - 1) * (k - 1)
    variance = 2 * (n * float(np.sum(x**2)) - float(np.sum(sums**2))) / df
    if variance <= 0:
        raise Undefined("every unit ranks the conditions alike: Conover's test has no variance")
    difference = np.array([sums[a] - sums[b] for a, b in pairs])
    t = difference / variance**0.5
    p = 2 * stats.t.sf(np.abs(t), df)
    return _post_hoc("Conover's test", pairs, difference / n, t, p, adjustment)


def _post_hoc(
    test: str,
    pairs: Sequence[tuple[int, int]],
    difference: Floats,
    statistic: Floats,
    p: Floats,
    adjustment: str,
) -> list[PostHoc]:
    p_adjusted = adjust_p([float(value) for value in p], adjustment)
    return [
        PostHoc(
            first=a,
            second=b,
            estimate=float(difference[i]),
            statistic=float(statistic[i]),
            p=float(p[i]),
            p_adjusted=float(p_adjusted[i] or 0.0),
            test=test,
            adjustment="studentised range" if test.startswith("Nemenyi") else adjustment,
        )
        for i, (a, b) in enumerate(pairs)
    ]


def _groups(samples: Sequence[ArrayLike]) -> list[Floats]:
    groups = finite(*samples)
    if any(not len(group) for group in groups):
        raise Undefined("a condition has no value: leave it out")
    return groups


def _mean_ranks(groups: Sequence[Floats]) -> Floats:
    ranks = stats.rankdata(np.concatenate(groups))
    ends = np.cumsum([len(group) for group in groups])[:-1]
    return np.array([part.mean() for part in np.split(ranks, ends)])


def _matrix(matrix: ArrayLike) -> Floats:
    x = np.asarray(matrix, dtype=np.float64)
    if x.ndim != 2 or not np.all(np.isfinite(x)):
        raise Undefined("a complete table is needed: one value per unit and condition")
    return x


def _ranks_within(x: Floats) -> Floats:
    scale = max(1.0, float(np.max(np.abs(x), initial=0.0)))
    return np.asarray(stats.rankdata(np.round(x / scale, 12), axis=1), dtype=np.float64)


def _rank_rows(matrix: ArrayLike) -> Floats:
    x = _matrix(matrix)
    if min(x.shape) < 2:
        raise Undefined(TOO_FEW_UNITS)
    return _ranks_within(x)


UNBALANCED = (
    "repeated-measures ANOVA needs one value for every unit and cell; with gaps, use a mixed model"
)


@dataclass(frozen=True)
class WithinEffect:
    """A within-unit effect: F and its p, plain and with Greenhouse and Geisser's correction.

    ``epsilon`` in [1/df, 1] shrinks both df where the differences between cells vary unequally;
    ``p_gg`` is the p to report. Effect sizes: partial η², and generalised η² (Olejnik and Algina
    2003; units and all their errors in the denominator).
    """

    effect: str
    f: float | None
    df: float
    df2: float
    p: float | None
    epsilon: float | None
    p_gg: float | None
    partial_eta2: float | None
    generalised_eta2: float | None
    n_units: int
    note: str = ""


def rm_anova(values: ArrayLike, factors: tuple[str, ...] = ("condition",)) -> list[WithinEffect]:
    """The effects of one factor, values (units, a), or of two and their interaction, (units, a, b).

    Each F has the effect's interaction with units as its error, as R's aov with
    Error(unit/(a*b)). Raises Undefined for gaps, fewer than two units, or a factor of one level.
    Source: Winer, Brown and Michels (1991), ch. 4 and 7; ε: Greenhouse and Geisser (1959).
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != len(factors) + 1 or x.ndim not in (2, 3):
        raise Undefined("values are (units, levels) or (units, levels, levels), one name a factor")
    if not np.all(np.isfinite(x)):
        raise Undefined(UNBALANCED)
    if min(x.shape) < 2:
        raise Undefined("fewer than two units or levels: no repeated-measures ANOVA")
    bases = [_contrasts(levels) for levels in x.shape[1:]]
    means = [np.full((1, levels), levels**-0.5) for levels in x.shape[1:]]
    if len(factors) == 1:
        parts = {factors[0]: bases[0]}
    else:
        parts = {
            factors[0]: _kron(bases[0], means[1]),
            factors[1]: _kron(means[0], bases[1]),
            ":".join(factors): _kron(bases[0], bases[1]),
        }
    flat = x.reshape(len(x), -1)
    errors = _sum_squares(flat.mean(axis=1, keepdims=True) - flat.mean()) * flat.shape[1]
    scores = {name: flat @ basis.T for name, basis in parts.items()}
    errors += sum(_sum_squares(z - z.mean(axis=0)) for z in scores.values())
    dust = 1e-20 * max(1.0, _sum_squares(flat))
    return [_effect(name, z, errors, dust) for name, z in scores.items()]


def _effect(name: str, z: Floats, errors: float, dust: float) -> WithinEffect:
    """An effect from its orthonormal contrasts in every unit, z (units, df)."""
    n, df = z.shape
    df2 = df * (n - 1)
    between = n * _sum_squares(z.mean(axis=0))
    around = _sum_squares(z - z.mean(axis=0))
    if around <= dust:
        note = "the effect is the same in every unit: a test is undefined"
        return WithinEffect(name, None, df, df2, None, None, None, None, None, n, note)
    f = between / df / (around / df2)
    s = np.atleast_2d(np.cov(z, rowvar=False))
    epsilon = float(np.trace(s)) ** 2 / (df * _sum_squares(s))
    return WithinEffect(
        effect=name,
        f=f,
        df=df,
        df2=df2,
        p=float(stats.f.sf(f, df, df2)),
        epsilon=epsilon,
        p_gg=float(stats.f.sf(f, epsilon * df, epsilon * df2)),
        partial_eta2=between / (between + around),
        generalised_eta2=between / (between + errors),
        n_units=n,
    )


def _contrasts(levels: int) -> Floats:
    """Orthonormal contrasts of the levels (levels - 1, levels)."""
    return np.asarray(linalg.helmert(levels), dtype=np.float64)


def _sum_squares(values: Floats) -> float:
    return float(np.sum(values**2))


def _kron(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.kron(a, b), dtype=np.float64)


MEANS = ("raters", "items")
INDEPENDENT: dict[str, Callable[..., TestResult]] = {
    "welch": welch_t,
    "student": student_t,
    "mann_whitney": mann_whitney,
}
MATCHED: dict[str, Callable[..., TestResult]] = {"paired_t": paired_t, "wilcoxon": wilcoxon}
OF_ALL: dict[str, Callable[..., TestResult]] = {"anova": anova, "kruskal": kruskal_wallis}
PAIR_TESTS = (*INDEPENDENT, *MATCHED)
GROUP_TESTS = (*OF_ALL, "friedman", "rm_anova")
RM_ANOVA = "repeated-measures ANOVA"


class Scores(Protocol):
    """Ratings as arrays (n,): scores, and codes of condition (of ``names``), rater and item."""

    @property
    def names(self) -> Sequence[str]: ...
    @property
    def y(self) -> Floats: ...
    @property
    def condition(self) -> Codes: ...
    @property
    def rater(self) -> Codes: ...
    @property
    def item(self) -> Codes: ...


@dataclass(frozen=True)
class PairTest:
    """A named test of ``condition`` against ``versus``, with its p adjusted over the family."""

    condition: str
    versus: str
    result: TestResult
    p_adjusted: float | None
    adjustment: str

    def row(self) -> dict[str, Any]:
        """The test as one flat row of plain values."""
        names = {"condition": self.condition, "versus": self.versus}
        return names | self.result.row() | {"p_" + self.adjustment: self.p_adjusted}


@dataclass(frozen=True)
class GroupTest:
    """A named test of all conditions, and its post-hoc tests (places are those of ``names``)."""

    names: tuple[str, ...]
    result: TestResult
    post_hoc: tuple[PostHoc, ...] = ()


def samples_of(scores: Scores, unit: str = RATINGS) -> list[Floats]:
    """The values of each condition: ratings, or means per rater or item (n_i,), in code order."""
    if unit == RATINGS:
        return [scores.y[scores.condition == code] for code in range(len(scores.names))]
    return [column[np.isfinite(column)] for column in means_table(scores, unit).T]


def means_table(scores: Scores, unit: str) -> Floats:
    """Mean score by unit (raters or items) and condition, (units, conditions); NaN where none."""
    if unit not in MEANS:
        raise Undefined(f"means are per raters or items, not {unit!r}")
    codes = scores.rater if unit == "raters" else scores.item
    _, unit_code = np.unique(codes, return_inverse=True)
    k, units = len(scores.names), int(unit_code.max(initial=-1)) + 1
    cell = unit_code * k + scores.condition
    count = np.bincount(cell, minlength=units * k)
    total = np.bincount(cell, weights=scores.y, minlength=units * k)
    means = np.divide(total, count, out=np.full(units * k, np.nan), where=count > 0)
    return np.asarray(means.reshape(units, k), dtype=np.float64)


def pair_tests(
    scores: Scores,
    test: str,
    unit: str | None = None,
    pairs: Sequence[Pair] | None = None,
    adjustment: str = "holm",
    level: float = 0.95,
) -> list[PairTest]:
    """A test of PAIR_TESTS for each pair (all by default), p adjusted over them.

    ``unit`` is ratings, raters or items (means); by default ratings, and raters for matched tests,
    which use the units that have both conditions.
    """
    if test not in PAIR_TESTS:
        raise Undefined(f"no test of pairs {test!r}; known are {', '.join(PAIR_TESTS)}")
    chosen = all_pairs(len(scores.names)) if pairs is None else pairs
    if test in MATCHED:
        results = _matched_tests(scores, test, unit or "raters", chosen, level)
    else:
        unit = unit or RATINGS
        samples = samples_of(scores, unit)
        make = INDEPENDENT[test]
        results = [make(samples[a], samples[b], level, unit) for a, b in chosen]
    p = adjust_p([result.p for result in results], adjustment)
    return [
        PairTest(scores.names[a], scores.names[b], result, p[i], adjustment)
        for i, ((a, b), result) in enumerate(zip(chosen, results, strict=True))
    ]


def group_test(
    scores: Scores,
    test: str,
    unit: str | None = None,
    level: float = 0.95,
) -> GroupTest:
    """A test of GROUP_TESTS over all conditions, with Dunn, or Nemenyi and Conover, after it."""
    if test not in GROUP_TESTS:
        raise Undefined(f"no test of all conditions {test!r}; known are {', '.join(GROUP_TESTS)}")
    names = tuple(scores.names)
    if test in OF_ALL:
        unit = unit or RATINGS
        samples = samples_of(scores, unit)
        result = OF_ALL[test](samples, level, unit)
        wanted = test == "kruskal" and result.p is not None
        return GroupTest(names, result, tuple(dunn(samples)) if wanted else ())
    unit = unit or "raters"
    table = means_table(scores, unit)
    complete = table[np.all(np.isfinite(table), axis=1)]
    left_out = len(table) - len(complete)
    note = f"{left_out} of {len(table)} {unit} lack a condition and are left out" * bool(left_out)
    if test == "rm_anova":
        return GroupTest(names, _rm_anova(complete, unit, level).noted(note))
    result = friedman(complete, level, unit).noted(note)
    if result.p is None:
        return GroupTest(names, result)
    after = nemenyi(complete)
    try:
        after += conover(complete)
    except Undefined as why:
        result = result.noted(str(why))
    return GroupTest(names, result, tuple(after))


def within_raters(scores: Scores) -> list[WithinEffect]:
    """Repeated-measures ANOVA of condition x item within raters; every rater hears all cells.

    Several ratings of a cell are averaged. Raises Undefined where a rater lacks a cell.
    """
    _, rater = np.unique(scores.rater, return_inverse=True)
    _, item = np.unique(scores.item, return_inverse=True)
    shape = (
        int(rater.max(initial=-1)) + 1,
        len(scores.names),
        int(item.max(initial=-1)) + 1,
    )
    if 0 in shape:
        raise Undefined("no ratings: no repeated-measures ANOVA")
    if np.prod(shape, dtype=np.float64) > len(scores.y):
        raise Undefined(UNBALANCED)
    cell = np.ravel_multi_index((rater, scores.condition, item), shape)
    count = np.bincount(cell, minlength=int(np.prod(shape)))
    if not count.all():
        raise Undefined(UNBALANCED)
    cube = (np.bincount(cell, weights=scores.y) / count).reshape(shape)
    return rm_anova(cube, ("condition", "item"))


def _matched_tests(
    scores: Scores, test: str, unit: str, pairs: Sequence[Pair], level: float
) -> list[TestResult]:
    table = means_table(scores, unit)
    results = []
    for a, b in pairs:
        both = np.isfinite(table[:, a]) & np.isfinite(table[:, b])
        results.append(MATCHED[test](table[both, a], table[both, b], level, unit))
    return results


def _rm_anova(complete: Floats, unit: str, level: float) -> TestResult:
    result = TestResult(RM_ANOVA, "F", n=(len(complete),), level=level, unit=unit)
    try:
        (effect,) = rm_anova(complete)
    except Undefined as why:
        return replace(result, note=str(why))
    if effect.f is None or effect.p_gg is None or effect.epsilon is None or effect.p is None:
        return replace(result, note=effect.note)
    also = {"epsilon, Greenhouse-Geisser": effect.epsilon, "p, uncorrected": effect.p}
    also |= {"partial eta squared": effect.partial_eta2 or 0.0}
    return replace(
        result,
        statistic=effect.f,
        df=effect.df,
        df2=effect.df2,
        p=effect.p_gg,
        effect_name="generalised eta squared",
        effect=effect.generalised_eta2,
        note="p with Greenhouse and Geisser's correction of both df",
        also=also,
    )
