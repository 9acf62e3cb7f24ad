"""Questionnaires: which questions are asked, which answers fit, who is screened out."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from listening.design import questionnaires
from listening.design.questionnaires import (
    PREFER_NOT,
    READY_MADE,
    SEVERAL_TITLE,
    TITLES,
    Incorrect,
    checked,
    next_part,
    page,
    screens_out,
    visible,
)
from listening.design.questions import QuestionKind
from listening.design.studyfile.questionnaire_tables import questionnaire_table
from tests.listening.sample_questionnaire import ABOUT, about, read

WHOLE = {"hearing": "normal", "age": 30, "tired": "2"}


def complaints(answers: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(Incorrect) as caught:
        checked(about(), answers)
    return caught.value.fields


def test_only_the_questions_that_the_answers_lead_to_are_asked() -> None:
    questions = about()["questions"]

    def keys(answers: dict[str, Any]) -> list[str]:
        return [question["key"] for question in visible(questions, answers)]

    always = ["hearing", "age", "languages", "tired"]
    assert keys({}) == always
    assert keys({"hearing": "loss"}) == ["hearing", "aid", *always[1:]]
    assert "aid_kind" in keys({"hearing": "loss", "aid": "yes"})
    assert keys({"hearing": "normal", "aid": "yes"}) == always  # what is hidden leads nowhere


MORE_KINDS = """
[[questionnaires]]
key = "about"

[[questionnaires.questions]]
key = "device"
question = "What do you listen with?"
kind = "one"
options = ["Headphones", "Earbuds"]
other = true

[[questionnaires.questions]]
key = "born"
question = "When were you born?"
kind = "birth_date"

