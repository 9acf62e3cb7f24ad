"""What the first page says of what a rater needs is what the session asks for."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from listening.design.duration import SessionLength
from listening.models import Study
from listening.studies.length import session_length
from listening.web.rater.page_facts import entry_facts
from tests.factories import make_study
from tests.listening.test_researcher_pages import words_of


def a_study(**fields: Any) -> SimpleNamespace:
    whole: dict[str, Any] = {"texts": {}, "checks": [], "questionnaires": []}
    whole |= {"erase_after_days": None, "erase_on": None, "erase_reasons": False}
    return SimpleNamespace(**{**whole, **fields})


def asked(screen_out: list[str]) -> dict[str, Any]:
    return {"key": "you", "questions": [{"key": "listening_device", "screen_out": screen_out}]}


@pytest.mark.parametrize(
    ("fields", "headphones"),
    [
        ({}, "may"),
        ({"checks": [{"key": "volume"}, {"key": "environment", "on_fail": "screen_out"}]}, "may"),
        ({"checks": [{"key": "volume"}, {"key": "huggins"}]}, "needs"),
        ({"checks": [{"key": "stereo", "on_fail": "screen_out"}]}, "needs"),
        ({"checks": [{"key": "antiphase", "on_fail": "continue"}]}, "may"),
        ({"questionnaires": [asked([])]}, "may"),
        ({"questionnaires": [asked(["loudspeaker"])]}, "needs"),
        ({"questionnaires": [asked(["in_ear"])]}, "may"),
        ({"questionnaires": [asked(["in_ear", "over_ear"])]}, "without"),
    ],
)
def test_headphones_are_needed_where_their_lack_screens_out(
    fields: dict[str, Any], headphones: str
) -> None:
    assert entry_facts(a_study(**fields), SessionLength(5))["headphones"] == headphones


def shown(client: Client, study: Study, ids: dict[str, str] | None = None) -> str:
    return words_of(client.get(f"/r/{study.link}/", ids).content.decode())


@pytest.mark.medium
@pytest.mark.django_db
def test_the_first_page_promises_the_session_and_says_what_is_needed(client: Client) -> None:
    study = make_study(task={"block_size": 5})
    Study.objects.update(checks=[{"key": "volume"}, {"key": "huggins", "trials": 6}])
    study.refresh_from_db()
    page = shown(client, study)
    assert f"{session_length(study).trials + 7} screens" in page
    assert "headphones needed" in page
    assert "Without them the study ends early for you." in page
    assert "if you have some" in shown(client, make_study(key="plain"))


@pytest.mark.medium
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("ids", "told"),
    [
        ({}, "If the study is paid, ask the researchers about a part of it."),
        ({"PROLIFIC_PID": "a" * 24}, "Please return your place on Prolific then."),
    ],
)
def test_what_withdrawing_does_to_pay_is_said_before_it_is_done(
    client: Client, ids: dict[str, str], told: str
) -> None:
    study = make_study()
    assert told in shown(client, study, ids)
    session = client.post(f"/r/{study.link}/", {"consent": "yes", **ids}, follow=True)
    assert told in words_of(session.content.decode())
