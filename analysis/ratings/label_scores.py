"""The scores that labels stand for, in files that have labels and no scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from random import Random

import numpy as np
from numpy.typing import NDArray

from analysis.formatting import enumerated
from analysis.ratings.categorical import Categorical
from analysis.ratings.estimands import estimand_of_method
from analysis.ratings.problems import rows_text
from analysis.ratings.reading_rules import fold_cell
from analysis.ratings.scale_words import (
    MISSING,
    cell_number,
    numbered_label,
    scores_of_words,
)
from listening.common.spreadsheets import strict_number
from listening.methods import Method


def without_missing(scores: Categorical) -> tuple[Categorical, list[str]]:
    """A column of scores with words for missing answers emptied, and a note that counts them."""
    counts = {str(v): n for v, n in _count_values(scores) if n and fold_cell(str(v)) in MISSING}
    if not counts:
        return scores, []
    cleared = scores.mapped(["" if str(v) in counts else str(v) for v in scores.values])
    words = enumerated([f"{word} ({n})" for word, n in sorted(counts.items())])
    return cleared, [f"Column score: these stand for missing answers: {words}."]


def score_words(cells: Mapping[str, Categorical]) -> bool:
    """Whether a column of scores holds words of a scale: it is one of labels.

    Numbers may stand among them, as in "4 - Good" and 4.
    """
    there = {str(value) for value in cells["score"].used() if str(value).strip()}
    methods = {str(value) for value in cells["method"].used() if value in Method.registry}
    if all(not math.isnan(cell_number(text)) for text in there):
        return False
    if any(estimand_of_method(key).prefers for key in methods):
        return True  # names of the clips that were preferred, and words for ties
    if not methods and there & names_of_clips(cells):
        return True
    return any(
        all(_score_of(text, key) is not None for text in there)
        for key in methods or Method.registry
    )


def names_of_clips(cells: Mapping[str, Categorical]) -> set[str]:
    """The names of conditions that are compared; none where no two are."""
    if not any(cells["versus_condition"].values):
        return set()
    names = (*cells["condition"].values, *cells["versus_condition"].values)
    return {str(name) for name in names if name}


def _count_values(column: Categorical) -> zip[tuple[str, int]]:
    return zip(column.values, column.counts().tolist(), strict=True)


def scores_of_labels(
    cells: Mapping[str, Categorical], numbers: NDArray[np.int64], why: str = "No column score"
) -> tuple[Categorical, list[str], list[str]]:
    """The score of each row (n,) by its label; notes that begin with ``why``, and what is wrong.

    A number is itself, a word has its score on the scale of the row's method. The label of a
    comparison is the button that was pressed: ``presented_first`` says which clip that was, and
    without it there is no score. ``numbers`` (n,) are those of the rows in the file.
    """
    rows = _Rows(cells)
    scores = np.full(len(numbers), math.nan)
    used: dict[str, float] = {}
    turned, problems = 0, list[str]()
    for method in rows.methods():
        estimand, mine = estimand_of_method(method), rows.having("method", method)
        known = np.array([math.nan if s is None else s for s in rows.scores(method)])
        scores_here = known[cells["label"].codes]
        labelled = mine & rows.filled("label")
        if estimand.prefers:
            scores_here, count, problem = rows.oriented(method, scores_here, labelled)
            turned += count
        elif estimand.discriminates and not problems and (labelled & np.isnan(scores_here)).any():
            problem = (
                f"column label: which button was pressed does not say whether it was right in "
                f"{method}; add a column score with 1 for right and 0 for wrong"
            )
        else:
            problem = ""
        if problem:
            problems.append(problem)
            continue
        scores[mine] = scores_here[mine]
        if against := _against_scale(map(str, cells["label"].taken(mine).used()), method):
            problems.append(against)
        unknown = labelled & np.isnan(scores_here) & (not estimand.maybe_without_score)
        if unknown.any() and Method.registry[method]().scale({}).labels:
            problems.append(_not_on_scale(method, cells["label"], unknown, numbers))
        used |= {
            label: float(known[place])
            for place, label in enumerate(cells["label"].values)
            if math.isnan(cell_number(str(label))) and not math.isnan(known[place])
        }
    texts = ["" if math.isnan(score) else repr(float(score)) for score in np.unique(scores)]
    _, codes = np.unique(scores, return_inverse=True)
    shown = sorted(used.items(), key=lambda pair: (pair[1], pair[0]))
    words = ", ".join(f"{label} {score:g}" for label, score in shown)
    notes = []
    if turned:
        notes.append(
            f"{why}: labels are the buttons that were pressed{f' ({words})' * bool(used)}"
            f", turned by presented_first in {turned} of {len(numbers)} rows to say how the "
            "condition compares."
        )
    elif used:
        notes.append(f"{why}: scores are those of the labels ({words}).")
    return Categorical(codes.astype(np.int32).reshape(-1), texts), notes, problems


def _score_of(label: str, method: str) -> float | None:
    """The score of a label or word on a method's scale, or of a number; None where unknown."""
    words, text = scores_of_words(method), fold_cell(label)
    if text in words:
        return words[text]
    number = strict_number(text)
    if number is not None:
        chosen = estimand_of_method(method)
        return None if chosen.in_pairs and chosen.scores else number
    numbered = numbered_label(text)
    return numbered[0] if numbered else None