[[questionnaires.questions]]
key = "effort"
question = "How hard was it?"
kind = "slider"
low = 0
high = 100
options = [{ value = 0, text = "easy" }, { value = 100, text = "hard" }]
"""


@pytest.mark.parametrize("key", QuestionKind.registry)
def test_each_kind_takes_the_answer_of_a_simulated_rater_and_has_a_class_on_the_page(
    key: str,
) -> None:
    assert QuestionKind.registry[key].answer_problems() == []
    script = (Path(__file__).parents[2] / "static/js/rater/question.js").read_text("utf-8")
    assert re.search(rf'\b{key}"?\]?: [A-Z]\w+', script.partition("export const kinds")[2])


def test_other_is_said_in_words_and_comes_back_as_one_line_of_the_file() -> None:
    (form,), problems = read(MORE_KINDS)
    assert problems == []
    answers = {"device": "other", "born": "1990-01-31", "effort": "40"}
    with pytest.raises(Incorrect) as caught:
        checked(form, answers)
    assert list(caught.value.fields) == ["device_other"]
    answers["device_other"] = "a loudspeaker"
    assert checked(form, answers)["device_other"] == "a loudspeaker"
    assert "device_other" not in checked(form, answers | {"device": "Earbuds"})
    first, second, *_ = page(form, lambda text: f"<{text}>")["questions"]
    assert [each["text"] for each in first["options"]] == ["Headphones", "Earbuds", "<Other>"]
    assert second["question"] == "<Please say which.>"
    table = questionnaire_table(form)
    assert [q["key"] for q in table["questions"]] == ["device", "born", "effort"]
    assert table["questions"][0]["other"] is True


@pytest.mark.parametrize(
    ("born", "age"),
    [("1990-06-14", 36), ("1990-06-15", 36), ("1990-06-16", 35), ("2026-06-15", 0)],
)
def test_a_date_of_birth_is_kept_as_the_age_alone(
    born: str, age: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questionnaires, "today", lambda: date(2026, 6, 15))
    (form,), _ = read(MORE_KINDS)
    given = {"device": "Earbuds", "effort": 3, "born": born}
    assert checked(form, given) == {**given, "born": age}


@pytest.mark.parametrize("born", ["15 June 1990", "2099-01-01", "1880-01-01", 1990])
def test_what_is_no_date_of_birth_is_refused(born: Any) -> None:
    (form,), _ = read(MORE_KINDS)
    with pytest.raises(Incorrect, match="born: Please enter your date of birth"):
        checked(form, {"device": "Earbuds", "effort": 3, "born": born})


@pytest.mark.parametrize(
    ("answer", "said"),
    [("101", "from 0 to 100"), ("2.5", "from 0 to 100"), ("high", "number"), ("", "answer this")],
)
def test_a_slider_takes_whole_numbers_between_its_ends(answer: str, said: str) -> None:
    (form,), _ = read(MORE_KINDS)
    with pytest.raises(Incorrect, match=said):
        checked(form, {"device": "Earbuds", "born": "1990-01-31", "effort": answer})


def test_a_choice_of_many_and_a_scale_lead_on_too() -> None:
    base = {"show_if": None}
    many = {"key": "many", **base}
    after = {"key": "b", "show_if": {"question": "many", "answers": ["2", "x"]}}
    for answer, asked in ((["x", "y"], True), (["y"], False), (2, True), (3, False)):
        assert (after in visible([many, after], {"many": answer})) == asked


def test_answers_are_kept_in_their_types_and_hidden_ones_are_dropped() -> None:
    given = {
        **WHOLE,
        "aid": "yes",
        "age": " 42 ",
        "languages": ["French", "English", "French"],
        "unknown": {"x": 1},
    }
    assert checked(about(), given) == {
        "hearing": "normal",
        "age": 42,
        "languages": ["English", "French"],
        "tired": 2,
    }


def test_everything_that_is_missing_is_named_at_once() -> None:
    assert complaints({}) == dict.fromkeys(
        ("hearing", "age", "tired"), "Please answer this question."
    )
    assert set(complaints({**WHOLE, "hearing": "loss"})) == {"aid"}
    assert set(complaints({**WHOLE, "hearing": "", "age": None})) == {"hearing", "age"}


@pytest.mark.parametrize(
    ("key", "answer", "words"),
    [
        ("age", "17", "a number from 18 to 99"),
        ("age", 100, "a number from 18 to 99"),
        ("age", "thirty", "in digits"),
        ("age", "1e2", "in digits"),
        ("age", "1,000", "a number from 18 to 99"),
        ("age", "20,5,1", "in digits"),
        ("age", "1.000,5", "in digits"),
        ("age", "1" * 400, "in digits"),
        ("age", True, "in digits"),
        ("age", float("nan"), "in digits"),
        ("age", ["30"], "in digits"),
        ("hearing", "Yes", "choose one"),
        ("hearing", ["normal"], "choose one"),
        ("hearing", 1, "choose one"),
        ("languages", ["Klingon"], "choose one"),
        ("languages", [["English"]], "choose one"),
        ("languages", {"English": True}, "choose one"),
        ("languages", ["English", PREFER_NOT], "not both"),
        ("tired", 6, "choose one"),
        ("tired", "2.0", "choose one"),
        ("tired", True, "choose one"),
        ("tired", PREFER_NOT, "choose one"),
    ],
)
def test_an_answer_that_does_not_fit_is_explained(key: str, answer: Any, words: str) -> None:
    found = complaints({**WHOLE, key: answer})
    assert set(found) == {key}
    assert words in found[key]


@pytest.mark.parametrize(
    ("written", "number"),
    [("18", 18), ("19,5", 19.5), ("19.5", 19.5), ("+20", 20), ("３０", 30), (33.0, 33)],
)
def test_numbers_are_read_as_people_write_them(written: Any, number: float) -> None:
    kept = checked(about(), {**WHOLE, "age": written})["age"]
    assert kept == number
    assert isinstance(kept, type(number))


@pytest.mark.parametrize(
    ("written", "low", "high", "number"),
    [
        (".5", None, None, 0.5),
        ("-,5", None, None, -0.5),
        ("١٫٧", None, None, 1.7),
        ("1,750", 0, 3, 1.75),
        ("0,750", None, None, 0.75),
        ("1,750", 0, None, None),  # 1.75 or 1750
        ("١,٧٥٠", None, None, None),
        (".", None, None, None),
    ],
)
def test_one_separator_is_the_decimal_sign_unless_the_limits_allow_thousands(
    written: str, low: float | None, high: float | None, number: float | None
) -> None:
    question = {"key": "n", "question": "How much?", "kind": "number", "low": low, "high": high}
    given = {name: value for name, value in question.items() if value is not None}
    form = {"key": "q", "when": "before", "questions": [given]}
    ((asked,), problems) = read(tomli_w.dumps({"questionnaires": [form]}))
    assert problems == []
    if number is None:
        with pytest.raises(Incorrect, match="in digits"):
            checked(asked, {"n": written})
    else:
        assert checked(asked, {"n": written}) == {"n": number}


def test_who_prefers_not_to_say_has_answered() -> None:
    answers = {"hearing": PREFER_NOT, "age": PREFER_NOT, "languages": [PREFER_NOT], "tired": 1}
    assert checked(about(), answers) == answers


def test_a_text_is_trimmed_measured_and_freed_from_control_characters() -> None:
    shown = {**WHOLE, "hearing": "loss", "aid": "yes"}
    kept = checked(about(), {**shown, "aid_kind": " be\0hind\r\nthe ear "})
    assert kept["aid_kind"] == "behind\nthe ear"
    found = complaints({**shown, "aid_kind": "x" * 21})
    assert found == {"aid_kind": "Please shorten this to 20 characters; it has 21."}
    assert complaints({**shown, "aid_kind": 7}) == {"aid_kind": "Please answer in words."}
    assert "aid_kind" not in checked(about(), {**shown, "aid_kind": "  "})


def test_half_open_limits_are_explained() -> None:
    question = {**about()["questions"][3]}
    for change, answer, words in (
        ({"high": None}, "3", "at least 18"),
        ({"low": None}, "100", "at most 99"),
    ):
        form = {"questions": [question | change]}
        with pytest.raises(Incorrect) as caught:
            checked(form, {"age": answer})
        assert words in caught.value.fields["age"]


def test_sentences_are_translated_with_their_numbers() -> None:
    words = {"Please write a number from %(low)s to %(high)s.": "Zahl %(low)s–%(high)s!"}
    with pytest.raises(Incorrect) as caught:
        checked(about(), {**WHOLE, "age": 3})
    assert caught.value.translated_fields(lambda text: words.get(text, text)) == {
        "age": "Zahl 18–99!"
    }


def test_only_a_question_that_was_asked_screens_out() -> None:
    assert screens_out(about(), checked(about(), WHOLE)) == ""
    answers = {**WHOLE, "hearing": "loss", "aid": "no"}
    assert screens_out(about(), checked(about(), answers)) == "hearing: loss"
    hidden = about()
    hidden["questions"][1]["screen_out"] = ["no"]
    assert screens_out(hidden, {"hearing": "normal", "aid": "no"}) == ""
    assert screens_out(hidden, answers) == "hearing: loss; aid: no"


def test_a_scale_point_and_one_of_many_screen_out() -> None:
    form = about()
    form["questions"][5]["screen_out"] = ["5"]
    form["questions"][4]["screen_out"] = ["French"]
    given = {**WHOLE, "tired": "5", "languages": ["English", "French"]}
    assert screens_out(form, checked(form, given)) == "languages: French; tired: 5"


def test_the_page_does_not_tell_who_is_screened_out() -> None:
    told = page(about())
    assert set(told) == {"key", "title", "text", "questions"}
    assert "screen" not in json.dumps(told)
    assert set(told["questions"][0]) == {
        "key", "question", "help", "kind", "options", "required", "low", "high", "longest",
        "show_if",
    }  # fmt: skip


def test_our_words_are_translated_and_the_study_s_are_not() -> None:
    toml = ABOUT.replace('title = "About you"', 'use = "hearing"').replace(
        'key = "hearing"\nquestion', 'key = "own"\nquestion', 1
    )
    (form,), problems = read(toml.replace('question = "hearing"', 'question = "own"'))
    assert problems == []
    told = page(form, str.upper)
    assert told["title"] == "YOUR HEARING"
    ready, own = told["questions"][0], told["questions"][1]
    assert ready["question"] == "IS YOUR HEARING NORMAL?"
    assert ready["help"] == ""
    assert ready["options"][1]["text"].startswith("NO, I HEAR")
    assert own["question"] == "Is your hearing normal?"
    assert [option["text"] for option in own["options"]] == ["Yes", "No", "I PREFER NOT TO SAY"]


ONE_LANGUAGE = """
[[questionnaires]]
key = "languages"
use = "fluent_languages"

