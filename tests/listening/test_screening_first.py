"""Who may be screened out is told before a long form, and answers nothing twice."""

import json

import pytest
from django.test import Client

from listening.design.questionnaires import Incorrect, has_screening, next_part, visible
from listening.models import Session, Study
from listening.sessions.stages import AnsweredAlready, record_questionnaire, stage_of_session
from tests.factories import arrive, make_study

pytestmark = pytest.mark.django_db


def question(key: str, *screen_out: str, show_if: dict | None = None) -> dict:
    options = [{"value": value, "text": value} for value in ("yes", "no")]
    return {
        "key": key,
        "kind": "one",
        "question": f"{key}?",
        "help": "",
        "required": True,
        "options": options,
        "screen_out": list(screen_out),
        "show_if": show_if or {},
    }


def form(*questions: dict, when: str = "before", key: str = "you") -> dict:
    return {
        "key": key,
        "when": when,
        "title": "You",
        "text": "About you.",
        "use": [],
        "ready": [],
        "questions": list(questions),
    }


LONG = form(
    question("age"),
    question("wears"),
    question("hears", "no", show_if={"question": "wears", "answers": ["yes"]}),
    question("since", show_if={"question": "hears", "answers": ["yes"]}),
    question("city"),
)


def keys(session: Session) -> list[str]:
    page = Client().get(f"/api/s/{session.code}/").json()["questionnaire"]
    return [each["key"] for each in page["questions"]] if page else []


@pytest.fixture
def session() -> Session:
    return arrive(make_study(questionnaires=[form(question("first"), key="plain"), LONG]))


def test_questions_that_screen_out_come_first_of_all_with_those_that_lead_to_them(session):
    assert keys(session) == ["wears", "hears"]
    after = record_questionnaire(session, "you", {"wears": "yes", "hears": "yes"})
    assert keys(after) == ["first"]
    after = record_questionnaire(session, "plain", {"first": "yes"})
    assert keys(after) == ["age", "since", "city"]
    whole = record_questionnaire(session, "you", {"age": "yes", "since": "no", "city": "yes"})
    assert whole.questionnaires["you"]["answers"] == {
        **{"wears": "yes", "hears": "yes"},
        **{"age": "yes", "since": "no", "city": "yes"},
    }
    assert "partial" not in whole.questionnaires["you"]
    assert stage_of_session(whole).kind == "trial"
    assert whole.ready


def test_who_does_not_fit_answers_two_questions_and_no_more(session):
    ended = record_questionnaire(session, "you", {"wears": "yes", "hears": "no"})
    assert ended.status == "screened"
    assert ended.rejected_because == "questionnaire you: hears: no"
    assert ended.questionnaires["you"]["answers"] == {"wears": "yes", "hears": "no"}


def test_a_question_that_the_first_answers_hide_is_not_asked(session):
    record_questionnaire(session, "you", {"wears": "no"})
    record_questionnaire(session, "plain", {"first": "yes"})
    assert keys(session) == ["age", "city"]


def test_a_repeat_of_the_first_part_is_no_answer_to_the_second(session):
    first = {"wears": "yes", "hears": "yes"}
    record_questionnaire(session, "you", first)
    record_questionnaire(session, "plain", {"first": "yes"})
    assert record_questionnaire(session, "you", first).questionnaires["you"]["partial"] is True
    with pytest.raises(Incorrect, match="city"):
        record_questionnaire(session, "you", {"age": "yes", "since": "no"})
    record_questionnaire(session, "you", {"age": "yes", "since": "no", "city": "no"})
    again = record_questionnaire(session, "you", {"city": "yes"})
    assert again.questionnaires["you"]["answers"]["city"] == "no"


def test_the_second_part_cannot_be_sent_before_its_turn(session):
    with pytest.raises(AnsweredAlready):
        record_questionnaire(session, "plain", {"first": "yes"})


def test_a_form_whose_rest_is_hidden_by_the_first_answers_is_done():
    rest = question("since", show_if={"question": "hears", "answers": ["yes"]})
    session = arrive(make_study(questionnaires=[form(question("hears", "maybe"), rest)]))
    done = record_questionnaire(session, "you", {"hears": "no"})
    assert stage_of_session(done).kind == "trial"


@pytest.mark.parametrize(
    "whole",
    [
        form(question("a"), question("b")),
        form(question("a", "no"), question("b", "no")),
        form(question("a", "no"), question("b"), when="after"),
    ],
)
def test_forms_without_a_screening_part_stay_whole(whole):
    assert has_screening(whole) is (whole["when"] == "after")
    session = arrive(make_study(questionnaires=[whole]))
    if whole["when"] == "after":
        assert stage_of_session(session).kind == "trial"
        return
    assert keys(session) == ["a", "b"]


def test_both_parts_together_are_the_form():
    first = next_part(LONG, None)
    for given in ({"wears": "yes", "hears": "yes"}, {"wears": "no"}):
        rest = next_part(LONG, {"answers": given})
        asked = {q["key"] for part in (first, rest) for q in part["questions"]}
        shown = {q["key"] for q in visible(LONG["questions"], given)}
        assert shown <= asked
        assert not {q["key"] for q in first["questions"]} & {q["key"] for q in rest["questions"]}
    assert (first["text"], rest["text"]) == ("About you.", "")


def test_a_preview_walks_through_the_same_parts(admin_client):
    study = make_study(questionnaires=[LONG])
    page = admin_client.get(f"/studies/{study.key}/preview/?consent=yes").content.decode()
    state = json.loads(page.split('<script id="state" type="application/json">')[1].split("<")[0])
    stages = [s["questionnaire"]["questions"] for s in state["preview_stages"][:2]]
    assert [[q["key"] for q in questions] for questions in stages] == [
        ["wears", "hears"],
        ["age", "city"],
    ]
    assert Study.objects.get().questionnaires == [LONG]
