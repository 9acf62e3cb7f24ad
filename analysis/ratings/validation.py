"""Columns of cells checked and typed into a table of ratings; every mistake with its rows."""

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
from listening.common.spreadsheets import located
from listening.methods import Method

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
