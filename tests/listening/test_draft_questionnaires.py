"""Questionnaires and criteria of a draft: added, moved, changed and removed by buttons."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from listening.design.draft_fields import UnknownField, field_value, put
from listening.design.draft_questionnaires import KINDS, OF_CRITERIA, PARTS, WHENS
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.questionnaire_tables import read_questionnaires
from listening.web.researcher.draft_forms import questionnaire_fields
from listening.web.researcher.draft_places import field_at

AT = "questionnaires.0.questions"


def draft() -> dict[str, Any]:
    task = {"key": "mos", "method": "mos", "title": "How natural?"}
    return {"study": {"key": "s"}, "tasks": [task, {"key": "ab", "method": "ab"}]}


def press(top: dict[str, Any], do: str, **form: str) -> str:
    return {**PARTS, **OF_CRITERIA}[do](top, form)


def with_questions(*kinds: str) -> dict[str, Any]:
    top = draft()
    press(top, "add-form", when="before")
    for kind in kinds:
        press(top, "add-question", place="0", kind=kind)
    return top


def keys(top: dict[str, Any]) -> list[str]:
    return [question["key"] for question in top["questionnaires"][0]["questions"]]


@pytest.mark.parametrize("when", list(WHENS))
@pytest.mark.parametrize("before", list(KINDS))
def test_a_question_of_any_kind_can_be_asked_at_any_time_and_become_any_other(
    before: str, when: str
) -> None:
    top = with_questions(before)
    put(top, "questionnaires.0.when", when)
    put(top, f"{AT}.1.prefer_not", True)
    for kind in KINDS:
        changed = deepcopy(top)
        assert press(changed, "question-kind", place="0.1", kind=kind) == "q0-1-kind"
        notes = Notebook()
        (form,) = read_questionnaires(changed["questionnaires"], notes)
        assert notes.in_order() == []
        assert (form["when"], len(form["questions"])) == (when, 2)


def test_questions_move_and_the_button_that_moved_them_is_named() -> None:
    top = with_questions("number", "short")
    assert press(top, "move-up", place="0.2") == "q0-1-up"
    assert keys(top) == ["question-1", "question-3", "question-2"]
    assert press(top, "move-down", place="0.2") == ""  # the last one
    assert press(top, "move-up", place="0.0") == ""
    press(top, "add-form", when="after")
    assert press(top, "move-up", place="1") == "q0-up"
    assert [form["when"] for form in top["questionnaires"]] == ["after", "before"]


def test_an_answer_that_is_said_otherwise_still_leads_where_it_led() -> None:
    top = with_questions("short")
    press(top, "question-rule", place="0.1", rule="question-1")
    put(top, f"{AT}.0.refused.1", True)
    put(top, f"{AT}.0.options", "often = Every day\nNever")
    first, second = top["questionnaires"][0]["questions"]
    assert first["options"] == [{"value": "often", "text": "Every day"}, "Never"]
    assert (first["screen_out"], second["show_if"]["answers"]) == (["Never"], ["often"])
    assert field_value(top, f"{AT}.0.options") == "often = Every day\nNever"
    put(top, f"{AT}.0.key", "assistants")
    assert second["show_if"]["question"] == "assistants"
    put(top, f"{AT}.1.leads.1", True)
    assert second["show_if"]["answers"] == ["often", "Never"]
    put(top, "questionnaires.0.when", "after")
    assert "screen_out" not in first


def test_translations_follow_the_questions_and_answers_that_they_translate() -> None:
    top = with_questions("many")
    top["study"]["translations"] = {"de": {}}
    at = "study.translations.de.questionnaires.questionnaire-1"
    put(top, f"{at}.title", "Über Sie")
    put(top, f"{at}.questions.question-1.question", "Tragen Sie ein Hörgerät?")
    put(top, f"{at}.questions.question-1.options.Yes", "Ja")
    put(top, f"{AT}.0.options", "Yes, St. Louis\nNo")
    put(top, f"{AT}.0.key", "aid")
    put(top, "questionnaires.0.key", "about")
    words = top["study"]["translations"]["de"]["questionnaires"]
    own = {"question": "Tragen Sie ein Hörgerät?", "options": {"Yes, St. Louis": "Ja"}}
    assert words == {"about": {"title": "Über Sie", "questions": {"aid": own}}}
    at = "study.translations.de.questionnaires.about.questions.aid"
    assert field_value(top, f"{at}.options.Yes, St. Louis") == "Ja"
    press(top, "question-kind", place="0.0", kind="number")
    assert not words["about"]["questions"]["aid"]["options"]
    press(top, "remove", place="0.0")
    assert words == {"about": {"title": "Über Sie", "questions": {}}}
    press(top, "remove", place="0")
    assert words == {}


def test_conditions_and_translations_follow_an_answer_that_moves_not_its_line() -> None:
    top = with_questions("short")
    put(top, f"{AT}.0.options", "Yes\nNo\nNot sure")
    top["study"]["translations"] = {"de": {}}
    at = "study.translations.de.questionnaires.questionnaire-1.questions.question-1"
    put(top, f"{at}.options.Yes", "Ja")
    press(top, "question-rule", place="0.1", rule="question-1")
    put(top, f"{AT}.0.refused.1", True)
    first, second = top["questionnaires"][0]["questions"]
    own = top["study"]["translations"]["de"]["questionnaires"]["questionnaire-1"]["questions"]
    put(top, f"{AT}.0.options", "No\nYes\nNot sure")
    assert own["question-1"]["options"] == {"Yes": "Ja"}
    for lines in ("No\nNo\nNot sure", "Yes\nNo\nNot sure"):
        put(top, f"{AT}.0.options", lines)
        assert (first["screen_out"], second["show_if"]["answers"]) == (["No"], ["Yes"])
    put(top, f"{AT}.0.options", "No\nYes\nPerhaps")
    put(top, f"{AT}.0.options", "No\nOften\nPerhaps")
    assert (first["screen_out"], second["show_if"]["answers"]) == (["No"], ["Often"])


def test_a_question_renamed_through_a_key_of_another_takes_only_its_own_conditions() -> None:
    top = with_questions("one", "short", "short")
    top["study"]["translations"] = {"de": {}}
    words = "study.translations.de.questionnaires.questionnaire-1.questions"
    put(top, f"{words}.question-1.question", "Erste")
    put(top, f"{words}.question-2.question", "Zweite")
    press(top, "question-rule", place="0.2", rule="question-1")
    press(top, "question-rule", place="0.3", rule="question-2")
    for key in ("question-2", "first"):
        put(top, f"{AT}.0.key", key)
    rules = [each["show_if"]["question"] for each in top["questionnaires"][0]["questions"][2:]]
    assert rules == ["first", "question-2"]
    assert field_value(top, f"{words}.first.question") == "Erste"
    assert field_value(top, f"{words}.question-2.question") == "Zweite"


@pytest.mark.parametrize("button", ["remove", "question-kind"])
def test_nothing_asks_for_answers_that_are_no_longer_there(button: str) -> None:
    top = with_questions("short")
    press(top, "question-rule", place="0.1", rule="question-1")
    press(top, button, place="0.0", kind="number")
    assert "show_if" not in top["questionnaires"][0]["questions"][-1]


def test_another_kind_keeps_what_fits_it() -> None:
    top = with_questions("short", "scale", "short")
    put(top, f"{AT}.0.options", "a\nb\nc")
    press(top, "question-rule", place="0.1", rule="question-1")
    press(top, "question-rule", place="0.3", rule="question-3")
    put(top, f"{AT}.0.refused.2", True)
    put(top, f"{AT}.2.refused.0", True)
    put(top, f"{AT}.2.high", "7")
    put(top, f"{AT}.2.options", "1 = low\n7 = high")
    press(top, "question-kind", place="0.0", kind="many")
    press(top, "question-kind", place="0.2", kind="slider")
    first, second, third, fourth = top["questionnaires"][0]["questions"]
    assert (first["options"], first["screen_out"]) == (["a", "b", "c"], ["c"])
    assert second["show_if"] == {"question": "question-1", "answers": ["a"]}
    assert (third["low"], third["high"], len(third["options"])) == (1, 7, 2)
    assert "screen_out" not in third
    assert "show_if" not in fourth
    put(top, f"{AT}.2.high", "100")
    press(top, "question-kind", place="0.2", kind="scale")
    assert (third["low"], third["high"]) == (1, 5)
    assert third["options"] == [{"value": "1", "text": "low"}]
    press(top, "question-kind", place="0.0", kind="scale")
    assert "show_if" not in second


def test_an_answer_that_is_gone_is_shown_where_a_rule_names_it_and_can_be_unticked() -> None:
    top = with_questions("short")
    press(top, "question-rule", place="0.1", rule="question-1")
    put(top, f"{AT}.0.refused.1", True)
    put(top, f"{AT}.0.options", "Never\nOften\nDaily")
    (form,) = questionnaire_fields(top)["forms"]
    ticks = [*form["questions"][0]["refused"], *form["questions"][1]["leads"]]
    gone = [each["name"] for each in ticks if each["gone"] and each["ticked"]]
    assert gone == [f"{AT}.0.refused.gone.No", f"{AT}.1.leads.gone.Yes"]
    put(top, f"{AT}.1.leads.1", True)
    for name in gone:
        put(top, name, False)
    first, second = top["questionnaires"][0]["questions"]
    assert "screen_out" not in first
    assert second["show_if"]["answers"] == ["Often"]


def test_a_question_above_the_one_that_decides_can_be_shown_always() -> None:
    top = with_questions("short")
    press(top, "question-rule", place="0.1", rule="question-1")
    press(top, "move-up", place="0.1")
    (form,) = questionnaire_fields(top)["forms"]
    moved = form["questions"][0]
    assert moved["rules"] == [("question-1", "Your question", True)]
    assert [each["words"] for each in moved["leads"] if each["ticked"]] == ["Yes"]
    notes = Notebook()
    read_questionnaires(top["questionnaires"], notes)
    (problem,) = notes.in_order()
    assert field_at(problem.place)[2] == "q0-0-show_if"
    press(top, "question-rule", place="0.0", rule="")
    assert "show_if" not in top["questionnaires"][0]["questions"][0]


def test_the_tasks_of_a_questionnaire_are_ticked() -> None:
    top = with_questions()
    put(top, "questionnaires.0.when", "after_task")
    put(top, "questionnaires.0.of.1", True)
    assert top["questionnaires"][0]["task"] == ["ab"]
    assert field_value(top, "questionnaires.0.of.1") is True
    put(top, "questionnaires.0.when", "before")
    assert "task" not in top["questionnaires"][0]


@pytest.mark.parametrize("place", ["", "9", "0.9", "x", "0.0.0", "9" * 5000, "0.-1"])
def test_a_place_that_is_not_there_changes_nothing(place: str) -> None:
    top = with_questions("many")
    before = deepcopy(top)
    for do in (*PARTS, *OF_CRITERIA):
        if do != "add-form":
            assert press(top, do, place=place, kind="one", rule="question-1") == ""
    assert top["questionnaires"] == before["questionnaires"]
    with pytest.raises(UnknownField):
        put(top, f"{AT}.7.key", "x")


def test_criteria_are_added_to_the_methods_own_moved_renamed_and_removed() -> None:
    top = draft()
    top["tasks"][0]["translations"] = {"de": {"criteria": {"criterion-1": {"question": "Wie?"}}}}
    assert press(top, "add-criterion", place="0") == "t0-c1"
    assert [each["key"] for each in top["tasks"][0]["criteria"]] == ["naturalness", "criterion-1"]
    put(top, "tasks.0.criteria.1.key", "effort")
    assert top["tasks"][0]["translations"]["de"]["criteria"] == {"effort": {"question": "Wie?"}}
    put(top, "tasks.0.criteria.1.options.points", "7")
    put(top, "tasks.0.criteria.1.options.names.7", "very hard")
    assert press(top, "criterion-up", place="0.1") == "t0-c0-up"
    first = top["tasks"][0]["criteria"][0]
    assert first["options"] == {"points": 7, "names": {"7": "very hard"}}
    assert press(top, "remove-criterion", place="0.1") == "t0-c0"
    assert press(top, "remove-criterion", place="0.0") == ""  # a task asks something
