"""The door of answers stores what is plain, and leaves all else to its view, whole."""

import asyncio
import json

import psycopg
import pytest
from django.db import connections

from config import answer_door
from config.answer_door import AnswerDoor
from config.limits import Spared
from config.loop_pool import LoopPool
from listening import sessions, task_rules
from listening.models import Block, Justification, Rating
from listening.views.state import state_of
from tests.factories import ATT_TRAPS, an_answer, arrive, current, make_study
from tests.listening.sample_questionnaire import about

pytestmark = pytest.mark.django_db(transaction=True)
TWO = {"blocks_per_session": 2, "block_size": 10}
LEFT = {"left to": "the view"}


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setattr(answer_door, "spared", Spared())
    session = arrive(make_study())
    state_of(session, own=False)  # its task's rules are known to this process now
    return session


def body_for(session, **changes):
    answer = {"trial": current(session).code, "answers": {"0": "4"}, "latency_ms": 900, "plays": 1}
    reason = {"text": "flat", "keystrokes": 4}
    return json.dumps(
        answer | {"heard_fraction": 1, "justification": reason, "playback": {"stalls": 1}} | changes
    ).encode()


TOKEN = b"a" * 32
HEADERS = {
    b"host": b"testserver",
    b"content-type": b"application/json",
    b"cookie": b"csrftoken=" + TOKEN,
    b"x-csrftoken": TOKEN,
}


