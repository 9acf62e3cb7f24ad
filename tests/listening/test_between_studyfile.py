"""Questionnaires between tasks and blocks in study.toml: read, mistakes named, written back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from listening.design.duration import QUESTION_S, estimate, form_s
from listening.design.studyfile import StudyFile, read_folder, toml_text
from tests.listening.folders import CONDITIONS, STUDY, make_folder, the_problem

TASKS = """
[[tasks]]
key = "naturalness"
method = "mos"
block_size = 1
blocks_per_session = 2
ratings_per_stimulus = 2

[[tasks]]
key = "liking"
method = "mos"
block_size = 1
ratings_per_stimulus = 2
"""
FORM = """
[[questionnaires]]
key = "effort"
WHEN

[[questionnaires.questions]]
key = "effort"
question = "How tiring was it?"
kind = "scale"
low = 1
high = 5
"""
AFTER, BETWEEN = 'when = "after_task"', 'when = "between_blocks"'


def toml(when: str, more: str = "") -> str:
    return STUDY + CONDITIONS + TASKS + FORM.replace("WHEN", when) + more


def study(folder: Path, when: str, more: str = "") -> StudyFile:
    reading = read_folder(make_folder(folder, toml(when, more)))
    assert reading.study is not None, reading.problems
    return reading.study


@pytest.mark.parametrize(
    ("when", "task", "every"),
    [
        (AFTER, [], None),
        (f'{AFTER}\ntask = "liking"', ["liking"], None),  # the last one
        (f'{AFTER}\ntask = ["liking", "naturalness"]', ["liking", "naturalness"], None),
        (BETWEEN, [], 1),
        (f'{BETWEEN}\ntask = "naturalness"\nevery = 1', ["naturalness"], 1),
    ],
)
def test_it_is_read_and_written_back(
    tmp_path: Path, when: str, task: list[str], every: int | None
) -> None:
    found = study(tmp_path / "one", when)
    (form,) = found.questionnaires
    assert (form["task"], form.get("every")) == (task, every)
    (tmp_path / "one/study.toml").write_text(toml_text(found), "utf-8")
    assert read_folder(tmp_path / "one").study == found


def test_what_is_asked_before_or_after_is_kept_as_ever(tmp_path: Path) -> None:
    (form,) = study(tmp_path, 'when = "after"').questionnaires
    assert not {"task", "every"} & form.keys()


@pytest.mark.parametrize(
    ("when", "place", "what", "remedy"),
    [
        (f'{AFTER}\ntask = "likeing"', "task", "no task “likeing”", "“liking”?"),
        (f'{AFTER}\ntask = ["liking", "x"]', "task", "no task “x”", "“naturalness”"),
        (f"{AFTER}\ntask = 1", "task", "a whole number", "["),
        (f"{AFTER}\nevery = 2", "every", "no “every”", '"between_blocks"'),
        ('when = "after"\ntask = "liking"', "task", "no “task”",
         '"after_task" or "between_blocks"'),
        ('task = "liking"', "task", 'when = "before"', "Remove it"),
        (f"{BETWEEN}\nevery = 0", "every", "outside", ""),
        (f'{BETWEEN}\ntask = "liking"', "task", "never be asked", "blocks_per_session"),
        (f'{BETWEEN}\ntask = ["naturalness", "liking"]', "task", "1 of “liking”", "after_task"),
        (f"{BETWEEN}\nevery = 2", "when", "never be asked", "Lower every"),
        ('when = "later"', "when", "“after_task”", "Choose"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_place_and_remedy(
    tmp_path: Path, when: str, place: str, what: str, remedy: str
) -> None:
    found = the_problem(tmp_path, toml(when))
    assert (found.file, found.place) == ("study.toml", f"questionnaires[1].{place}")
    assert what in found.what
    assert remedy in found.remedy


def test_nobody_is_screened_out_between_the_trials(tmp_path: Path) -> None:
    text = toml(AFTER).replace("high = 5", 'high = 5\nscreen_out = ["1"]')
    found = the_problem(tmp_path, text)
    assert found.place == "questionnaires[1].questions[1].screen_out"
    assert "have begun" in found.what


@pytest.mark.parametrize(
    "other",
    [
        '[[questionnaires]]\nkey = "a_b"\nQ"c"\n[[questionnaires]]\nkey = "a"\nQ"b_c"',
        '[[questionnaires]]\nkey = "effort"\nQ"x"',
    ],
)
def test_no_two_answers_share_a_column_of_the_export(tmp_path: Path, other: str) -> None:
    ask = '[[questionnaires.questions]]\nquestion = "?"\nkind = "text"\nkey = '
    found = the_problem(tmp_path, toml(AFTER, other.replace("Q", ask)))
    assert found.place.endswith(".key")
    assert "already" in found.what


@pytest.mark.parametrize(
    ("when", "times"),
    [(AFTER, 2), (f'{AFTER}\ntask = "liking"', 1), (BETWEEN, 1), ('when = "after"', 1)],
)
def test_it_takes_its_time_as_often_as_it_is_asked(tmp_path: Path, when: str, times: int) -> None:
    found = study(tmp_path, when)
    (form,) = found.questionnaires
    assert form_s(form, found.tasks, [1, 2]) == times * QUESTION_S["scale"]


@pytest.mark.parametrize(("plan", "times"), [("all", 2), ("one", 1)])
def test_who_gets_one_task_is_asked_after_that_one_only(
    tmp_path: Path, plan: str, times: int
) -> None:
    found = replace(study(tmp_path, AFTER), task_plan=plan)
    assert estimate(found, {}).seconds["questions"] == times * QUESTION_S["scale"]
