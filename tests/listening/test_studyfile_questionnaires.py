"""Questionnaires are read from study.toml, every mistake is named, and they are written back."""

from __future__ import annotations

import json

import pytest

from listening.design.questionnaires import PREFER_NOT
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.questionnaire_tables import questionnaire_table, read_questionnaires
from tests.listening.sample_questionnaire import ABOUT, about, read


def test_a_questionnaire_is_read_into_plain_json() -> None:
    found = about()
    assert json.loads(json.dumps(found)) == found
    assert (found["key"], found["when"], found["title"]) == ("about", "before", "About you")
    hearing, aid, _kind, age, languages, tired = found["questions"]
    assert [option["value"] for option in hearing["options"]] == ["normal", "loss", PREFER_NOT]
    assert hearing["screen_out"] == ["loss"]
    assert aid["show_if"] == {"question": "hearing", "answers": ["loss"]}
    assert aid["options"] == [{"value": "yes", "text": "yes"}, {"value": "no", "text": "no"}]
    assert (age["low"], age["high"], age["options"][0]["value"]) == (18, 99, PREFER_NOT)
    assert not languages["required"]
    texts = [option["text"] for option in tired["options"]]
    assert texts == ["wide awake", "", "", "", "very tired"]


@pytest.mark.parametrize(
    ("old", "new", "place", "what", "remedy"),
    [
        ('key = "about"', "", "[1].key", "missing", "key ="),
        ('title = "About you"', 'titel = "x"', "[1].titel", "no field", "title"),
        ('title = "About you"', 'when = "later"', "[1].when", "none of", ""),
        ('title = "About you"', 'when = "after"', "[1].questions[1].screen_out", "nobody", "befor"),
        ('title = "About you"', 'use = "demographic"', "[1].use", "no ready", "demographics"),
        ('title = "About you"', "use = 3", "[1].use", "a whole number", "["),
        ('kind = "text"', 'kind = "essay"', "[1].questions[3].kind", "none of", "Choose"),
        ('kind = "text"', "", "[1].questions[3].kind", "missing", "kind ="),
        ('key = "aid"', 'key = "hearing"', "[1].questions[2].key", "already", "another name"),
        ('key = "aid"', 'key = "an aid"', "[1].questions[2].key", "only letters", ""),
        ('question = "How old are you?"', "", "[1].questions[4].question", "missing", ""),
        ('options = ["yes", "no"]', "", "[1].questions[2].options", "missing", "options ="),
        ('options = ["yes", "no"]', 'options = ["yes"]', "[1].questions[2].options", "alone",
         "two"),
        ('options = ["yes", "no"]', "options = []", "[1].questions[2].options", "alone", "two"),
        ('options = ["yes", "no"]', 'options = "yes"', "[1].questions[2].options", "no list", "["),
        ('options = ["yes", "no"]', 'options = ["yes", "yes"]', "[1].questions[2].options",
         "twice", "Keep one"),
        ('options = ["yes", "no"]', 'options = ["yes", "prefer_not"]', "[1].questions[2].options",
         "own", "prefer_not = true"),
        ('options = ["yes", "no"]', 'options = ["yes", {value = "no"}]',
         "[1].questions[2].options", "an option is", "Write one"),
        ('options = ["yes", "no"]', 'options = ["yes", ""]', "[1].questions[2].options", "empty",
         "Fill"),
        ('options = ["English", "Chinese", "French"]', "options = []",
         "[1].questions[5].options", "empty", "one"),
        ('answers = ["loss"]', 'answers = ["los"]', "[1].questions[2].show_if.answers",
         "none of the answers", "loss"),
        ('answers = ["loss"]', "answers = []", "[1].questions[2].show_if.answers", "empty", "one"),
        (', answers = ["loss"]', "", "[1].questions[2].show_if.answers", "missing", ""),
        ('{ question = "hearing", answers', '{ question = "age", answers',
         "[1].questions[2].show_if.question", "before this one", "first"),
        ('{ question = "hearing", answers', '{ question = "aid", answers',
         "[1].questions[2].show_if.question", "before this one", "first"),
        ('{ question = "aid", answers', '{ question = "aids", answers',
         "[1].questions[3].show_if.question", "before this one", "“aid”"),
        ('{ question = "hearing", answers = ["loss"] }', '"hearing"', "[1].questions[2].show_if",
         "no table", "[questionnaires.questions.show_if]"),
        ('screen_out = ["loss"]', 'screen_out = ["deaf"]', "[1].questions[1].screen_out",
         "none of the answers", "“loss”"),
        ('screen_out = ["loss"]', 'screen_out = "loss"', "[1].questions[1].screen_out", "no list",
         "["),
        ("longest = 20", "longest = 0", "[1].questions[3].longest", "outside", ""),
        ("longest = 20", "other = true", "[1].questions[3].other", "no “other”", "“many”"),
        ("longest = 20", "covariate = true", "[1].questions[3].covariate", "cannot be", "number"),
        ('options = ["yes", "no"]', 'options = ["yes", "other"]\nother = true',
         "[1].questions[2].options", "stands for the answer", "Remove"),
        ('kind = "scale"\nlow = 1\nhigh = 5', 'kind = "slider"\nlow = 0\nhigh = 2000',
         "[1].questions[6].high", "slider from 0 to 2000", "1,001"),
        ("longest = 20", "low = 3", "[1].questions[3].low", "no “low”", "“number”, “scale”"),
        ("longest = 20", 'screen_out = ["x"]', "[1].questions[3].screen_out", "chosen", "one"),
        ("high = 99", "high = 9", "[1].questions[4].high", "at most 9", "Exchange"),
        ("high = 99", "longest = 9", "[1].questions[4].longest", "no “longest”", "“text”"),
        ("high = 99", 'options = ["1"]', "[1].questions[4].options", "no “options”", "“many”"),
        ("high = 5", "high = 50", "[1].questions[6].high", "cannot be shown", "11 points"),
        ("high = 5", "high = 2.5", "[1].questions[6].high", "cannot be shown", "whole"),
        ("high = 5", "", "[1].questions[6]", "first and its last", "low = 1"),
        ("{ value = 5", "{ value = 6", "[1].questions[6].options", "no point", "value ="),
        ("required = false", 'required = "no"', "[1].questions[3].required", "a text", "true or"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_place_and_remedy(
    old: str, new: str, place: str, what: str, remedy: str
) -> None:
    assert old in ABOUT
    _, problems = read(ABOUT.replace(old, new, 1))
    found = [p for p in problems if p.place == f"questionnaires{place}"]
    assert [what.casefold() in p.what.casefold() and remedy in p.remedy for p in found] == [True], (
        "\n".join(map(str, problems))
    )


def test_two_questionnaires_need_two_keys() -> None:
    _, (problem,) = read(ABOUT + ABOUT)
    assert problem.place == "questionnaires[2].key"


def test_a_show_if_on_a_text_is_a_mistake() -> None:
    toml = ABOUT.replace(
        '{ question = "hearing", answers = ["loss"] }', '{ question = "name", answers = ["x"] }'
    ).replace(
        '[[questionnaires.questions]]\nkey = "aid"\n',
        '[[questionnaires.questions]]\nkey = "name"\nquestion = "Your name?"\nkind = "text"\n\n'
        '[[questionnaires.questions]]\nkey = "aid"\n',
    )
    _, (problem,) = read(toml)
    assert "no answers to choose from" in problem.what


def test_a_questionnaire_without_questions_is_a_mistake() -> None:
    _, (problem,) = read('[[questionnaires]]\nkey = "empty"')
    assert "asks nothing" in problem.what
    assert '"demographics"' in problem.remedy


def test_several_mistakes_come_in_one_list() -> None:
    toml = ABOUT.replace('kind = "text"', 'kind = "essay"').replace('"About you"', "7")
    assert len(read(toml)[1]) == 2


def test_a_mistake_in_a_changed_ready_made_question_names_its_place() -> None:
    toml = (
        '[[questionnaires]]\nkey = "a"\nuse = "device"\n[[questionnaires.questions]]\n'
        'key = "place"\nscreen_out = ["noisi"]'
    )
    _, (problem,) = read(toml)
    assert problem.place == "questionnaires[1].questions[1].screen_out"
    assert "“noisy”" in problem.remedy


CHANGED = """
[[questionnaires]]
key = "changed"
when = "before"
text = "Some words."
use = ["demographics", "hearing"]

[[questionnaires.questions]]
key = "gender"
prefer_not = false
required = false

[[questionnaires.questions]]
key = "first_language"
longest = 500
required = true
help = ""
"""


@pytest.mark.parametrize("toml", [ABOUT, CHANGED], ids=["own", "changed"])
def test_a_questionnaire_is_written_as_it_was_read(toml: str) -> None:
    found, problems = read(toml)
    assert problems == []
    notes = Notebook()
    tables = [questionnaire_table(each) for each in found]
    assert read_questionnaires(tables, notes) == found
    assert len(notes) == 0