def sent(session, body, headers=(), pieces=1, method="POST"):
    """What the door tells, or LEFT with the body as the view gets it."""
    step = -(-len(body) // pieces) or 1
    parts = [body[at : at + step] for at in range(0, len(body), step)] or [b""]
    waiting = [{"type": "http.request", "body": p, "more_body": True} for p in parts]
    waiting[-1]["more_body"] = False
    told, given = [], []

    async def receive():
        return waiting.pop(0)

    async def send(message):
        told.append(message)

    async def pages(scope, receive, send):
        more = True
        while more:
            message = await receive()
            given.append(message["body"])
            more = message["more_body"]

    async def run():
        door = AnswerDoor(pages, {b"x-added": b"1"}, pool := LoopPool())
        path = f"/api/s/{session.code}/" + ("answers/" if method == "POST" else "")
        scope = {"method": method, "path": path, "headers": [*(HEADERS | dict(headers)).items()]}
        assert door.takes(scope)
        await door(scope, receive, send)
        await pool.close()

    asyncio.run(run())
    if given:
        assert (b"".join(given), told) == (body, [])
        return LEFT
    start, rest = told
    status = 201 if method == "POST" else 200
    assert (start["status"], dict(start["headers"])[b"x-added"]) == (status, b"1")
    return json.loads(rest["body"])


def other_connection():
    address = connections["default"].get_connection_params()
    own = {k: address[k] for k in ("dbname", "user", "host", "port", "password") if k in address}
    return psycopg.connect(**own, autocommit=True)


def test_a_plain_answer_is_stored_and_told_as_the_view_tells_it(session):
    trial = current(session)
    told = sent(session, body_for(session), pieces=3)
    trial.refresh_from_db()
    assert (trial.state, trial.playback) == ("answered", {"stalls": 1})
    assert list(Rating.objects.values_list("label", "score", "counts")) == [("4", 4.0, True)]
    assert list(Justification.objects.values_list("text", "keystrokes")) == [("flat", 4)]
    assert (told["stored"], told["repeat"], told["feedback"]) == (True, False, None)
    assert told["state"] == json.loads(json.dumps(state_of(session, own=False)))


@pytest.mark.parametrize(
    ("changes", "headers"),
    [
        ({}, {b"content-type": b"text/plain"}),
        ({}, {b"x-csrftoken": b"forged"}),
        ({}, {b"origin": b"https://elsewhere.example"}),
        ({}, {b"host": b"elsewhere.example"}),
        ({"plays": -1}, None),
        ({"answers": {"0": "6"}}, None),
        ({"heard_fraction": 0.2}, None),
        ({"trial": "another"}, None),
        ({"playback": {"x": "\u0000"}}, None),
        ({"playback": {"x": "y" * 70_000}}, None),
    ],
)
def test_what_is_refused_is_left_whole_to_the_view(session, changes, headers):
    assert sent(session, body_for(session, **changes), headers or {}, pieces=2) == LEFT
    assert not Rating.objects.exists()


def state_told(session, headers=()):
    return sent(session, b"", headers, method="GET")


def test_a_state_is_told_as_the_view_tells_it(session):
    sent(session, body_for(session))
    assert state_told(session) == json.loads(json.dumps(state_of(session, own=False)))


def test_who_has_questions_first_is_told_them_by_the_door():
    session = arrive(make_study(questionnaires=[about()]))
    expected = json.loads(json.dumps(state_of(session, own=False)))
    assert (expected["stage"], state_told(session)) == ("questionnaire", expected)


@pytest.mark.parametrize(
    "meanwhile",
    [
        "UPDATE listening_session SET status = 'finished'",
        "UPDATE listening_trial SET state = 'void' WHERE position = 3",
        "UPDATE listening_trial SET state = 'skipped'",
        "UPDATE listening_study SET wording = wording + 1",
        "UPDATE listening_trial SET trap = 'training' WHERE position = 2",
    ],
)
def test_a_state_that_has_more_to_it_is_left_to_the_view(session, meanwhile):
    assert state_told(session)["stage"] == "trial"
    with other_connection() as other:
        other.execute(meanwhile)
    assert state_told(session) == LEFT
    assert state_told(session, {b"host": b"elsewhere.example"}) == LEFT


def two_blocks(**fields):
    """A session with a second block to come, at the last trial of its first."""
    study = make_study(
        items=20,
        traps={"flawed": 2, "human": 3},
        task={"method": "att", "traps": ATT_TRAPS, "blocks_per_rater": 2, **TWO, **fields},
    )
    session = arrive(study)
    state_of(session, own=False)
    first = current(session).block
    while session.trials.filter(state="planned", block=first).count() > 1:
        trial = current(session)
        sessions.record_answer(session, an_answer(trial, *trial.expected[:1]))
    return session, first


@pytest.mark.parametrize("judges", [False, True])
@pytest.mark.medium
def test_the_last_answer_of_a_block_settles_it_with_the_answer(monkeypatch, judges):
    monkeypatch.setattr(answer_door, "spared", Spared())
    session, first = two_blocks(reopen_invalid=judges)
    last = current(session)
    label = (last.expected or ["Human"])[0]
    told = sent(session, body_for(session, answers={"0": label}))
    first.refresh_from_db()
    assert (first.state, first.lease_until, first.session) == (Block.State.DONE, None, session)
    assert told["state"] == json.loads(json.dumps(state_of(session, own=False)))
    assert told["state"]["progress"]["done"] == 13


@pytest.mark.medium
def test_the_last_answer_of_a_block_that_failed_its_traps_is_left_to_the_view(monkeypatch):
    monkeypatch.setattr(answer_door, "spared", Spared())
    session, first = two_blocks(reopen_invalid=True)
    session.trials.filter(block=first).exclude(trap="").update(trap_passed=False)
    session.trials.filter(block=first, state="planned").update(trap="", expected=[])
    count = Rating.objects.count()
    assert sent(session, body_for(session, answers={"0": "Human"})) == LEFT
    first.refresh_from_db()
    assert (first.state, Rating.objects.count()) == (Block.State.LEASED, count)


def test_a_repeat_a_flood_and_the_last_of_a_session_are_left_to_the_view(session, monkeypatch):
    body = body_for(session)
    assert sent(session, body)["stored"]
    assert sent(session, body) == LEFT
    last = session.trials.filter(state="planned")
    last.exclude(pk=current(session).pk).update(state="skipped")
    assert sent(session, body_for(session)) == LEFT
    monkeypatch.setattr(Spared, "passes", lambda *_: False)
    assert sent(session, body_for(session)) == LEFT
    assert Rating.objects.count() == 1


def test_rules_that_this_process_has_not_read_are_read_by_the_view(session):
    task_rules.task_rules.cache_clear()
    assert sent(session, body_for(session)) == LEFT
    assert not Rating.objects.exists()


@pytest.mark.parametrize(
    "meanwhile",
    [
        "UPDATE listening_session SET status = 'rejected'",
        "UPDATE listening_session SET ready = false",
        "UPDATE listening_block SET state = 0, session_id = NULL, lease_until = NULL",
        "UPDATE listening_trial SET state = 'void' WHERE state = 'planned'",
    ],
)
def test_what_has_changed_since_it_was_read_stores_nothing(session, monkeypatch, meanwhile):
    checked = answer_door.checked

    def changed_since(*args):
        with other_connection() as other:
            other.execute(meanwhile)
        return checked(*args)

    monkeypatch.setattr(answer_door, "checked", changed_since)
    assert sent(session, body_for(session)) == LEFT
    assert not Rating.objects.exists()
    assert not session.trials.filter(state="answered").exists()


def test_what_hangs_is_given_up_and_stores_nothing_later(session, monkeypatch):
    monkeypatch.setattr(answer_door, "PATIENCE_S", 0.3)
    with other_connection() as other:
        other.execute("BEGIN")
        other.execute("SELECT FROM listening_session FOR UPDATE")
        assert sent(session, body_for(session)) == LEFT
        other.execute("ROLLBACK")
    assert not Rating.objects.exists()
