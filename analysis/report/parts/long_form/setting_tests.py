"""Tests between conditions: clustered and adjusted, and the t tests that the paper may mean."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from analysis.arrays import Floats
from analysis.report.content import Content, Table, column, table_row
from analysis.report.parts.long_form.condition_means import Cells, cells_of
from analysis.statistics.comparisons.simultaneous import Decision, decide_pairs
from analysis.statistics.comparisons.two_sample_tests import student_t
from analysis.statistics.longform.long_form_table import Material

MOST_ALL_PAIRS = 14  # conditions; of more, only settings of the same speaker are tested
STIMULI = "stimulus means"
NAIVE = (
    "The paper has two-tailed independent t tests, not corrected for many tests, and does not say "
    "what one value is: here once of ratings and once of the means of stimuli. Ratings of one "
    "rater or one stimulus go together, so p of ratings is too small; means of stimuli still "
    "share raters and paragraphs."
)


@table_row
class TestRow:
    """A difference of two conditions, adjusted over all pairs, alone, and by both t tests."""

    name: str = column("Difference")
    condition: str
    versus: str
    value: float = column("Points", "number", sign=True)
    low: float | None = column("{level} interval, adjusted", "interval", key="interval")
    high: float | None
    p: float | None = column("p, adjusted", "p")
    claimed: bool | None
    alone_low: float | None = column("This one alone", "interval", key="alone")
    alone_high: float | None
    p_alone: float | None
    same_setting: bool
    student_t: float | None = column("t test of ratings, t", "number", 2)
    student_df: float | None = column("df", "count")
    student_p: float | None = column("p", "p")
    stimuli_t: float | None = column("t test of stimulus means, t", "number", 2)
    stimuli_df: float | None = column("df", "count")
    stimuli_p: float | None = column("p", "p")
    note: str


def condition_tests(material: Material, suffix: str, level: float) -> Content:
    """The table of all pairs, and how many of them each kind of test calls different."""
    tests = _tests(cells_of(material), level)
    if not tests:
        return Content()
    key, title, many = f"long_form_tests{suffix}", "Tests between conditions", len(tests) > 15
    table = Table.of(TestRow, key, title, tests, level=level, note=NAIVE, folded=many)
    return Content([_counts_of_clear(tests, level)], tables=[table])


def _tests(cells: Cells, level: float) -> list[TestRow]:
    order = np.lexsort((np.array(cells.names), -cells.sums.value)).tolist()
    pairs = [
        (a, b)
        for a, b in combinations(order, 2)
        if len(order) <= MOST_ALL_PAIRS or cells.forms[a].speaker == cells.forms[b].speaker
    ]
    decisions = decide_pairs(pairs, cells.names, cells.sums, level=level)
    return [
        _test(cells, a, b, decision, level)
        for (a, b), decision in zip(pairs, decisions, strict=True)
    ]


def _test(cells: Cells, a: int, b: int, decision: Decision, level: float) -> TestRow:
    ratings = student_t(_ratings(cells, a), _ratings(cells, b), level)
    stimuli = student_t(stimulus_means(cells, a), stimulus_means(cells, b), level, STIMULI)
    return TestRow(
        name=f"{cells.names[a]} − {cells.names[b]}",
        condition=cells.names[a],
        versus=cells.names[b],
        value=decision.value,
        low=decision.low,
        high=decision.high,
        p=decision.p,
        claimed=decision.claimed,
        alone_low=decision.low_alone,
        alone_high=decision.high_alone,
        p_alone=decision.p_alone,
        same_setting=cells.forms[a].setting == cells.forms[b].setting,
        student_t=ratings.statistic,
        student_df=ratings.df,
        student_p=ratings.p,
        stimuli_t=stimuli.statistic,
        stimuli_df=stimuli.df,
        stimuli_p=stimuli.p,
        note=decision.note,
    )


def _ratings(cells: Cells, code: int) -> Floats:
    return np.asarray(cells.material.y[cells.code == code])


def stimulus_means(cells: Cells, code: int) -> Floats:
    """The mean rating of each stimulus of a condition, in the order of their names."""
    mine = cells.code == code
    _, stimulus = np.unique(cells.material.stimulus[mine], return_inverse=True)
    sums = np.bincount(stimulus, weights=cells.material.y[mine])
    return np.asarray(sums / np.bincount(stimulus))


def _counts_of_clear(tests: Sequence[TestRow], level: float) -> str:
    alpha = 1 - level
    clear = sum(bool(row.claimed) for row in tests)
    ratings, stimuli = (
        sum(p is not None and p < alpha for p in values)
        for values in ([row.student_p for row in tests], [row.stimuli_p for row in tests])
    )
    return (
        f"{clear} of {len(tests)} pairs differ clearly (adjusted p < {alpha:.2g}, raters and "
        f"paragraphs taken into account). Independent t tests, which the paper has, would call "
        f"{ratings} so by ratings and {stimuli} by the means of stimuli."
    )
