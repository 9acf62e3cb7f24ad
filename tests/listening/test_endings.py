"""Every end says what happened, what becomes of place and pay, and has one button at most."""

import pytest
from django.test import Client
from django.utils.translation import gettext, override

from listening.design.studyfile.entries import OUTCOMES
from listening.models import Rater, Session, Study
from listening.web.rater.endings import (
    COMPLETE_URL,
    SUBMISSIONS_URL,
    SYNTHETIC,
    end_facts,
    way_out,
)
from tests.factories import make_study
from tests.listening.test_rater_doors import enter, post

pytestmark = pytest.mark.django_db
IDS = {"PROLIFIC_PID": "a1" * 12, "STUDY_ID": "b2" * 12, "SESSION_ID": "c3" * 12}
CODES = {outcome: outcome.upper().replace("_", "")[:8] for outcome in OUTCOMES}
ENDS = ("complete", "needs_review", "partial", "screened_out", "withdrawn")


@pytest.fixture
def study() -> Study:
    return make_study(completion_codes=CODES, checks=[{"key": "volume"}])


@pytest.mark.parametrize("outcome", ENDS)
def test_on_prolific_the_button_carries_the_code_of_the_outcome_or_gives_the_place_back(outcome):
    code = CODES.get(outcome, "")
    end = end_facts(outcome, {}, code=code, from_prolific=True, commented=False)
    assert end["text"]
    assert "Prolific" in end["next"]
    assert end["return_url"] == (f"{COMPLETE_URL}?cc={code}" if code else SUBMISSIONS_URL)
    assert end["button"]
    if outcome != "complete":  # nothing is promised, and nobody is accused
        assert "you are paid" not in end["next"].replace("if the way to here is paid, you", "")


@pytest.mark.parametrize("outcome", ENDS)
def test_by_a_link_there_is_no_button_and_a_word_on_what_to_do(outcome):
    for code, word in (("ABC", "the people who invited you"), ("", "You can close this page")):
        end = end_facts(outcome, {}, code=code, from_prolific=False, commented=False)
        assert word in end["next"]
        assert (end["button"], end["return_url"]) == ("", None)


def test_no_two_outcomes_say_the_same_on_prolific():
    said = [way_out(each, code="X", from_prolific=True)["next"] for each in OUTCOMES]
    assert len(set(said)) == len(OUTCOMES)


@pytest.mark.parametrize("outcome", ENDS)
def test_all_who_heard_clips_are_told_that_voices_were_synthetic(outcome):
    def said(**texts):
        end = end_facts(outcome, texts, code="", from_prolific=False, commented=False)
        return end["debrief"].split("\n\n")

    about = ["About it."] if outcome == "complete" else []
    with override("zh-hans"):
        standard = [gettext(SYNTHETIC)]
        told = said(debrief="About it.", synthetic_voices="standard")
        assert told == ([""] if outcome == "screened_out" else [*about, *standard])
    told = said(synthetic_voices="All voices were synthetic.")
    assert told == ([""] if outcome == "screened_out" else ["All voices were synthetic."])
    assert said(debrief="About it.") == (about or [""])


def test_who_fails_a_check_is_not_told_to_be_the_wrong_listener():
    words = [
        end_facts("screened_out", {}, code="", from_prolific=False, commented=True, failed_check=by)
        for by in (True, False)
    ]
    assert "checks" in words[0]["text"]
    assert "other listeners" in words[1]["text"]


def test_a_failed_check_ends_with_its_own_words(study):
    client = Client()
    session = enter(client, study, **IDS)
    sessions_screened = Session.objects.filter(pk=session.pk)
    sessions_screened.update(status="screened", rejected_because="check huggins: 1 of 6")
    end = client.get(f"/api/s/{session.code}/").json()["end"]
    assert "One of the checks" in end["text"]
    assert end["return_url"] == f"{COMPLETE_URL}?cc=SCREENED"


@pytest.mark.medium
def test_who_withdraws_on_prolific_is_led_back_to_return_the_place(study):
    client = Client()
    session = enter(client, study, **IDS)
    end = post(client, session, "withdraw", {"confirm": True}).json()["end"]
    assert (end["code"], end["return_url"]) == ("", SUBMISSIONS_URL)
    assert "return your place" in end["next"]


def test_who_does_not_want_to_take_part_is_not_stored_and_led_back(study):
    page = Client().post(f"/r/{study.link}/", {**IDS, "consent": "no"}).content.decode()
    assert "You chose not to take part" in page
    assert f"{COMPLETE_URL}?cc=NOCONSEN" in page
    assert (Session.objects.count(), Rater.objects.count()) == (0, 0)
    plain = Client().post(f"/r/{study.link}/", {"consent": "no"}).content.decode()
    assert "prolific" not in plain.lower()
    assert "You can close this page" in plain


def test_the_box_does_not_outvote_the_button(study):
    both = Client().post(f"/r/{study.link}/", {"consent": ["yes", "no"]})
    assert b"You chose not to take part" in both.content
    assert Session.objects.count() == 0


@pytest.mark.parametrize("state", ["paused", "closed", "draft"])
def test_a_closed_door_leads_back_who_came_from_prolific(study, state):
    Study.objects.update(state=state)
    page = Client().get(f"/r/{study.link}/", IDS).content.decode()
    assert page.count(f'href="{SUBMISSIONS_URL}"') == 1
    assert "return your place on Prolific" in page
    assert SUBMISSIONS_URL not in Client().get(f"/r/{study.link}/").content.decode()


def test_a_study_without_free_places_says_so_with_the_same_button(study, monkeypatch):
    monkeypatch.setattr("listening.sessions.allocation.has_room", lambda study: False)
    page = Client().get(f"/r/{study.link}/", IDS).content.decode()
    assert "All places are taken" in page
    assert page.count(f'href="{SUBMISSIONS_URL}"') == 1


@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("FIXED_SCREEN_OUT_PAYMENT", "Prolific pays you for the way to here"),
        ("REQUEST_RETURN", "Prolific will ask you to return your place"),
        ("", "if the way to here is paid"),
    ],
)
def test_who_is_screened_out_reads_what_the_code_does_there(does, told):
    out = way_out("screened_out", code="X", from_prolific=True, does=does)
    assert told in out["next"]
