"""Evidence about a session: facts with numbers, from what was really stored."""

from __future__ import annotations

import pytest
from django.test import Client

from listening.models import Justification, Session, Trial
from listening.recruitment.evidence import evidence_of
from listening.sessions import lifecycle
from listening.studies.length import session_length
from tests.factories import an_answer, answer_all, arrive, current, make_study

pytestmark = pytest.mark.django_db
REASON = "The pause before the verb is too short, and the last word falls."


def with_reasons(study, reasons, **typing):
    session = arrive(study)
    for text in reasons:
        answer = an_answer(current(session), justification={"text": text, **typing})
        lifecycle.record_answer(session, answer)
    return session


@pytest.mark.medium
def test_facts_are_counted_from_what_is_stored():
    study = make_study(key="facts", items=20, task={"ratings_per_stimulus": 4})
    plain = with_reasons(study, [f"{REASON} {n}" for n in range(5)], keystrokes=40, typing_ms=9000)
    fast = with_reasons(study, [f"Other words, number {n}" for n in range(5)], typing_ms=500)
    same = with_reasons(study, [f"{REASON} 0", f"{REASON} 1", "Good."], typing_ms=9000)
    pasted = with_reasons(study, ["This one came from the clipboard"], typing_ms=1, pasted_chars=32)
    known = evidence_of(study)
    assert known[plain.pk].signs == ["2 of 5 reasons are another rater's words"]
    assert known[fast.pk].signs == ["5 of 5 reasons typed faster than 12 keystrokes a second"]
    assert (known[same.pk].shared, known[same.pk].reasons) == (2, 3)
    assert (known[pasted.pk].typed_fast, known[pasted.pk].pasted) == (0, 1)
    assert known[plain.pk].answered == 5


@pytest.mark.medium
@pytest.mark.parametrize(
    ("text", "is_own"),
    [
        ("It sounds like a real person to me.", False),
        ("The pause before the verb is too short, and the last word falls.", True),
        ("听起来像真人在说话。", False),
        ("第二个词前面的停顿太短，而且句尾的声调听起来不自然。", True),
    ],
)
def test_short_sentences_that_people_share_are_no_bot_indicator(text, is_own):
    study = make_study(key="shared", task={"ratings_per_stimulus": 4})
    one, other = (with_reasons(study, [words], typing_ms=9000) for words in (text, text.upper()))
    expected = ["1 of 1 reasons are another rater's words"] if is_own else []
    assert evidence_of(study)[one.pk].signs == expected
    assert evidence_of(study, [other.pk])[other.pk].signs == expected


def test_dictated_words_are_not_typed_fast():
    study = make_study(key="dictated")
    text = "The whole sentence was spoken into a phone"
    session = with_reasons(study, [text], keystrokes=8, typing_ms=1_200)
    assert evidence_of(study)[session.pk].signs == []
    Justification.objects.update(keystrokes=len(text))
    assert evidence_of(study)[session.pk].typed_fast == 1


def test_a_driven_browser_and_repeats_are_counted():
    study = make_study(key="driven")
    session = arrive(study)
    answer_all(session)
    marks = {"driven": True, "pointer_jumps": 1, "scripted_events": "none"}
    Trial.objects.filter(session=session, position__lte=2).update(playback=marks)
    known = evidence_of(study)[session.pk]
    assert (known.jumped, known.scripted) == (2, 0)
    assert evidence_of(study, [session.pk])[session.pk].signs == known.signs
    assert evidence_of(study, [-1]) == {}
    assert known.driven == 2
    assert known.repeated == Justification.objects.count() - 1
    assert "2 clips in a browser that a program drives" in known.sentences()


@pytest.mark.medium
def test_the_studys_length_decides_how_many_failed_checks_are_too_many():
    study = make_study(key="checked")
    session = arrive(study)
    answer_all(session)
    first = Trial.objects.filter(session=session, position=1)
    assert evidence_of(study)[session.pk].study_minutes == 0  # not needed
    first.update(trap="attention", trap_passed=False)
    known = evidence_of(study)[session.pk]
    assert (known.fair_failed, known.study_minutes) == (1, session_length(study).minutes)
    assert known.fails_fair_checks == (session_length(study).minutes < 5)


def test_a_program_that_says_who_it_is_is_noted_and_forgotten_with_the_rest():
    study = make_study(key="agents")
    header = {"Signature-Agent": '"https://agent.example"'}
    Client().post(f"/r/{study.link}/", {"consent": "yes"}, headers=header)
    session = Session.objects.get()
    assert session.agent == "https://agent.example"
    known = evidence_of(study)[session.pk]
    assert known.signs == ["came as a program: https://agent.example"]
    lifecycle.withdraw(session)
    session.refresh_from_db()
    assert session.agent == ""


@pytest.mark.medium
def test_several_ids_from_one_browser_are_noted_and_forgotten_with_the_rest(client):
    study = make_study(key="one-browser")
    for person in ("a" * 24, "b" * 24):
        client.post(f"/r/{study.link}/", {"consent": "yes", "PROLIFIC_PID": person})
    first, second = Session.objects.order_by("pk")
    known = evidence_of(study)
    assert known[first.pk].browser_of == ""
    assert known[second.pk].browser_of == first.rater.code
    said = f"{first.rater.code} began in this very browser before, with another id"
    assert said in known[second.pk].sentences()
    owner = Client()
    owner.force_login(study.owner)
    page = owner.get(f"/studies/{study.key}/raters/{second.pk}/").content.decode()
    assert f"started in the browser of {first.rater.code}" in page
    lifecycle.withdraw(second)
    second.refresh_from_db()
    assert second.browser_of == ""
