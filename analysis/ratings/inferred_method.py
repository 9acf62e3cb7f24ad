"""The method of a file that does not name it: inferred from its scores and labels, or asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.formatting import enumerated
from analysis.ratings.categorical import Categorical, distinct_pairs
from analysis.ratings.cells import trap_kind
from analysis.ratings.estimands import estimand_of_method, methods_of
from analysis.ratings.label_scores import names_of_clips
from analysis.ratings.repeats import codes_of
from analysis.ratings.scale_words import cell_number, methods_with
from listening.methods import Method, Scale
from listening.methods.estimand import ONE_CLIP

GUESS = "mos"  # what ratings of 1 to 5 are taken for, and said to be
MOST_NAMED = 6
FEWEST_ORDERS = 5  # sets of clips whose scores are the places 1, 2, 3 … before it looks like ranks
_ORDERED = ("rater", "session", "task", "criterion", "block", "item")


@dataclass(frozen=True)
class InferredMethod:
    """The columns method and estimand, and a question or a note about how they were come by."""

    method: Categorical
    estimand: Categorical
    question: str = ""
    note: str = ""


def inferred_method(cells: Mapping[str, Categorical]) -> InferredMethod:
    """The method and the estimand of each row, each inferred from the other where it is empty.

    Where all rows lack both, scores of 1 to 5 are taken for MOS, with a note; for others, and for
    labels of a known method, there is a question with the methods that fit.
    """
    method, estimand = cells["method"], cells["estimand"]
    if any(method.values) or any(estimand.values):
        return _by_the_other(method, estimand)
    seen = _RatingsSeen(cells)
    question = "" if not seen.any else seen.question()
    note = ""
    if seen.scores and not question:
        fits = f"scores of {_span(seen.scores)} are taken for {estimand_of_method(GUESS).name}"
        note = f"No column says the method: {fits}. If they are not, say --set method=METHOD."
    same = np.zeros(len(method), dtype=np.int32)
    key = estimand_of_method(GUESS).key
    return InferredMethod(Categorical(same, [GUESS]), Categorical(same, [key]), question, note)


def _by_the_other(method: Categorical, estimand: Categorical) -> InferredMethod:
    """Each from the other, row by row; what neither tells stays empty."""
    pairs, codes = distinct_pairs(method, estimand)
    filled = []
    for method_key, key in pairs:
        if not method_key and key:
            known = methods_of(key)
            method_key = known[0] if len(known) == 1 else ""
        elif method_key in Method.registry and not key:
            key = estimand_of_method(method_key).key
        filled.append((method_key, key))
    return InferredMethod(
        Categorical(codes, [method_key for method_key, _ in filled]),
        Categorical(codes, [key for _, key in filled]),
    )


class _RatingsSeen:
    """What the ratings of a file look like, traps left out."""

    def __init__(self, cells: Mapping[str, Categorical]) -> None:
        trap = np.array([bool(trap_kind(value)) for value in cells["trap"].values], dtype=bool)
        self.cells = cells
        self.rated = ~trap[cells["trap"].codes] if len(trap) else np.ones(0, dtype=bool)
        self.any = bool(self.rated.any())
        self.numbers = np.array([cell_number(each) for each in cells["score"].values], dtype=float)
        held = self.numbers[self._codes("score")]
        self.scores = sorted({float(x) for x in held if np.isfinite(x)})

    def question(self) -> str:
        """What has to be said of the method; empty where MOS is a fair guess."""
        words = self._words()
        if self._words(plain=False) & names_of_clips(self.cells):
            words = {"a", "b"}  # what was preferred
        labelled = sorted(methods_with(words), key=lambda key: key != GUESS)
        if labelled:
            names = f"the labels are {enumerated(sorted(self._words(plain=False)))}"
            abx = (
                "; for ABX, --set method=abx with the column of right answers (1, 0) as the score"
                if "ab" in labelled
                else ""
            )
            methods = " or ".join(labelled)
            return f"no column method, and {names}; is it --set method={methods}{abx}?"
        if not self.scores:
            if any(self.cells["score"].values[code].strip() for code in self._codes("score")):
                return ""  # they cannot be read, which is told elsewhere
            return (
                "no column method, and no score that is a number or a word of a known scale; say "
                "which method it is, like "
                f"--set method={_free()} for choices without scores"
            )
        if self._compared():
            fits = self._fitting(compared=True)
            return f"no column method, and versus_condition is filled; say which it is: {fits}"
        low, high = estimand_of_method(GUESS).ends or (0.0, 0.0)
        if self.scores[0] < low or self.scores[-1] > high:
            fits = self._fitting(compared=False)
            fits += f" (or {GUESS} or {_free()}, on a scale of your own)" * (self.scores[0] >= 0)
            return f"no column method, and scores of {_span(self.scores)}; say which it is: {fits}"
        if self._ranked():
            ranking = [key for key, m in sorted(Method.registry.items()) if m.estimand.in_places]
            return (
                "no column method, and the scores of each rater and item are places from 1 on; "
                f"say which it is: {_options([*ranking, GUESS])}"
            )
        return ""

    def _words(self, plain: bool = True) -> set[str]:
        """The labels that are no numbers."""
        there = {self.cells["label"].values[code] for code in self._codes("label")}
        words = {label.strip() for label in there if np.isnan(cell_number(label)) and label.strip()}
        return {word.casefold() for word in words} if plain else words

    def _codes(self, name: str) -> list[int]:
        counts = np.bincount(self.cells[name].codes[self.rated])
        codes: list[int] = np.flatnonzero(counts).tolist()
        return codes

    def _compared(self) -> bool:
        versus = self.cells["versus_condition"]
        return any(versus.values[code] for code in self._codes("versus_condition"))

    def _fitting(self, compared: bool) -> str:
        """The methods whose scale holds the scores, the narrowest scales first."""
        fitting = []
        for key, scale in _scales().items():
            estimand = estimand_of_method(key)
            ends = _ends(scale) or (estimand.ends if estimand.scores else None)
            if estimand.continuous:
                ends = estimand.ends
            if not ends or (compared and estimand.comparison == ONE_CLIP):
                continue
            if estimand.scores and not set(self.scores) <= set(estimand.scores):
                continue
            if ends[0] <= self.scores[0] and self.scores[-1] <= ends[1]:
                fitting.append((ends[1] - ends[0], key))
        return _options([key for _, key in sorted(fitting)][:MOST_NAMED])

    def _ranked(self) -> bool:
        """Whether every rater gave the clips of every item the places 1, 2, 3 and so on."""
        scores = self.numbers[self.cells["score"].codes]
        answered = np.flatnonzero(self.rated & ~np.isnan(scores))
        rows = scores[answered]
        if len(rows) < 2 * FEWEST_ORDERS:
            return False
        groups = codes_of((self.cells[name] for name in _ORDERED), answered)
        if np.count_nonzero(rows == 1) != groups.max() + 1:
            return False
        order = np.lexsort((rows, groups))
        first = np.r_[True, np.diff(groups[order]) != 0]
        start = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
        places = np.arange(len(order)) - start + 1
        sizes = np.diff(np.r_[np.flatnonzero(first), len(order)])
        alike = np.array_equal(rows[order], places.astype(float))
        return alike and len(sizes) >= FEWEST_ORDERS and int(sizes.min()) > 1


def _scales() -> dict[str, Scale]:
    """The scale that each method has unless a study says otherwise; not of those without one."""
    scales = {}
    for key, method in sorted(Method.registry.items()):
        try:
            scales[key] = method().scale({})
        except ValueError:
            continue
    return scales


def _free() -> str:
    """The method whose answers may have any score, or none."""
    return next(key for key, m in Method.registry.items() if m.estimand.maybe_without_score)


def _ends(scale: Scale) -> tuple[float, float] | None:
    if scale.widget == "transcript":
        return 0.0, 1.0  # the share of words right
    if scale.span:
        return scale.span[0], scale.span[1]
    scores = [step.score for step in scale.steps if step.score is not None]
    return (min(scores), max(scores)) if scores else None


def _span(scores: list[float]) -> str:
    low, high = f"{scores[0]:g}", f"{scores[-1]:g}"
    return low if low == high else f"{low} to {high}"


def _options(keys: list[str]) -> str:
    named = enumerated([f"{key} ({estimand_of_method(key).name})" for key in keys], "or")
    return "--set method=METHOD" + (f", where METHOD is {named}" if keys else "")
