"""Tasks whose raters read a judge's rubric, and questions that name the kind of their clip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.utils import translation

from listening import studies
from listening.design.studyfile import CSV, TOML, StudyFile, csv_text, read_folder, toml_text
from listening.methods.rubrics import RubricError, configure, full_name, shared_rubric
from listening.models import Session
from listening.studies.design_findings import task_findings
from listening.web.rater.page_facts import kind_facts
from tests.factories import make_user
from tests.listening.folders import (
    CONDITIONS,
    HEADER,
    ROWS,
    STUDY,
    TASK,
    csv_with,
    make_folder,
    the_problem,
)
from tests.listening.test_studies import media  # noqa: F401

HIERARCHY = '[tasks.options]\nrubric = "expressive_hierarchy.lfs_figure_13"\n'
TAGS = '[tasks.options]\nrubric = "nvv_tags.v2"\n'
KINDS = csv_with(*(f"{row},laughter" for row in ROWS), header=f"{HEADER},dimension")
NAMING = '[[tasks.criteria]]\nkey = "effect"\nquestion = "How convincing is the {dimension}?"\n'
OWN = """
criteria = "Is the melody alive?"
scale = "5 - yes. 1 - no."
system = "You listen."
user = "$criteria $scale"
points = { 5 = "Yes", 1 = "No" }
[[fields]]
name = "score"
kind = "score"
"""


def toml(more: str, language: str = "en") -> str:
    study = STUDY.rstrip() + f'\nlanguage = "{language}"\n'
    return study + CONDITIONS + TASK + more


def the_study(folder: Path, more: str, language: str = "en") -> StudyFile:
    reading = read_folder(make_folder(folder, toml(more, language), KINDS))
    assert reading.problems == ()
    assert reading.study is not None
    return reading.study


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "rubrics").mkdir()
    configure(tmp_path / "rubrics")
    yield tmp_path / "rubrics"
    configure(None)


def test_a_task_has_the_words_of_its_rubric_and_they_survive_writing(tmp_path: Path) -> None:
    study = the_study(tmp_path / "one", HIERARCHY)
    (task,) = study.tasks
    _, shared = shared_rubric("expressive_hierarchy.lfs_figure_13")
    assert task.instructions == shared.instructions(scale=True)
    assert "**" not in task.instructions
    assert task.options["names"]["5"] == "Masterful"
    assert task.options["step"] == 0.5
    again = make_folder(tmp_path / "again")
    (again / TOML).write_text(toml_text(study), "utf-8")
    (again / CSV).write_text(csv_text(study), "utf-8")
    assert read_folder(again).study == study


def test_of_several_criteria_each_is_asked_as_the_rubric_asks(tmp_path: Path) -> None:
    (task,) = the_study(tmp_path / "one", TAGS).tasks
    asked = shared_rubric("nvv_tags.v2")[1].questions
    assert [c.key for c in task.criteria] == [each.key for each in asked]
    assert [c.question for c in task.criteria] == [each.question for each in asked]
    assert [bool(c.options) for c in task.criteria] == [False, False, True, True, False]
    (some,) = the_study(tmp_path / "two", TAGS + '[[tasks.criteria]]\nkey = "quality"\n').tasks
    assert [c.question for c in some.criteria] == [asked[1].question]


def test_a_study_in_chinese_has_the_rubric_in_chinese(tmp_path: Path) -> None:
    (task,) = the_study(tmp_path / "one", HIERARCHY, "zh-Hans").tasks
    assert "情感变化与走向" in task.instructions
    assert task.options["names"]["5"] == "大师级"
    (tags,) = the_study(tmp_path / "two", TAGS, "zh-Hans").tasks
    assert "而且没有别的声音" in tags.criteria[3].question


@pytest.mark.parametrize(
    ("more", "where", "words"),
    [
        (
            '[tasks.options]\nrubric = "expressive_hierarchy.v9"\n',
            "tasks[1].options.rubric",
            "expressive_hierarchy.lfs_figure_13, expressive_hierarchy.v1",
        ),
        ('[tasks.options]\nrubric = "reason_codes.v1"\n', "options.rubric", "no part that raters"),
        (f"{HIERARCHY}step = 1\n", "options.step", "has step of its own: 0.5"),
        (f'{HIERARCHY}names = {{ 5 = "Top" }}\n', "options.names", "has names of its own: Mast"),
        (
            f'{TAGS}[[tasks.criteria]]\nkey = "quality"\nquestion = "How loud?"\n',
            "tasks[1].criteria[1].question",
            "asks: “How good is the sound?”",
        ),
    ],
)
def test_two_instruments_under_one_name_are_refused(
    tmp_path: Path, more: str, where: str, words: str
) -> None:
    problem = the_problem(tmp_path / "one", toml(more), KINDS)
    assert where in problem.place
    assert words in problem.what


def test_a_rubric_of_ones_own_is_named_with_its_mark(own: Path, tmp_path: Path) -> None:
    file = own / "prosodic_coherence.lab.toml"
    file.write_text(OWN, "utf-8")
    more = '[tasks.options]\nrubric = "prosodic_coherence.lab"\n'
    (task,) = the_study(tmp_path / "one", more).tasks
    assert task.options["rubric"] == full_name("prosodic_coherence.lab")
    assert task.instructions == "Is the melody alive?\n\n5 - yes. 1 - no."
    file.write_text(OWN.replace("alive", "lively"), "utf-8")
    with pytest.raises(RubricError, match="the file has changed and is prosodic"):
        shared_rubric(task.options["rubric"])


def test_a_pair_is_compared_by_the_criteria_without_the_scale_of_one_clip(tmp_path: Path) -> None:
    pairs = TASK.replace('method = "mos"', 'method = "preference"')
    study = STUDY + CONDITIONS + pairs + '[tasks.options]\nrubric = "prosodic_coherence.v1"\n'
    reading = read_folder(make_folder(tmp_path / "one", study))
    assert reading.problems == ()
    assert reading.study is not None
    (task,) = reading.study.tasks
    assert "1. Flow." in task.instructions
    assert "As from a practised human speaker" not in task.instructions
    assert "names" not in task.options


def test_a_rubric_that_is_not_here_any_more_is_a_finding_and_its_words_stay(
    own: Path, tmp_path: Path
) -> None:
    file = own / "prosodic_coherence.lab.toml"
    file.write_text(OWN, "utf-8")
    more = '[tasks.options]\nrubric = "prosodic_coherence.lab"\n'
    study = the_study(tmp_path / "one", more)
    file.unlink()
    again = make_folder(tmp_path / "again", toml_text(study), csv_text(study))
    assert read_folder(again).study == study
    assert any("a rubric that is not here" in str(each) for each in task_findings(study))


def test_clips_without_a_kind_that_questions_name_are_a_finding(tmp_path: Path) -> None:
    assert not any("{dimension}" in str(f) for f in task_findings(the_study(tmp_path, NAMING)))
    reading = read_folder(make_folder(tmp_path / "bare", toml(NAMING)))
    assert reading.study is not None
    (found,) = [f for f in task_findings(reading.study) if "{dimension}" in f.what]
    assert "“the sound that was asked for” in its place for i1, i2." in found.what


def test_a_kind_is_told_where_a_question_names_it_and_in_the_pages_language() -> None:
    task = {"criteria": [{"question": "Is it a {dimension}?", "help": ""}]}
    assert kind_facts("laughter", "", task) == {"dimension": "laughter"}
    assert kind_facts("", "so [laughs] and [sigh] so", task) == {"dimension": "laugh, sigh"}
    assert kind_facts("", "so", task) == {"dimension": "the sound that was asked for"}
    assert kind_facts("laughter", "", {"criteria": [{"question": "Good?", "help": ""}]}) == {}
    with translation.override("zh-Hans"):
        assert kind_facts("laughter", "", task) == {"dimension": "笑"}
        assert kind_facts("throat clearing", "", task) == {"dimension": "清嗓子"}
        assert kind_facts("陌生的声音", "", task) == {"dimension": "陌生的声音"}
        assert kind_facts("", "", task) == {"dimension": "要求的声音"}


@pytest.mark.medium
@pytest.mark.django_db
@pytest.mark.usefixtures("media")
def test_a_trial_says_what_its_clip_was_to_hold(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "one", toml(NAMING), KINDS)
    study = studies.create_study(folder, make_user())
    studies.open_study(study, anyway=True)
    Client().post(f"/r/{study.link}/", {"consent": "yes"})
    told = Client().get(f"/api/s/{Session.objects.latest('pk').code}/").json()
    assert told["tasks"][0]["criteria"][0]["question"] == "How convincing is the {dimension}?"
    assert {trial["dimension"] for trial in told["trials"]} == {"laughter"}
