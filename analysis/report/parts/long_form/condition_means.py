"""Clark et al.'s figures 2 and 3: MOS per condition, and tests between the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.citations import cite, cite_author
from analysis.formatting import beware
from analysis.name_spans import condition_span
from analysis.ratings.estimands import estimand_of
from analysis.report.content import Content, Figure, Table, column, columns_of, picked, table_row
from analysis.report.parts.long_form.paragraph_tables import PAPER
from analysis.statistics.clustered_variance import two_way_intervals
from analysis.statistics.comparisons.simultaneous import Decision, decide_pairs
from analysis.statistics.comparisons.two_sample_tests import student_t
from analysis.statistics.intervals import Clustered, clustered, naive_interval
from analysis.statistics.longform import (
    CONTEXT,
    ISOLATION,
    PARAGRAPH,
    SETTINGS,
    Form,
    Material,
)

MOST_NAMED = 12
TURNS = 2  # conversations cut to two turns: each turn is a speaker of its own
FEWEST_AT_PLACE = 5  # paragraphs
MOST_LINES = 8
IN_WORDS = {
    ISOLATION: "sentences alone",
    PARAGRAPH: "whole paragraphs",
    CONTEXT: "sentences after a context",
}
QUESTIONS = (
    f"Scores of different questions stand side by side ({{}}), as in {cite_author('clark2019')}, "
    "and usually from different raters: a difference between settings holds the setting, the "
    "question and the raters. Within one setting it holds less of that."
)
METHOD = (
    f"Conditions as in {cite_author('clark2019')}: mean opinion scores with two-way clustered "
    f"intervals over raters and paragraphs {cite('cameron2011')}; differences likewise, adjusted "
    f"over all pairs shown by their joint distribution {cite('hothorn2008')}; beside "
    "them two-tailed independent t tests, of ratings and of stimulus means."
)


@dataclass(frozen=True)
class Cells:
    """Conditions of material, or their turns: names, forms, codes (n,), and what means rest on."""

    material: Material
    names: tuple[str, ...]
    forms: tuple[Form, ...]
    code: Codes
    sums: Clustered


@table_row
class ConditionRow:
    """The mean opinion score of a condition."""

    name: str = column("Condition")
    value: float = column("{mean}", "number")
    low: float | None = column("{level} interval", "interval", key="interval")
    high: float | None
    naive_low: float | None = column("Naive", "interval", key="naive")
    naive_high: float | None
    sd: float | None
    setting: str = column("Setting")
    speaker: str = column("Rated speech")
    before: str = column("Before it")
    n_ratings: int = column("Ratings", "count")
    n_raters: int = column("Raters", "count")
    n_stimuli: int = column("Stimuli", "count")
    n_paragraphs: int = column("Paragraphs", "count")
    note: str


@table_row
class PlaceRow:
    """The mean opinion score of single lines at one place of their paragraphs."""

    group: str = column("Condition")
    x: int = column("Place", "count")
    y: float = column("{mean}", "number")
    low: float | None = column("{level} interval", "interval", key="interval")
    high: float | None
    n_ratings: int = column("Ratings", "count")
    note: str


CONDITIONS_SHOWN = (
    *("name", "setting", "speaker", "before", "value", "low", "naive_low"),
    *("n_ratings", "n_raters", "n_stimuli", "n_paragraphs"),
)


def conditions(material: Material, suffix: str, level: float) -> Content:
    """The plot of all conditions, and their table."""
    cells = cells_of(material)
    rows = _rows(cells, level)
    figures = [_figure(rows, suffix, material)]
    places = _by_place(material, level)
    turns = set(material.length.values()) == {TURNS}  # then they are conditions already
    if not turns and 1 <= len({row.group for row in places}) <= MOST_LINES:
        figures.append(_place_figure(places, suffix))
    return Content(
        sentences=[_answer(rows)],
        figures=figures,
        tables=_tables(rows, places, suffix, level, material.mean),
        warnings=_warnings(material, rows),
        methods=[METHOD],
    )


def cells_of(material: Material) -> Cells:
    """One cell per condition; where every paragraph has two turns, one per turn heard alone."""
    in_turns = set(material.length.values()) == {TURNS}
    cells: list[tuple[str, Form]] = []
    code = np.zeros(len(material.form), dtype=np.int64)
    for i, form in enumerate(material.forms):
        rows = material.form == i
        turns = np.unique(material.place[rows])
        if form.setting == ISOLATION and in_turns and len(turns) > 1:
            for turn in turns.tolist():
                code[rows & (material.place == turn)] = len(cells)
                cells.append((f"{form.name} line {turn}", form))
        else:
            code[rows] = len(cells)
            cells.append((form.name, form))
    names, forms = zip(*cells, strict=True)
    groups = material.rater, material.cluster
    sums = clustered(material.y, code, *groups, len(names), ends=material.ends)
    return Cells(material, names, forms, code, sums)


def _rows(cells: Cells, level: float) -> list[ConditionRow]:
    rows, bounds = [], _intervals(cells.sums, level)
    for code, (name, form) in enumerate(zip(cells.names, cells.forms, strict=True)):
        mine = cells.code == code
        y = cells.material.y[mine]
        naive_low, naive_high = naive_interval(y, level) or (None, None)
        (low, high), note = bounds[code]
        rows.append(
            ConditionRow(
                name=name,
                value=float(cells.sums.value[code]),
                low=low,
                high=high,
                naive_low=naive_low,
                naive_high=naive_high,
                sd=float(np.std(y, ddof=1)) if len(y) > 1 else None,
                setting=form.setting,
                speaker=form.speaker,
                before=form.before,
                n_ratings=len(y),
                n_raters=int(cells.sums.n_raters[code]),
                n_stimuli=len(np.unique(cells.material.item[mine])),
                n_paragraphs=int(cells.sums.n_items[code]),
                note=note,
            )
        )
    return sorted(rows, key=lambda row: (-row.value, row.name))


def _intervals(sums: Clustered, level: float) -> list[tuple[tuple[Any, Any], str]]:
    """Bounds of each mean, or (None, None), and a note; the groups are paragraphs, not items."""
    found = two_way_intervals(sums, level)
    return [(bounds or (None, None), note.replace("item", "paragraph")) for bounds, note in found]


def _by_place(material: Material, level: float) -> list[PlaceRow]:
    """MOS of single lines by their place, where a condition has several places."""
    rows = []
    for code, form in enumerate(material.forms):
        mine = (material.form == code) & (material.place > 0)
        met = np.unique(np.column_stack([material.place[mine], material.cluster[mine]]), axis=0)
        places, counts = np.unique(met[:, 0], return_counts=True)
        kept = places[counts >= FEWEST_AT_PLACE]
        if len(kept) < 2:
            continue
        use = mine & np.isin(material.place, kept)
        at = np.searchsorted(kept, material.place[use])
        y = material.y[use]
        groups = material.rater[use], material.cluster[use]
        sums = clustered(y, at, *groups, len(kept), ends=material.ends)
        bounds = _intervals(sums, level)
        for i, place in enumerate(kept.tolist()):
            (low, high), note = bounds[i]
            value, n = float(sums.value[i]), int(sums.n_ratings[i])
            rows.append(PlaceRow(form.name, int(place), value, low, high, n, note))
    return rows


def _figure(rows: Sequence[ConditionRow], suffix: str, material: Material) -> Figure:
    estimand = estimand_of(min(material.estimands, key=len))
    return Figure(
        f"long_form_conditions{suffix}",
        f"Figures 2 and 3 of {PAPER}: conditions, from high to low",
        "intervals",
        picked(rows, ("name", "value", "low", "high", "naive_low", "naive_high")),
        x="mean score",
        ends=estimand.ends,
        at=() if estimand.neutral is None else (estimand.neutral,),
        note="R real, T synthetic, Text read; i one line alone, p the whole paragraph; R1T1: one "
        "real line, then one synthetic line that is rated.",
    )


def _place_figure(rows: Sequence[PlaceRow], suffix: str) -> Figure:
    return Figure(
        f"long_form_places{suffix}",
        "Single lines by their place in the paragraph",
        "lines",
        picked(rows, ("group", "x", "y", "low", "high")),
        x="place in the paragraph",
        y="mean score",
    )


def _tables(
    rows: Sequence[ConditionRow],
    places: Sequence[PlaceRow],
    suffix: str,
    level: float,
    mean: str,
) -> list[Table]:
    key, title = f"long_form_conditions{suffix}", "Conditions, from high to low"
    columns = columns_of(ConditionRow, *CONDITIONS_SHOWN, level=level, mean=mean)
    note = beware(row.note for row in rows)
    tables = [Table.of(ConditionRow, key, title, rows, columns=columns, note=note)]
    key, title = f"long_form_places{suffix}", "Single lines by their place"
    columns = columns_of(PlaceRow, level=level, mean=mean)
    tables.append(Table.of(PlaceRow, key, title, places, columns=columns, folded=True))
    return [table for table in tables if table.rows]


def _answer(rows: Sequence[ConditionRow]) -> str:
    means = [f"{condition_span(row.name)} ({row.value:.2f})" for row in rows]
    if len(means) > MOST_NAMED:
        return f"Highest: {', '.join(means[:3])}; lowest: {', '.join(means[-3:])}."
    return f"From high to low: {', '.join(means)}."


def _warnings(material: Material, rows: Sequence[ConditionRow]) -> list[str]:
    warnings = []
    criteria = sorted(material.criteria)
    settings = {row.setting for row in rows}
    if len(settings) > 1 and len(criteria) > 1:
        warnings.append(QUESTIONS.format(" and ".join(criteria)))
    turns = set(material.length.values()) == {TURNS}
    expected = [setting for setting in SETTINGS if setting != PARAGRAPH or not turns]
    absent = [IN_WORDS[setting] for setting in expected if setting not in settings]
    if absent:
        missing = " and ".join(absent)
        warnings.append(f"No ratings of {missing}: what compares them is left out.")
    return warnings


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
        f"{clear} of {len(tests)} pairs differ significantly (adjusted p < {alpha:.2g}, raters and "
        f"paragraphs taken into account). Independent t tests, which the paper has, would call "
        f"{ratings} so by ratings and {stimuli} by the means of stimuli."
    )
