"""A bare CSV of each method with a strong known effect: the right name, the right direction."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest

from analysis.ratings.problems import RatingsError
from analysis.ratings.table import read_csv
from analysis.report.parts.answer import Answer
from listening.methods import Method
from tests.analysis.shown_by import made

WON, LOST, CHANCE = 0.725, 0.275, 0.5  # shares of the ratings
RATERS, ITEMS = 10, 12


def ends_of(method: type[Method]) -> tuple[float, float]:
    """The lowest and the highest score that the method itself gives."""
    if method.estimand.in_places:
        return 1.0, 2.0  # places of two clips
    try:
        scale = method().scale({})
    except ValueError:  # the study's own scale
        return 1.0, 7.0
    if method.compares_text:
        return 0.0, 1.0
    if method.scores_by_text:
        return 0.0, 100.0
    if method.estimand.continuous and method.estimand.ends:
        return method.estimand.ends  # of a difference of grades
    if not scale.span and not scale.steps:  # each clip's own
        return method.estimand.ends or (0.0, 1.0)
    scores = scale.span[:2] if scale.span else [step.score or 0.0 for step in scale.steps]
    return min(scores), max(scores)


def rows_of(method: type[Method], a_is_better: bool) -> list[dict[str, Any]]:
    """A beats B in 72.5 % of the ratings, or B beats A; in ABX A is heard, or guessed at."""
    low, high = ends_of(method)
    share = WON if a_is_better else CHANCE if method.estimand.discriminates else LOST
    rows = []
    for rater in range(RATERS):
        for item in range(ITEMS):
            better = (7 * rater + 3 * item) % 40 < share * 40  # no rater and no item stands out
            place = {"rater": f"r{rater}", "item": f"i{item}"}
            best, worst = (low, high) if method.estimand.lowest_is_best else (high, low)
            of_a, of_b = (best, worst) if better else (worst, best)
            if method.estimand.in_pairs:
                compared = {"condition": "A", "versus_condition": "B"}
                rows.append({**place, **compared, "score": f"{of_a:g}"})
            else:
                rows.append({**place, "condition": "A", "score": f"{of_a:g}"})
                rows.append({**place, "condition": "B", "score": f"{of_b:g}"})
    return rows


def wrote(folder: Path, rows: list[dict[str, Any]]) -> Path:
    path = folder / "bare.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


KINDS = ("ab", "abx", "cmos", "mos", "rank")  # of which A loses too: others are told alike
DIRECTIONS = [
    pytest.param(
        *(key, a_is_better),
        id=f"{key}-{'A wins' if a_is_better else 'A loses'}",
        marks=[] if a_is_better or key in KINDS else pytest.mark.soak,
    )
    for key in sorted(Method.registry)
    for a_is_better in (True, False)
]


@pytest.mark.parametrize(("key", "a_is_better"), DIRECTIONS)
@pytest.mark.medium
def test_a_strong_effect_is_told_by_its_name_and_in_its_direction(
    key: str, a_is_better: bool, tmp_path: Path
) -> None:
    method = Method.registry[key]
    reading = read_csv(wrote(tmp_path, rows_of(method, a_is_better)), constants={"method": key})
    assert reading.notes == ()
    assert set(reading.table["estimand"]) == {method.estimand.key}
    shown = made(Answer, reading.table)
    (text,), (figure,) = shown.sentences, shown.figures
    assert figure.title.startswith(f"{method.estimand.name} · ")
    assert figure.x == method.estimand.axis
    if method.estimand.discriminates:
        heard = "The difference is heard in A versus B"
        assert text.startswith(heard) is a_is_better
        assert ("not significantly better than guessing in A versus B" in text) is not a_is_better
    elif method.estimand.in_pairs:
        assert text.startswith("Against B: A (")
        assert (") is preferred (" in text, ") is less preferred (" in text) == (
            a_is_better,
            not a_is_better,
        )
    else:
        best = "A" if a_is_better else "B"
        assert text.startswith(f"{best} ({method.estimand.name} ")


@pytest.mark.medium
@pytest.mark.parametrize("key", sorted(Method.registry))
def test_without_a_method_there_is_a_question_or_a_guess_that_is_named(
    key: str, tmp_path: Path
) -> None:
    path = wrote(tmp_path, rows_of(Method.registry[key], a_is_better=False))
    try:
        reading = read_csv(path)
    except RatingsError as error:
        (problem,) = error.problems
        assert problem.startswith("bare.csv: no column method, and ")
        assert re.search(rf"\b{key}\b", problem)
    else:
        low, high = ends_of(Method.registry[key])
        assert low == 1.0
        assert high <= 5.0
        assert reading.notes == (
            f"No column says the method: scores of 1 to {high:g} are taken for MOS. If they are "
            "not, say --set method=METHOD.",
        )


@pytest.mark.medium
@pytest.mark.parametrize("key", sorted(Method.registry))
def test_the_estimand_alone_tells_the_method_and_both_must_agree(key: str, tmp_path: Path) -> None:
    estimand = Method.registry[key].estimand.key
    path = wrote(tmp_path, rows_of(Method.registry[key], a_is_better=True))
    assert set(read_csv(path, constants={"estimand": estimand}).table["method"]) == {key}
    other = "mushra" if key != "mushra" else "mos"
    with pytest.raises(RatingsError, match=rf"is '{other}', and the mean of {key} is {estimand}"):
        read_csv(path, constants={"method": key, "estimand": other})
