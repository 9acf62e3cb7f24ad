"""What a study asks twice, and its practice trials, enter no estimate: through real sessions."""

import pytest

from analysis.ratings.table import from_rows
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import screen
from analysis.statistics.screening.single_ratings import NotCounted, Repeat
from listening.models import Study
from listening.selectors import rating_rows
from listening.sessions import lifecycle
from tests.analysis.reference import BLANK
from tests.factories import an_answer, arrive, current, make_study


@pytest.fixture
def repeating(db) -> Study:
    study = make_study(
        conditions=2,
        items=6,
        traps={"training": 2},
        task={
            "block_size": 6,
            "ratings_per_stimulus": 2,
            "blocks_per_rater": 1,
            "repeats": 3,
            "training": [{"stimulus": "trap_training-0", "expected": ["5"]}],
        },
    )
    for _ in range(4):
        rate(study)
    return study


def rate(study: Study) -> None:
    """Real places get 4, what is asked twice and practice get 1."""
    session = arrive(study)
    while (trial := current(session)) is not None:
        lifecycle.record_answer(session, an_answer(trial, "4" if trial.slot_id else "1"))


def table_of_study(study: Study):
    return from_rows(rating_rows(study.key))


@pytest.mark.medium
def test_repeats_and_practice_are_in_the_table_and_in_no_estimate(repeating):
    table = table_of_study(repeating)
    assert len(table) == 4 * (1 + 6 + 3)
    for rules in ([], [NotCounted()]):
        kept = screen(table, rules).kept(rules)
        assert (len(kept), set(kept["score"])) == (24, {4.0})


@pytest.mark.medium
def test_a_repeat_is_told_as_one_and_not_as_a_place_that_others_have(repeating):
    counts = {row["rule"]: row for row in screen(table_of_study(repeating)).counts()}
    assert (counts["repeat"]["ratings"], counts["repeat"]["raters"]) == (12, 4)
    assert counts["not_counted"]["ratings"] == 0


@pytest.mark.slow
@pytest.mark.usefixtures("without_models", "answer_alone")
def test_the_report_of_a_study_with_repeats_rests_on_its_places_alone(repeating):
    from analysis.web.study_tables import study_report

    _, report = study_report(repeating.key, Options(replicates=200))
    assert report["data"]["ratings_kept"] == 24
    means = [e for e in report["estimates"] if e["estimand"] == "mos"]
    assert means
    assert {e["value"] for e in means} == {4.0}


def row(position, *, counts, **fields):
    common = {**BLANK, "condition": "A", "session": "s1", "rater": "r1", "stimulus": "x"}
    return {**common, "score": 3.0, "label": "3", "position": position, "counts": counts, **fields}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("second", "repeats"),
    [
        ({}, 1),
        ({"stimulus": "y"}, 0),  # a place that went to another rater
        ({"versus_stimulus": "y"}, 0),
        ({"context": "before"}, 0),
        ({"session": "s2"}, 0),
        ({"criterion": "quality"}, 0),
        ({"trap": "training", "trap_passed": None}, 0),
        ({"counts": True}, 0),
    ],
)
def test_a_repeat_is_the_same_question_about_the_same_clip_that_fills_no_place(second, repeats):
    rows = [row(1, counts=True), row(2, counts=False) | second]
    for order in (rows, rows[::-1]):
        reasons = screen(from_rows(order)).reasons[Repeat()]
        assert (reasons != "").sum() == repeats


@pytest.mark.medium
def test_the_first_rating_of_a_lost_block_is_no_repeat_of_its_own_repeat():
    table = from_rows([row(1, counts=False), row(2, counts=False)])
    judged = screen(table, [NotCounted()])
    assert list(judged.reasons[Repeat()] != "") == [False, True]
    assert list(judged.reasons[NotCounted()] != "") == [True, False]
