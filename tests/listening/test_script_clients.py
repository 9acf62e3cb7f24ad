"""A script without ears is noticed: how it asks, what its page never did, what its answers lack."""

from __future__ import annotations

import pytest
from django.test import Client

from listening.models import Session
from listening.recruitment.evidence import evidence_of
from listening.sessions import lifecycle
from listening.sessions.outcomes import review_words
from listening.web.rater.state import session_state
from tests.factories import an_answer, current, make_study
from tests.listening.test_fetches import fetch, passes

pytestmark = pytest.mark.django_db
FIREFOX = {"User-Agent": "Mozilla/5.0 (X11) Firefox/140.0", "Accept-Language": "en"}
CHROME = {"User-Agent": "Mozilla/5.0 (X11) Chrome/140.0", "Accept-Language": "en"}


def arrived(headers, *, secure=False):
    study = make_study(key="scripts")
    Client().post(f"/r/{study.link}/", {"consent": "yes"}, headers=headers, secure=secure)
    return Session.objects.latest("pk")


def taken(session, **fields):
    """To the end, in real time, each clip fetched whole; the words beside the session then."""
    while current(session) is not None:
        fetch(session, 3)
        passes(60)
        lifecycle.record_answer(session, an_answer(current(session), **fields))
    session.refresh_from_db()
    return evidence_of(session.study, [session.pk])[session.pk].signs


def loaded(session):
    return Client().post(f"/api/s/{session.code}/loaded/", {}, content_type="application/json")


@pytest.mark.medium
def test_a_browser_whose_page_ran_and_told_what_it_played_shows_no_sign():
    session = arrived(FIREFOX)
    assert loaded(session).json() == {"stored": True}
    assert taken(session) == []
    assert (session.status, session.review) == ("finished", "")


@pytest.mark.medium
def test_real_time_alone_is_no_evidence_of_a_person():
    session = arrived({"User-Agent": "python-requests/2.32"})
    assert taken(session, playback={"stalls": 0}) == [
        "came as a program: python-requests/2.32",
        "answered although the scripts of the page never ran",
        "5 clips answered without playback facts of the page",
    ]
    assert session.review == "facts scripts"
    assert review_words(session.review)[1] == "answered although the scripts of the page never ran"
    assert session_state(session, own=True)["end"]["outcome"] == "needs_review"


@pytest.mark.parametrize(
    ("headers", "secure", "agent"),
    [
        ({}, False, "an HTTP client without a name"),
        ({"User-Agent": "curl/8.5.0", "Accept-Language": "en"}, False, "curl/8.5.0"),
        ({"User-Agent": "Mozilla/5.0"}, False, "an HTTP client, not Mozilla/5.0"),
        (CHROME, True, f"an HTTP client, not {CHROME['User-Agent']}"),
        (CHROME, False, ""),  # browsers say what a page is for over HTTPS alone
        ({**CHROME, "Sec-Fetch-Mode": "navigate"}, True, ""),
        (FIREFOX, True, ""),
    ],
)
def test_what_asks_as_no_browser_does_is_named(headers, secure, agent):
    assert arrived(headers, secure=secure).agent == agent


@pytest.mark.medium
def test_sessions_from_before_are_not_held_to_it():
    session = arrived(FIREFOX)
    Session.objects.update(scripts_ran=None)
    assert taken(session) == []
    assert session.review == ""
    assert loaded(session).status_code == 200
    session.refresh_from_db()
    assert session.scripts_ran is None
