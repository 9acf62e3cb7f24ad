"""An answer needs its clips sent to its session, and time to hear them; nobody gains by waiting."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db.models import Count, Max, Min
from django.utils import timezone

from listening import audio
from listening.models import Rating, Session, Trial
from listening.sessions import lifecycle
from listening.sessions.answer_statements import record_fetch
from listening.sessions.answers import FASTEST
from listening.sessions.task_rules import Refused
from listening.web.rater.state import session_state
from tests.factories import CLIP_S, an_answer, arrive, current, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def session() -> Session:
    return arrive(make_study(items=8), simulated=False)


def fetch_clip(url: str, cookies: dict[str, str]) -> None:
    clip = audio.resolve_clip(url.removeprefix("/c/"), cookies)
    if clip is not None:
        record_fetch(clip)


def fetch(session: Session, count: int = 1) -> None:
    """Every clip of the next trials, as their page does."""
    cookies = dict([audio.clip_cookie(session)])
    for trial in session_state(session, own=True)["trials"][:count]:
        for url in trial["clips"]:
            fetch_clip(url, cookies)


def passes(seconds: float) -> None:
    """The clock goes on for all that is stored."""
    for model, fields in (Session, ("started_at",)), (Trial, ("fetched_at", "answered_at")):
        for row in model.objects.all():
            for field in fields:
                if moment := getattr(row, field):
                    setattr(row, field, moment - timedelta(seconds=seconds))
            row.save(update_fields=fields)


def answer(session: Session) -> str:
    """What became of an answer to the current trial."""
    try:
        lifecycle.record_answer(session, an_answer(current(session)))
    except Refused as refused:
        return refused.code
    return "stored"


def test_who_fetched_no_clip_is_not_believed_however_long_it_took(session):
    passes(3600)
    assert answer(session) == "not_fetched"
    fetch(session)
    passes(CLIP_S)
    assert answer(session) == "stored"
    assert Rating.objects.count() == 1


def test_a_clip_sent_to_another_session_is_not_this_ones(session):
    other = arrive(session.study, simulated=False)
    for one, another in ((session, other), (other, session)):
        (trial, *_) = session_state(one, own=True)["trials"]
        fetch_clip(trial["clips"][0], dict([audio.clip_cookie(another)]))
    passes(3600)
    assert answer(session) == "not_fetched"


def test_every_clip_of_a_comparison_is_needed():
    session = arrive(make_study(conditions=2, task={"method": "cmos"}), simulated=False)
    (trial, *_) = session_state(session, own=True)["trials"]
    cookies = dict([audio.clip_cookie(session)])
    assert len(trial["clips"]) == 2
    for left, url in ((1, trial["clips"][0]), (0, trial["clips"][1])):
        fetch_clip(url, cookies)
        passes(3600)
        assert answer(session) == ("not_fetched" if left else "stored")


def test_a_clip_is_not_heard_in_less_time_than_it_lasts(session):
    passes(3600)
    fetch(session)
    assert answer(session) == "not_heard"
    passes(FASTEST * CLIP_S - 2)  # a slow machine adds seconds of its own
    assert answer(session) == "not_heard"
    passes(2)
    assert answer(session) == "stored"


@pytest.mark.medium
def test_answers_kept_while_the_network_was_away_may_come_at_once(session):
    fetch(session, 3)
    passes(3 * CLIP_S)
    assert [answer(session) for _ in range(3)] == ["stored"] * 3
    fetch(session, 3)
    passes(CLIP_S)  # the fourth was heard after the first three were sent
    assert answer(session) == "stored"


@pytest.mark.medium
def test_nobody_gains_time_by_trials_that_the_page_has_ahead(session):
    """Real time for all that was answered; a third of it was enough before."""
    while current(session) is not None:
        fetch(session, 3)
        if answer(session) != "stored":
            passes(0.25)
    course = session.trials.aggregate(
        first=Min("fetched_at"), last=Max("answered_at"), trials=Count("pk")
    )
    took_s = (course["last"] - course["first"]).total_seconds()
    assert took_s >= FASTEST * CLIP_S * course["trials"]


@pytest.mark.medium
def test_a_pause_is_no_credit(session):
    fetch(session, 3)
    passes(CLIP_S)
    assert answer(session) == "stored"
    passes(3600)
    fetch(session, 3)
    assert answer(session) == "stored"  # the page had it for an hour
    assert answer(session) == "stored"
    assert answer(session) == "not_heard"


@pytest.mark.medium
def test_who_needs_less_time_than_the_clips_last_is_looked_at_first(session):
    while current(session) is not None:
        fetch(session, 3)
        passes(0.85 * CLIP_S)
        assert answer(session) == "stored"
    session.refresh_from_db()
    assert (session.status, session.review) == ("finished", "pace")
    assert session_state(session, own=True)["end"]["outcome"] == "needs_review"


@pytest.mark.medium
def test_who_takes_their_time_is_not(session):
    while current(session) is not None:
        fetch(session, 3)
        passes(1.3 * CLIP_S)
        assert answer(session) == "stored"
    session.refresh_from_db()
    assert (session.status, session.review) == ("finished", "")


def test_examples_belong_to_no_trial(session):
    url = audio.clip_url(session.study.stimuli.first().served, session, None)
    fetch_clip(url, dict([audio.clip_cookie(session)]))
    assert not Trial.objects.exclude(fetched=0).exists()


def test_the_first_time_counts(session):
    fetch(session)
    passes(60)
    fetch(session)
    (fetched_at,) = Trial.objects.exclude(fetched=0).values_list("fetched_at", flat=True)
    assert timezone.now() - fetched_at > timedelta(seconds=59)


@pytest.mark.parametrize(("heard", "share"), [(0.5, 0.5), (None, 1.0)])
@pytest.mark.medium
def test_the_share_that_a_study_asks_for_is_what_the_server_asks_for(heard, share):
    """A ranking of three clips: half of each takes half of the time, and less is refused."""
    options = {"heard": heard} if heard else {}
    task = {"method": "rank", "options": options}
    session = arrive(make_study(task=task), simulated=False)
    (shown, *_) = (state := session_state(session, own=True))["trials"]
    assert state["tasks"][0]["playback"]["share"] == share
    assert state["tasks"][0]["heard_out"] is (share == 1)
    labels = {f"0.{place}": str(place + 1) for place in range(3)}
    reached = min(share, 0.95)

    def tried(fraction):
        whole = an_answer(current(session), "1", heard_fraction=fraction)
        try:
            lifecycle.record_answer(session, replace(whole, labels=labels))
        except Refused as refused:
            return refused.code
        return "stored"

    fetch(session)
    passes(FASTEST * share * 3 * CLIP_S - 1)
    assert tried(reached) == "not_heard"  # nobody hears them so quickly
    passes(1.1)
    assert tried(reached - 0.01) == "not_heard"
    assert tried(reached) == "stored"
    assert Rating.objects.filter(trial__code=shown["id"]).count() == 3


@pytest.mark.medium
def test_where_the_reference_comes_first_an_answer_must_say_that_it_did():
    options = {"reference": "cond-0", "reference_first": True}
    session = arrive(make_study(task={"method": "mushra", "options": options}), simulated=False)
    rated = [
        part["role"] == "rated" for part in session_state(session, own=True)["trials"][0]["parts"]
    ]
    labels = {f"0.{place}": "50" for place, each in enumerate(rated) if each}

    def tried(**playback):
        whole = an_answer(current(session), "50", playback=playback)
        try:
            lifecycle.record_answer(session, replace(whole, labels=labels))
        except Refused as refused:
            return refused.message
        return "stored"

    fetch(session)
    passes(3600)
    asked = "Please listen to the reference first, then to the other clips."
    assert tried() == tried(reference_heard_ms=900) == tried(first_rated_ms=900) == asked
    assert tried(reference_heard_ms=901, first_rated_ms=900) == asked
    assert tried(reference_heard_ms="0", first_rated_ms=None) == asked
    assert tried(reference_heard_ms=900, first_rated_ms=900) == "stored"


def test_what_a_study_chooses_of_playback_is_what_its_page_is_told():
    chosen = {"restart": True, "reference_first": True, "hidden_reference": False}
    options = {"reference": "cond-0", "heard": 0.3, "waveform": "reference", **chosen}
    session = arrive(make_study(task={"method": "mushra", "options": options}), simulated=False)
    state = session_state(session, own=True)
    told = {"share": 0.3, "waveform": True, "needs_top": False, **chosen}
    assert state["tasks"][0]["playback"] == told
    roles = [[part["role"] for part in trial["parts"]] for trial in state["trials"]]
    assert roles == [["reference", "rated", "rated"]] * len(roles)
