"""Clark et al.'s figures 2 and 3: MOS per condition from high to low, and tests between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.ratings.estimands import estimand_of
from analysis.report.content import Column, Content, Figure, Table
from analysis.statistics.comparisons.clustered_variance import variance_and_df
from analysis.statistics.comparisons.simultaneous import Decision, decide_pairs
from analysis.statistics.comparisons.two_sample_tests import student_t
from analysis.statistics.intervals import (
    Clustered,
    clustered,
    has_no_width,
    naive_interval,
    t_interval,
)
from analysis.statistics.longform.condition_names import CONTEXT, ISOLATION, PARAGRAPH, SETTINGS
from analysis.statistics.longform.long_form_table import Material

MOST_ALL_PAIRS = 14  # conditions; of more, only settings of the same speaker are tested
MOST_NAMED = 12
TURNS = 2  # conversations cut to two turns: each turn is a speaker of its own
FEWEST_AT_PLACE = 5  # paragraphs
MOST_LINES = 8
FEW = 10
QUESTIONS = (
    "Scores of different questions stand side by side ({}), as in Clark et al. (2019), and "
    "usually from different raters: a difference between settings holds the setting, the question "
    "and the raters. Within one setting it holds less of that."
)
METHOD = (
    "Conditions as in Clark et al. (2019): mean opinion scores with two-way clustered intervals "
    "over raters and paragraphs (Cameron, Gelbach and Miller 2011); differences likewise, adjusted "
    "over all pairs shown by their joint distribution (Hothorn, Bretz and Westfall 2008); beside "
    "them the paper's two-tailed independent t test."
)
NAIVE = (
    "The t test is the paper's: two-tailed, of independent ratings, not corrected for many tests. "
    "Ratings of one rater or one paragraph go together, so its p is too small."
)


@dataclass(frozen=True)
class Cells:
    """Conditions (or their turns) of material, with all that intervals need."""

    names: tuple[str, ...]
    forms: tuple[int, ...]
    code: Codes
    y: Floats
    rater: Codes
    cluster: Codes
    item: Codes
    sums: Clustered


def conditions(material: Material, suffix: str, level: float) -> Content:
    """The plot of all conditions, their table, and tests of pairs."""
    cells = cells_of(material)
    rows = _rows(material, cells, level)
    tests = _tests(material, cells, level)
    figures = [_figure(rows, suffix, material)]
    place_rows = _by_place(material, level)
    turns = set(material.length.values()) == {TURNS}  # then they are conditions already
    if not turns and 1 <= len({row["group"] for row in place_rows}) <= MOST_LINES:
        figures.append(_place_figure(place_rows, suffix))
    return Content(
        sentences=[_answer(rows), *_settings_told(tests, level)],
        figures=figures,
        tables=_tables(rows, tests, place_rows, suffix, level),
        warnings=_warnings(material, rows),
        methods=[METHOD],
    )


def cells_of(material: Material) -> Cells:
    """One cell per condition; where every paragraph has two turns, one per turn heard alone."""
    lengths = set(material.length.values())
    names: list[str] = []
    forms: list[int] = []
    code = np.zeros(len(material.form), dtype=np.int64)
    for i, one in enumerate(material.forms):
        rows = material.form == i
        turns = np.unique(material.place[rows])
        if one.setting == ISOLATION and lengths == {TURNS} and len(turns) > 1:
            for turn in turns.tolist():
                code[rows & (material.place == turn)] = len(names)
                names.append(f"{one.name} line {turn}")
                forms.append(i)
        else:
            code[rows] = len(names)
            names.append(one.name)
            forms.append(i)
    sums = clustered(material.y, code, material.rater, material.cluster, len(names))
    return Cells(
        tuple(names),
        tuple(forms),
        code,
        material.y,
        material.rater,
        material.cluster,
        material.item,
        sums,
    )


def _rows(material: Material, cells: Cells, level: float) -> list[dict[str, Any]]:
    rows = []
    for code, name in enumerate(cells.names):
        mine = cells.code == code
        form, y = material.forms[cells.forms[code]], cells.y[mine]
        naive = naive_interval(y, level)
        low, high, note = _bounds(cells.sums, code, y, level)
        rows.append(
            {
                "name": name,
                "value": float(cells.sums.value[code]),
                "low": low,
                "high": high,
                "naive_low": naive[0] if naive else None,
                "naive_high": naive[1] if naive else None,
                "sd": float(np.std(y, ddof=1)) if len(y) > 1 else None,
                "setting": form.setting,
                "speaker": form.speaker,
                "before": form.before,
                "n_ratings": len(y),
                "n_raters": int(cells.sums.n_raters[code]),
                "n_stimuli": len(np.unique(cells.item[mine])),
                "n_paragraphs": int(cells.sums.n_items[code]),
                "note": note,
            }
        )
    return sorted(rows, key=lambda row: (-row["value"], row["name"]))


def _bounds(
    sums: Clustered, a: int, y: Floats, level: float
) -> tuple[float | None, float | None, str]:
    groups = sums.degrees(a) + 1
    variance, df = variance_and_df(sums, a)
    if groups < 2:
        return None, None, "one rater or paragraph only: no interval"
    if has_no_width(variance, y):
        return None, None, "all ratings are equal: no interval"
    low, high = t_interval(float(sums.value[a]), variance**0.5, df, level)
    few = f"only {groups} raters or paragraphs: a rough interval"
    return low, high, few if groups < FEW else ""


def _tests(material: Material, cells: Cells, level: float) -> list[dict[str, Any]]:
    place = {name: i for i, name in enumerate(cells.names)}
    order = sorted(cells.names, key=lambda name: (-cells.sums.value[place[name]], name))
    speaker = {name: material.forms[cells.forms[place[name]]].speaker for name in order}
    chosen = [
        (a, b)
        for a, b in combinations(order, 2)
        if len(order) <= MOST_ALL_PAIRS or speaker[a] == speaker[b]
    ]
    pairs = [(place[a], place[b]) for a, b in chosen]
    decided = decide_pairs(pairs, cells.names, cells.sums, level=level)
    return [
        _test(material, cells, pair, one, level) for pair, one in zip(pairs, decided, strict=True)
    ]


def _test(
    material: Material, cells: Cells, pair: tuple[int, int], one: Decision, level: float
) -> dict[str, Any]:
    a, b = pair
    paper = student_t(cells.y[cells.code == a], cells.y[cells.code == b], level)
    settings = {material.forms[cells.forms[code]].setting for code in (a, b)}
    return {
        "name": f"{cells.names[a]} − {cells.names[b]}",
        "condition": cells.names[a],
        "versus": cells.names[b],
        "value": one.value,
        "low": one.low,
        "high": one.high,
        "p": one.p,
        "claimed": one.claimed,
        "alone_low": one.low_alone,
        "alone_high": one.high_alone,
        "p_alone": one.p_alone,
        "same_setting": len(settings) == 1,
        "student_t": paper.statistic,
        "student_df": paper.df,
        "student_p": paper.p,
        "note": one.note,
    }


def _by_place(material: Material, level: float) -> list[dict[str, Any]]:
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
        sums = clustered(y, at, material.rater[use], material.cluster[use], len(kept))
        for i, place in enumerate(kept.tolist()):
            low, high, note = _bounds(sums, i, y[at == i], level)
            rows.append(
                {
                    "group": form.name,
                    "x": int(place),
                    "y": float(sums.value[i]),
                    "low": low,
                    "high": high,
                    "n_ratings": int(sums.n_ratings[i]),
                    "note": note,
                }
            )
    return rows


def _figure(rows: Sequence[dict[str, Any]], suffix: str, material: Material) -> Figure:
    keys = ("name", "value", "low", "high", "naive_low", "naive_high")
    ends = estimand_of(min(material.estimands, key=len)).ends
    return Figure(
        f"long_form_conditions{suffix}",
        "Conditions, from high to low",
        "intervals",
        [{key: row[key] for key in keys} for row in rows],
        x="mean score",
        ends=ends,
        note="R real, T synthetic, Text read; i one line alone, p the whole paragraph; R1T1: one "
        "real line, then one synthetic line that is rated.",
    )


def _place_figure(rows: Sequence[dict[str, Any]], suffix: str) -> Figure:
    keys = ("group", "x", "y", "low", "high")
    return Figure(
        f"long_form_places{suffix}",
        "Single lines by their place in the paragraph",
        "lines",
        [{key: row[key] for key in keys} for row in rows],
        x="place in the paragraph",
        y="mean score",
    )


def _tables(
    rows: Sequence[dict[str, Any]],
    tests: Sequence[dict[str, Any]],
    places: Sequence[dict[str, Any]],
    suffix: str,
    level: float,
) -> list[Table]:
    interval = f"{level * 100:g} % interval"
    of_conditions = [
        Column("name", "Condition"),
        Column("setting", "Setting"),
        Column("speaker", "Rated speech"),
        Column("before", "Before it"),
        Column("value", "MOS", "number"),
        Column("interval", interval, "interval"),
        Column("naive", "Naive", "interval"),
        Column("n_ratings", "Ratings", "count"),
        Column("n_raters", "Raters", "count"),
        Column("n_stimuli", "Stimuli", "count"),
        Column("n_paragraphs", "Paragraphs", "count"),
    ]
    of_tests = [
        Column("name", "Difference"),
        Column("value", "Points", "number", sign=True),
        Column("interval", f"{interval}, adjusted", "interval"),
        Column("p", "p, adjusted", "p"),
        Column("alone", "This one alone", "interval"),
        Column("student_t", "t test as in the paper, t", "number", 2),
        Column("student_df", "df", "count"),
        Column("student_p", "p", "p"),
    ]
    of_places = [
        Column("group", "Condition"),
        Column("x", "Place", "count"),
        Column("y", "MOS", "number"),
        Column("interval", interval, "interval"),
        Column("n_ratings", "Ratings", "count"),
    ]
    noted = "; ".join(dict.fromkeys(row["note"] for row in rows if row["note"]))
    note = f"Beware: {noted}." if noted else ""
    key, title = f"long_form_conditions{suffix}", "Conditions, from high to low"
    made = [Table(key, title, of_conditions, rows, note)]
    key, title = f"long_form_tests{suffix}", "Tests between conditions"
    made.append(Table(key, title, of_tests, tests, NAIVE, folded=len(tests) > 15))
    key, title = f"long_form_places{suffix}", "Single lines by their place"
    made.append(Table(key, title, of_places, places, folded=True))
    return [table for table in made if table.rows]


def _answer(rows: Sequence[dict[str, Any]]) -> str:
    named = [f"{row['name']} ({row['value']:.2f})" for row in rows]
    if len(named) > MOST_NAMED:
        return f"Highest: {', '.join(named[:3])}; lowest: {', '.join(named[-3:])}."
    return f"From high to low: {', '.join(named)}."


def _settings_told(tests: Sequence[dict[str, Any]], level: float) -> list[str]:
    if not tests:
        return []
    alpha = 1 - level
    clear = sum(row["claimed"] for row in tests)
    paper = sum(row["student_p"] is not None and row["student_p"] < alpha for row in tests)
    return [
        f"{clear} of {len(tests)} pairs differ clearly (adjusted p < {alpha:.2g}, raters and "
        f"paragraphs taken into account); the paper's t test of ratings would call {paper} so."
    ]


def _warnings(material: Material, rows: Sequence[dict[str, Any]]) -> list[str]:
    told = []
    asked = sorted(material.criteria)
    settings = {row["setting"] for row in rows}
    if len(settings) > 1 and len(asked) > 1:
        told.append(QUESTIONS.format(" and ".join(asked)))
    turns = set(material.length.values()) == {TURNS}
    rest = [setting for setting in SETTINGS if setting != PARAGRAPH or not turns]
    absent = [setting for setting in rest if setting not in settings]
    words = {
        ISOLATION: "sentences alone",
        PARAGRAPH: "whole paragraphs",
        CONTEXT: "sentences after a context",
    }
    if absent:
        missing = " and ".join(words[setting] for setting in absent)
        told.append(f"No ratings of {missing}: what compares them is left out.")
    return told
