"""What is checked of a file of ratings: names, cells and their types, scores and scales."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.formatting import enumerated
from analysis.ratings.categorical import Categorical
from analysis.ratings.cells import COLUMNS, TRAP, dtype_of, reader_of
from analysis.ratings.estimands import (
    Estimand,
    estimand_of,
    estimand_of_method,
    keys_where,
    methods_of,
)
from analysis.ratings.problems import RatingsError, rows_text, some
from analysis.ratings.reading_rules import ReadingRules
from listening.common.spreadsheets import clean_name, comparison_key, located
from listening.methods import Method

NAMED = (  # columns whose cells are names
    *("study", "task", "criterion", "session", "rater", "block", "item", "dimension", "paragraph"),
    *("language", "split", "condition", "system", "voice", "stimulus"),
    *("versus_condition", "versus_stimulus"),
)
ASKED = {  # columns whose near-equal names are asked about, and those with the same names
    "rater": ("rater",),
    "condition": ("condition", "versus_condition"),
    "system": ("system",),
    "item": ("item",),
    "stimulus": ("stimulus", "versus_stimulus"),
}
DIFFER = "differ only in case, blanks, leading zeros or .0"


def cleaned(cells: Mapping[str, Categorical]) -> tuple[dict[str, Categorical], list[str]]:
    """The columns with clean names (`clean_name`), and a note for each column that changed."""
    result, notes = dict(cells), []
    for name in NAMED:
        column = cells[name]
        values = [value if value is None else clean_name(str(value)) for value in column.values]
        changed = [n for n, value in enumerate(column.values) if value != values[n]]
        if not changed:
            continue
        result[name] = column.renamed(values)
        rows = int(column.counts()[changed].sum())
        shown = f"{str(column.values[changed[0]])!a} is read as {values[changed[0]]!r}"
        there = "1 name" if len(changed) == 1 else f"{len(changed)} names"
        notes.append(
            f"Column {name}: blanks or Unicode forms of {there} are unified in {rows} rows "
            f"({shown})."
        )
    return result, notes


def near_equal(
    cells: Mapping[str, Categorical], rules: ReadingRules, theirs: Mapping[str, str]
) -> tuple[dict[str, Categorical], list[str], list[str]]:
    """The columns with names unified that are said to be the same; notes, and open questions.

    ``theirs`` has the file's names of columns: answers may use either.
    """
    result, notes, questions = dict(cells), [], []
    ours = {name: key for key, name in theirs.items()}
    answers = {
        option: [_answer(text, ours) for text in getattr(rules, option)]
        for option in ("same", "different")
    }
    for about, columns in ASKED.items():
        groups = _groups([cells[name] for name in columns])
        spelling: dict[str, str] = {}
        asked = []
        for names in groups:
            key = comparison_key(names[0])
            if _said(answers["same"], about, key):
                spelling |= dict.fromkeys(names[1:], names[0])
            elif not _said(answers["different"], about, key):
                asked.append(names)
        for name in columns if spelling else ():
            values = [spelling.get(value, value) for value in cells[name].values]
            result[name] = cells[name].renamed(values)
        if spelling:
            told = [f"{other} is read as {name}" for other, name in spelling.items()]
            notes.append(f"Column {about}: {some(told)}, as was asked for.")
        if asked:
            pairs = some([enumerated(names) for names in asked])
            questions.append(
                f"column {about}: {pairs} {DIFFER}: are they one name? Say --same {about} or "
                f"--different {about} (of one: --same {about}={asked[0][0]!r})"
            )
    unknown = [a for pair in answers.values() for a, _ in pair if a not in ASKED]
    if unknown:
        raise RatingsError(
            [f"{unknown[0]}: --same and --different are about {enumerated(sorted(ASKED), 'or')}"]
        )
    return result, notes, questions


def _answer(text: str, ours: Mapping[str, str]) -> tuple[str, str]:
    """The column of an answer, and the key of the name that it is about, if it names one."""
    column, _, name = text.partition("=")
    return ours.get(column, column), comparison_key(name) if name else ""


def _said(answers: Sequence[tuple[str, str]], column: str, key: str) -> bool:
    return any(about == column and name in ("", key) for about, name in answers)


def _groups(columns: Sequence[Categorical]) -> Iterator[list[str]]:
    """Names of these columns that are nearly equal, the most frequent spelling first."""
    counts: dict[str, int] = {}
    for column in columns:
        for value, count in zip(column.values, column.counts().tolist(), strict=True):
            if value and count:
                counts[str(value)] = counts.get(str(value), 0) + count
    alike: dict[str, list[str]] = {}
    for name in counts:
        alike.setdefault(comparison_key(name), []).append(name)
    for names in alike.values():
        if len(names) > 1:
            yield sorted(names, key=lambda name: -counts[name])


SCREEN = ("task", "criterion", "rater", "session", "block", "item")
ENOUGH = 30  # scores from which on a scale without its upper half is no chance


def check_ranks(
    table: pd.DataFrame, own: NDArray[np.bool_], numbers: NDArray[np.int64]
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """The table with tied ranks as mid-ranks; notes, and what is wrong with ranks.

    A screen is what one rater ranked at once. Ranks among different numbers of clips are not
    comparable and are refused, as are places that are missing. ``numbers`` (n,) are those of the
    rows in the file; ``own`` marks rows of a study of Earnest.
    """
    ranked = table["estimand"].isin(keys_where("lowest_is_best")) & (table["trap"] == "")
    rows = np.flatnonzero(np.asarray(ranked & table["score"].notna(), dtype=bool) & ~own)
    if not len(rows):
        return table, [], []
    use = table.iloc[rows]
    screens = use.groupby(list(SCREEN), sort=False)
    size = screens["score"].transform("size").to_numpy()
    sizes = sorted(set(size.tolist()))
    if len(sizes) > 1:
        return table, [], [
            f"ranks of screens with {enumerated([f'{n}' for n in sizes])} clips: a place among "
            f"{sizes[0]} says something else than one among {sizes[-1]}. Analyse screens of one "
            "size by themselves, or write each screen as comparisons of two clips (method ab)"
        ]  # fmt: skip
    middle = screens["score"].rank(method="average").to_numpy()
    fits = _as_ranked(use, screens)
    if not fits.all():
        wrong = numbers[rows[~fits]]
        return table, [], [
            f"{rows_text(wrong.tolist())}, column score: places of a screen of {sizes[0]} clips "
            f"must be 1 to {sizes[0]}, with ties like 1, 1, 3; a clip may be missing"
        ]  # fmt: skip
    tied = use["score"].to_numpy(dtype=np.float64) != middle
    equal = screens["score"].transform(lambda scores: scores.duplicated(keep=False)).to_numpy(bool)
    if not equal.any():
        return table, [], []
    scores = table["score"].to_numpy(dtype=np.float64).copy()
    scores[rows[tied]] = middle[tied]
    made = table.assign(score=scores)
    groups = use[equal].groupby(list(SCREEN), sort=False).ngroups
    note = (
        f"{groups} of {screens.ngroups} screens hold ties: clips that share a place have the mean "
        "of their places (mid-ranks)."
    )
    return made, [note], []


def _as_ranked(use: pd.DataFrame, screens: Any) -> NDArray[np.bool_]:
    """Which ranks (m,) are of a screen that was ranked from 1 on in a usual way."""
    score, ranks = use["score"].to_numpy(dtype=np.float64), screens["score"]
    fits = [score == ranks.rank(method=method).to_numpy() for method in ("average", "min", "dense")]
    fits.append(score == ranks.rank(method="max").to_numpy())
    code = screens.ngroup().to_numpy()
    right = np.zeros(len(score), dtype=bool)
    for each in fits:
        whole = np.bincount(code, weights=~each) == 0
        right |= whole[code]
    return right


def short_scales(table: pd.DataFrame, own: NDArray[np.bool_], scale: str = "") -> Iterator[str]:
    """A question for each kind of score of which nobody used the upper part of the scale.

    These are categories of five points that end at three, and ratings from 0 to 100 that end at
    ten. ``scale`` is the answer: ``1,5`` or ``0,100``.
    """
    rated = (table["trap"] == "") & table["score"].notna()
    foreign = table[np.asarray(rated, dtype=bool) & ~own]
    for (key, criterion), scores in foreign.groupby(["estimand", "criterion"], sort=True)["score"]:
        known = estimand_of(str(key))
        ends = known.ends and f"{known.ends[0]:g},{known.ends[1]:g}"
        if len(scores) < ENOUGH or scale.replace(" ", "").replace("-", ",") == ends:
            continue
        low, high = scores.min(), scores.max()
        of = f" of {criterion}" if criterion else ""
        if known.ends == (1.0, 5.0) and low == 1 and high <= 3 and not (scores % 1).any():
            points = enumerated([f"{value:g}" for value in sorted(scores.unique())], "or")
            yield (
                f"all {len(scores)} {known.name} scores{of} are {points}: say --scale 1,5 if the "
                "scale had five points, or --set method=free_choice for means on a shorter scale"
            )
        elif known.ends == (0.0, 100.0) and high <= 10:
            yield (
                f"all {len(scores)} {known.name} scores{of} are {low:g} to {high:g}: say --scale "
                "0,100 if the scale ended at 100, or --set method=mos if it had five points, or "
                "--set method=free_choice for means on another scale"
            )


TRAINING = "training"  # stands in the column trap for training trials, which may pass nothing
Rows = NDArray[np.intp]
Mistake = tuple["pd.Series[bool]", str, str]  # a mask (n,), the column, what is wrong with it


def checked(
    cells: Mapping[str, Categorical],
    source: str,
    numbers: Rows,
    questions: Sequence[str] = (),
    whole_pairs: bool = False,
) -> pd.DataFrame:
    """The typed table of all columns; raises RatingsError with every mistake, a line for each.

    ``source`` names the ratings, ``numbers`` (n,) those of their rows for people. ``questions``
    that only a person can answer are mistakes too, told first. With ``whole_pairs``, comparisons
    of two clips must name both conditions.
    """
    problems = [located(source, question) for question in questions]
    wrong: dict[str, Rows] = {}
    typed = {}
    for name in COLUMNS:
        typed[name], mistakes = _typed(name, cells[name])
        for rows, text in mistakes:
            named_rows = rows_text(numbers[rows].tolist())
            problems.append(f"{source}, {named_rows}, column {name}: {text}")
        wrong[name] = np.concatenate([np.zeros(0, np.intp), *(rows for rows, _ in mistakes)])
    table = pd.DataFrame(typed, columns=list(COLUMNS))
    for mask, name, text in [*_mistakes(table), *(_half_pairs(table) if whole_pairs else ())]:
        rows = np.setdiff1d(np.flatnonzero(np.asarray(mask, dtype=bool)), wrong[name])
        if len(rows):
            named_rows = rows_text(numbers[rows].tolist())
            problems.append(f"{source}, {named_rows}, column {name}: {text}")
    if problems:
        raise RatingsError(problems)
    return table


def _typed(name: str, cells: Categorical) -> tuple[pd.Series, list[tuple[Rows, str]]]:
    """A column of cells as a series, and what cannot be read of it: rows and words."""
    read = reader_of(name)
    values: list[Any] = []
    unread: dict[str, list[int]] = {}
    for code, value in enumerate(cells.values):
        try:
            values.append(read(value))
        except ValueError as error:
            values.append(read(None))
            unread.setdefault(str(error), []).append(code)
    different: pd.Series = pd.Series(values, dtype=dtype_of(name))
    mistakes = []
    for text, codes in unread.items():
        rows = np.flatnonzero(np.isin(cells.codes, codes))
        first, *others = [repr(cells.values[code]) for code in codes]
        likewise = f" (likewise {some(others)})" if others else ""
        if len(rows):
            mistakes.append((rows, f"{first} {text}{likewise}"))
    return different.take(cells.codes).reset_index(drop=True), mistakes


def _mistakes(table: pd.DataFrame) -> Iterator[Mistake]:
    trap = table["trap"] != ""
    yield table["rater"] == "", "rater", "is empty; every rating needs its rater's code"
    yield ~trap & (table["condition"] == ""), "condition", "is empty; name what was rated"
    nothing = (table["item"] == "") & (table["stimulus"] == "")
    yield ~trap & nothing, "item", "and stimulus are empty; name the item or the stimulus"
    known = trap & ~table["trap"].isin((TRAINING, TRAP))
    remedy = f"write true or false, or {TRAP} in the column trap where that is not known"
    yield known & table["trap_passed"].isna(), "trap_passed", f"is empty for a trap; {remedy}"
    yield from _of_methods(table)
    yield from _of_roles(table)
    yield table["heard_fraction"] < 0, "heard_fraction", "is negative; write 0 to 1"


def _of_methods(table: pd.DataFrame) -> Iterator[Mistake]:
    """Methods and estimands that there are not, that disagree, or that the ratings do not fit."""
    rated = table["trap"] == ""
    for method, estimand in table[["method", "estimand"]].drop_duplicates().itertuples(index=False):
        mine = (table["method"] == method) & (table["estimand"] == estimand)
        try:
            known = estimand_of_method(str(method)) if method else None
            known = estimand_of(str(estimand)) if estimand and not known else known
        except KeyError as error:
            yield mine, "method" if method else "estimand", f"there is {error.args[0]}"
            continue
        if not method or known is None:
            methods = enumerated(sorted(methods_of(str(estimand)) or Method.registry), "or")
            yield mine, "method", f"is empty; say how the clips were rated: {methods}"
            continue
        if estimand != known.key:
            problem = f"is {estimand!r}, and the mean of {method} is {known.key}"
            yield mine, "estimand", f"{problem}; leave the column out, the method decides"
            continue
        yield from _of_scores(table, mine & rated, known)


def _half_pairs(table: pd.DataFrame) -> Iterator[Mistake]:
    """Comparisons of two clips that name one."""
    mine = table["estimand"].isin(keys_where("in_pairs")) & (table["trap"] == "")
    alone = mine & (table["versus_condition"] == "")
    methods = enumerated(sorted(table["method"][alone].unique())) if alone.any() else ""
    remedy = "name the other condition here, or in every row by --set versus_condition=NAME"
    yield alone, "versus_condition", f"is empty, and {methods} compares two clips; {remedy}"


def _of_scores(table: pd.DataFrame, mine: pd.Series[bool], known: Estimand) -> Iterator[Mistake]:
    """Scores that there are not on a scale of a few."""
    scores = table["score"]
    wrong = mine & scores.notna() & ~scores.isin(known.scores)
    if known.scores and wrong.any():
        right = enumerated([f"{score:g}" for score in known.scores], "or")
        rule = f"must be {right} for the estimand {known.key}"
        there = some(f"{score:g}" for score in scores[wrong].unique())
        yield wrong, "score", f"{there} {rule}; turn labels into those scores"


def _of_roles(table: pd.DataFrame) -> Iterator[Mistake]:
    """Conditions that have one role here and another there."""
    with_role = table[(table["role"] != "") & (table["trap"] == "")]
    roles = with_role[["study", "condition", "role"]].drop_duplicates()
    for (study, condition), own in roles.groupby(["study", "condition"], sort=True)["role"]:
        if len(own) > 1:
            mine = (table["study"] == study) & (table["condition"] == condition)
            problem = f"{condition} is called {enumerated(sorted(own))}"
            yield mine, "role", f"{problem}; a condition has one role"