def _against_scale(labels: Iterable[str], method: str) -> str:
    """What is wrong with labels whose numbers fall where the scores of their words rise."""
    known = {}
    for label in labels:
        number, word = numbered_label(label) or (0.0, "")
        if word in scores_of_words(method):
            known[label] = (number, scores_of_words(method)[word])
    orders = {
        (a > b) == (x > y)
        for (a, x), (b, y) in combinations(known.values(), 2)
        if a != b and x != y
    }
    if orders != {False}:
        return ""
    shown = enumerated(sorted(known))
    return (
        f"the numbers of the labels {shown} run against the scale of {method}. Remove the numbers "
        "in the file, or the words if the numbers are the scores"
    )


def _not_on_scale(
    method: str, label: Categorical, unknown: NDArray[np.bool_], numbers: NDArray[np.int64]
) -> str:
    first = label.values[label.codes[np.flatnonzero(unknown)[0]]]
    rows = numbers[unknown & (label.codes == label.codes[np.flatnonzero(unknown)[0]])]
    known = enumerated(Method.registry[method]().scale({}).labels, "or")
    remedy = f"write {known}, or add a column score"
    return (
        f"{rows_text(rows.tolist())}, column label: {first!r} is not on the scale of {method}; "
        f"{remedy}"
    )


class _Rows:
    """The rows of a file by method, label and what was presented first."""

    def __init__(self, cells: Mapping[str, Categorical]) -> None:
        self.cells = cells

    def methods(self) -> list[str]:
        return [str(value) for value in self.cells["method"].used() if value in Method.registry]

    def having(self, name: str, value: str) -> NDArray[np.bool_]:
        return self.cells[name].having(lambda cell: fold_cell(cell) == fold_cell(value))

    def filled(self, name: str) -> NDArray[np.bool_]:
        return self.cells[name].having(lambda cell: bool(str(cell).strip()))

    def scores(self, method: str) -> list[float | None]:
        labels = [str(label) for label in self.cells["label"].values]
        return [_score_of(label, method) if label.strip() else None for label in labels]

    def oriented(
        self, method: str, pressed: NDArray[np.float64], labelled: NDArray[np.bool_]
    ) -> tuple[NDArray[np.float64], int, str]:
        """Scores (n,) that say how the condition compares, how many were turned, and a problem."""
        estimand = estimand_of_method(method)
        scores, chosen = pressed.copy(), np.zeros(len(pressed), dtype=bool)
        if estimand.scores:  # the label may be the name of the one that was chosen
            for name, score in (("condition", 1.0), ("versus_condition", 0.0)):
                hit = labelled & self._label_is(name)
                scores[hit], chosen = score, chosen | hit
        first = self.cells["presented_first"]
        versus, rated = (
            self.having("presented_first", "versus"),
            self.having("presented_first", "rated"),
        )
        turn = _score_turner(method)
        alike = {
            score
            for score in np.unique(pressed[labelled])
            if turn(score, True) == turn(score, False)
        }  # ties
        turned = ~np.isin(pressed, list(alike)) & ~np.isnan(pressed)
        open_rows = labelled & ~chosen & ~(versus | rated) & turned
        if open_rows.any():
            count = int(open_rows.sum())
            wrong = [] if not any(map(str.strip, map(str, first.values))) else first.values
            saying = f" ({enumerated(sorted(map(str, wrong))[:4])})" if wrong else ""
            return scores, 0, (
                f"column presented_first: does not say in {count} rows{saying} which clip came "
                f"first, and a label of {method} is the button that was pressed; write rated or "
                "versus there, or say --column score=NAME of labels that already say how the "
                "condition compares"
            )  # fmt: skip
        changed = 0
        for rows, versus_first in ((versus, True), (rated, False)):
            mine = labelled & ~chosen & rows & ~np.isnan(pressed)
            for score in np.unique(pressed[mine]):
                stored = turn(float(score), versus_first)
                hit = mine & (pressed == score)
                scores[hit] = stored
                changed += int(hit.sum()) if stored != score else 0
        return scores, changed, ""

    def _label_is(self, name: str) -> NDArray[np.bool_]:
        label, other = self.cells["label"], self.cells[name]
        names = {fold_cell(value): n for n, value in enumerate(other.values) if str(value).strip()}
        places = np.array(
            [names.get(fold_cell(value), -1) for value in label.values], dtype=np.int64
        )
        return np.asarray(places[label.codes] == other.codes) if len(places) else np.zeros(0, bool)


def _score_turner(method: str) -> Callable[[float, bool], float]:
    """How a method turns the score of a button into that of the condition."""
    kind = Method.registry[method]()

    def turn(score: float, versus_first: bool) -> float:
        stored = kind.stored_score(score, versus_first=versus_first, rng=Random(0))
        return score if stored is None else float(stored)

    return turn
