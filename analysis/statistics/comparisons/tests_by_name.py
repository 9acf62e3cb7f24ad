"""The tests that papers use, by name, on coded ratings: pairs of conditions, or all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.statistics.comparisons.omnibus_tests import (
    UNBALANCED,
    PostHoc,
    WithinEffect,
    anova,
    conover,
    dunn,
    friedman,
    kruskal_wallis,
    nemenyi,
    rm_anova,
)
from analysis.statistics.comparisons.p_adjustment import adjusted
from analysis.statistics.comparisons.pairwise_contrasts import Pair, all_pairs
from analysis.statistics.comparisons.test_result import RATINGS, TestResult, Undefined
from analysis.statistics.comparisons.two_sample_tests import (
    mann_whitney,
    paired_t,
    student_t,
    welch_t,
    wilcoxon,
)

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
        results = _matched(scores, test, unit or "raters", chosen, level)
    else:
        unit = unit or RATINGS
        samples = samples_of(scores, unit)
        make = INDEPENDENT[test]
        results = [make(samples[a], samples[b], level, unit) for a, b in chosen]
    p = adjusted([result.p for result in results], adjustment)
    return [
        PairTest(scores.names[a], scores.names[b], result, p[i], adjustment)
        for i, ((a, b), result) in enumerate(zip(chosen, results, strict=True))
    ]


def group_test(
    scores: Scores,
    test: str,
    unit: str | None = None,
    adjustment: str = "holm",
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
        return GroupTest(names, result, tuple(dunn(samples, adjustment)) if wanted else ())
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
        after += conover(complete, adjustment)
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


def _matched(
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