[[questionnaires.questions]]
key = "fluent_languages"
screen_out_unless = ["{language}"]
"""


def test_raters_must_speak_the_language_of_their_pages_and_the_page_does_not_say_so() -> None:
    (form,), problems = read(ONE_LANGUAGE)
    assert problems == []

    def ends(answer: list[str], language: str) -> str:
        return screens_out(form, checked(form, {"fluent_languages": answer}), language)

    assert ends(["en", "zh"], "zh-Hans") == ends(["en", "zh"], "en-GB") == ""
    assert ends(["en"], "zh-Hans") == "fluent_languages: en (none of zh)"
    assert ends([PREFER_NOT], "en") == "fluent_languages: prefer_not (none of en)"
    assert ends(["other"], "fi") == ""  # no answer of its own
    assert ends(["en"], "fi") == "fluent_languages: en (none of other)"
    assert "screen" not in json.dumps(page(form))
    assert "{language}" not in json.dumps(page(form))
    assert questionnaire_table(form)["questions"] == [
        {"key": "fluent_languages", "screen_out_unless": ["{language}"]}
    ]


@pytest.mark.parametrize(
    ("line", "where", "words"),
    [
        ('screen_out_unless = ["klingon"]', "screen_out_unless", "none of the answers"),
        ('kind = "text"\noptions = []\nscreen_out_unless = ["en"]', "", "are chosen can screen"),
    ],
)
def test_an_answer_that_is_needed_must_be_one_of_those_offered(
    line: str, where: str, words: str
) -> None:
    _, problems = read(ONE_LANGUAGE.replace('screen_out_unless = ["{language}"]', line))
    assert any(where in str(each) and words in str(each) for each in problems)


def test_who_must_give_an_answer_is_asked_first() -> None:
    toml = ONE_LANGUAGE.replace('"fluent_languages"\n\n', '["fluent_languages", "device"]\n\n', 1)
    (form,), problems = read(toml)
    assert problems == []
    assert [q["key"] for q in next_part(form, None)["questions"]] == ["fluent_languages"]


@pytest.mark.parametrize("name", sorted(READY_MADE))
def test_ready_made_questions_are_right(name: str) -> None:
    (form,), problems = read(f'[[questionnaires]]\nkey = "a"\nuse = "{name}"')
    assert problems == []
    assert page(form)["title"] == TITLES[name]
    asked = [question["key"] for question in form["questions"]]
    assert asked == form["ready"] == [question["key"] for question in READY_MADE[name]]


def test_ready_made_sets_are_joined_and_changed() -> None:
    toml = """
    [[questionnaires]]
    key = "all"
    use = ["demographics", "device"]

    [[questionnaires.questions]]
    key = "listening_device"
    screen_out = ["loudspeaker"]

    [[questionnaires.questions]]
    key = "notes"
    question = "Anything else?"
    kind = "text"
    required = false
    """
    (form,), problems = read(toml)
    assert problems == []
    keys = [question["key"] for question in form["questions"]]
    assert keys == [
        *("gender", "age", "native_speaker", "first_language"),
        *("listening_device", "place", "notes"),
    ]
    assert page(form)["title"] == SEVERAL_TITLE
    assert screens_out(form, {"listening_device": "loudspeaker"}) == "listening_device: loudspeaker"
    assert form["ready"] == keys[:-1]
    assert questionnaire_table(form)["questions"] == [
        {"key": "listening_device", "screen_out": ["loudspeaker"]},
        {"key": "notes", "question": "Anything else?", "kind": "text", "required": False},
    ]
