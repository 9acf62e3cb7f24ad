"""The fast path of answers stores what is plain, and leaves all else to its view, whole."""

import asyncio
import json

import psycopg
import pytest
from django.db import connections
from django.http import HttpResponse

from listening.common.async_connections import LoopPool
from listening.models import Block, Justification, Rating, Session
from listening.sessions import lifecycle, task_rules
from listening.sessions.answers import answer_steps
from listening.web.rater import answer_endpoint
from listening.web.rater.answer_endpoint import AnswerEndpoint
from listening.web.rater.session_ownership import remember
from listening.web.rater.state import session_state
from tests.factories import ATT_TRAPS, FACTS, an_answer, arrive, current, make_study
from tests.listening.sample_questionnaire import about

pytestmark = pytest.mark.django_db(transaction=True)
TWO = {"blocks_per_session": 2, "block_size": 10}
LEFT = {"left to": "the view"}
FLOODING = {}  # codes of sessions


@pytest.fixture
def session():
    session = arrive(make_study())
    session_state(session, own=False)  # its task's rules are known to this process now
    return session


def body_for(session, **changes):
    answer = {"trial": current(session).code, "answers": {"0": "4"}, "latency_ms": 900, "plays": 1}
    reason = {"text": "flat", "keystrokes": 4}
    return json.dumps(
        answer
        | {"heard_fraction": 1, "justification": reason, "playback": FACTS | {"stalls": 1}}
        | changes
    ).encode()


TOKEN = b"a" * 32
HEADERS = {
    b"host": b"testserver",
    b"content-type": b"application/json",
    b"cookie": b"csrftoken=" + TOKEN,
    b"x-csrftoken": TOKEN,
}


def sent(session, body, headers=(), pieces=1, method="POST"):
    """What the endpoint replies, or LEFT with the body as the view gets it."""
    (told,) = sent_at_once([(session, body)], headers, pieces, method)
    return told


def sent_at_once(bodies, headers=(), pieces=1, method="POST"):
    """What the endpoint replies to each of (session, body), who all come together."""

    async def run():
        views = Views()
        endpoint = AnswerEndpoint(
            views,
            pool := LoopPool(),
            {b"x-added": b"1"},
            allows=lambda session_code: session_code not in FLOODING,
            count=lambda *_: None,
            request_header=lambda given: (b"x-request-id", b"1"),
        )
        head = [*(HEADERS | dict(headers)).items()]
        asked = (one_sent(endpoint, views, *each, head, pieces, method) for each in bodies)
        told = await asyncio.gather(*asked)
        await pool.close()
        return told

    return asyncio.run(run())


class Views:
    """Django's side, which keeps what is left to it, by path."""

    def __init__(self):
        self.given = []

    async def __call__(self, scope, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            body += message["body"]
            more = message["more_body"]
        self.given.append((scope["id"], body))


async def one_sent(endpoint, views, session, body, head, pieces, method):
    step = -(-len(body) // pieces) or 1
    parts = [body[at : at + step] for at in range(0, len(body), step)] or [b""]
    waiting = [{"type": "http.request", "body": p, "more_body": True} for p in parts]
    waiting[-1]["more_body"] = False
    told = []

    async def receive():
        return waiting.pop(0)

    async def send(message):
        told.append(message)

    path = f"/api/s/{session.code}/" + ("answers/" if method == "POST" else "")
    scope = {"id": object(), "method": method, "path": path, "headers": head}
    assert endpoint.takes(scope)
    await endpoint(scope, receive, send)
    left = [given for number, given in views.given if number is scope["id"]]
    if left:
        assert (left, told) == ([body], [])
        return LEFT
    start, rest = told
    status = 201 if method == "POST" else 200
    assert (start["status"], dict(start["headers"])[b"x-added"]) == (status, b"1")
    return json.loads(rest["body"])


def other_connection():
    address = connections["default"].get_connection_params()
    own = {k: address[k] for k in ("dbname", "user", "host", "port", "password") if k in address}
    return psycopg.connect(**own, autocommit=True)


@pytest.mark.medium
def test_a_plain_answer_is_stored_and_told_as_the_view_tells_it(session):
    trial = current(session)
    told = sent(session, body_for(session), pieces=3)
    trial.refresh_from_db()
    assert (trial.state, trial.playback) == ("answered", FACTS | {"stalls": 1})
    assert list(Rating.objects.values_list("label", "score", "counts")) == [("4", 4.0, True)]
    assert list(Justification.objects.values_list("text", "keystrokes")) == [("flat", 4)]
    assert (told["stored"], told["repeat"], told["feedback"]) == (True, False, None)
    assert told["state"] == json.loads(json.dumps(session_state(session, own=False)))


@pytest.mark.medium
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
        ({"trial": "a\u0000b"}, None),
        ({"trial": "\ud800"}, None),
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
    assert state_told(session) == json.loads(json.dumps(session_state(session, own=False)))


def test_who_has_questions_first_is_told_them_by_the_door():
    session = arrive(make_study(questionnaires=[about()]))
    expected = json.loads(json.dumps(session_state(session, own=False)))
    assert (expected["stage"], state_told(session)) == ("questionnaire", expected)


@pytest.mark.medium
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
    session_state(session, own=False)
    first = current(session).block
    while session.trials.filter(state="planned", block=first).count() > 1:
        trial = current(session)
        lifecycle.record_answer(session, an_answer(trial, *trial.expected[:1]))
    return session, first


@pytest.mark.parametrize("judges", [False, True])
@pytest.mark.medium
def test_the_last_answer_of_a_block_settles_it_with_the_answer(judges):
    session, first = two_blocks(reopen_invalid=judges)
    last = current(session)
    label = (last.expected or ["Human"])[0]
    told = sent(session, body_for(session, answers={"0": label}))
    first.refresh_from_db()
    assert (first.state, first.lease_until, first.session) == (Block.State.DONE, None, session)
    assert told["state"] == json.loads(json.dumps(session_state(session, own=False)))
    assert told["state"]["progress"]["done"] == 13


@pytest.mark.medium
def test_blocks_end_and_go_on_in_one_batch():
    """Of three that come at once, one ends its block, and one whose block is locked stays open."""
    ends, first = two_blocks()
    goes_on, locked = (arrive(ends.study) for _ in range(2))
    came = [ends, goes_on, locked]
    labels = [(current(session).expected or ["Human"])[0] for session in came]
    bodies = [body_for(s, answers={"0": n}) for s, n in zip(came, labels, strict=True)]
    with other_connection() as busy, busy.transaction():
        busy.execute(
            f"SELECT FROM listening_block WHERE id = {current(locked).block_id} FOR UPDATE"
        )
        told = sent_at_once(list(zip(came, bodies, strict=True)))
    assert [each.get("stored", False) for each in told] == [True, True, False]
    assert Block.objects.get(pk=first.pk).state == Block.State.DONE
    assert {current(s).block.state for s in came} == {Block.State.LEASED}


@pytest.mark.medium
def test_a_block_that_failed_its_traps_is_handed_on_with_its_last_answer():
    session, first = two_blocks(reopen_invalid=True)
    session.trials.filter(block=first).exclude(trap="").update(trap_passed=False)
    session.trials.filter(block=first, state="planned").update(trap="", expected=[])
    assert Rating.objects.filter(counts=True).exists()
    told = sent(session, body_for(session, answers={"0": "Human"}))
    first.refresh_from_db()
    assert (first.state, first.session) == (Block.State.OPEN, None)
    assert not Rating.objects.filter(counts=True).exists()
    assert told["state"] == json.loads(json.dumps(session_state(session, own=False)))


@pytest.mark.medium
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("short", [True, False])
def test_the_last_answer_ends_the_session_and_its_own_browser_alone_gets_the_code(own, short):
    codes = {"complete": "DONE1", "partial": "PART1", "needs_review": "LOOK1"}
    session = arrive(make_study(completion_codes=codes))
    session_state(session, own=False)
    while session.trials.filter(state="planned").count() > 1:
        lifecycle.record_answer(session, an_answer(current(session)))
    Session.objects.filter(pk=session.pk).update(short=short)
    trial, cookies = current(session), HttpResponse()
    remember(cookies, session)
    cookie = cookies.cookies.output(header="").strip().partition(";")[0] if own else "nobody=1"
    told = sent(
        session, body_for(session), {b"cookie": HEADERS[b"cookie"] + f"; {cookie}".encode()}
    )
    session.refresh_from_db()
    trial.refresh_from_db()
    ended = Session.Status.EXPIRED if short else Session.Status.FINISHED
    assert (session.status, session.review, trial.state) == (ended, "", "answered")
    assert session.finished_at >= trial.answered_at
    assert trial.block.state == Block.State.DONE
    assert told["state"] == json.loads(json.dumps(session_state(session, own=own)))
    assert bool(told["state"]["end"]["code"]) is own


def test_who_skipped_much_is_marked_for_a_look_at_the_end(session):
    session.trials.exclude(pk=current(session).pk).update(state="skipped")
    told = sent(session, body_for(session))
    session.refresh_from_db()
    assert (session.status, session.review) == (Session.Status.FINISHED, "skips")
    assert told["state"] == json.loads(json.dumps(session_state(session, own=False)))


@pytest.mark.medium
def test_answers_that_come_at_once_share_statements_and_are_told_apart(monkeypatch):
    sessions_ = [arrive(study) for study in [make_study()] for _ in range(6)]
    session_state(sessions_[0], own=False)
    written = []
    store = answer_endpoint._written

    async def counted(connection, writes):
        written.append(len(writes))
        return await store(connection, writes)

    monkeypatch.setattr(answer_endpoint, "_written", counted)
    labels = ["1", "2", "3", "4", "5", "1"]
    bodies = [(s, body_for(s, answers={"0": n})) for s, n in zip(sessions_, labels, strict=True)]
    trials = [current(session) for session in sessions_]
    told = sent_at_once(bodies)
    for session, state in zip(sessions_, told, strict=True):
        assert state["state"] == json.loads(json.dumps(session_state(session, own=False)))
    assert [t.ratings.get().label for t in trials] == labels
    assert sum(written) == 6
    assert len(written) < 4


@pytest.mark.parametrize("trial", ["a\x00b", "\ud800"])
@pytest.mark.medium
def test_what_no_database_takes_fails_nobody_else_in_its_batch(monkeypatch, trial):
    """Even where the shape of an answer let it through."""
    study = make_study()
    raters = [arrive(study) for _ in range(4)]
    session_state(raters[0], own=False)
    read = AnswerEndpoint._read

    async def with_odd_code(endpoint, asked):
        return await read(endpoint, [(s, trial if s == raters[1].code else t) for s, t in asked])

    monkeypatch.setattr(AnswerEndpoint, "_read", with_odd_code)
    told = sent_at_once([(rater, body_for(rater)) for rater in raters])
    assert [each == LEFT for each in told] == [False, True, False, False]


@pytest.mark.medium
@pytest.mark.parametrize("table", ["session", "block", "trial"])
def test_whose_rows_are_locked_waits_in_the_view_and_keeps_nobody_else_waiting(table):
    study = make_study()
    one, other = arrive(study), arrive(study)
    session_state(one, own=False)
    trial = current(one)
    pk = {"session": one.pk, "block": trial.block_id, "trial": trial.pk}[table]
    with other_connection() as busy, busy.transaction():
        busy.execute(f"SELECT FROM listening_{table} WHERE id = {pk} FOR UPDATE")
        told = sent_at_once([(one, body_for(one)), (other, body_for(other))])
    assert told[0] == LEFT
    assert told[1]["stored"]
    assert not trial.ratings.exists()


def test_an_answer_sent_twice_at_once_is_stored_once(session):
    body = body_for(session)
    told = sent_at_once([(session, body), (session, body)])
    assert sorted(each.get("stored", False) for each in told) == [False, True]
    assert Rating.objects.count() == 1
    assert Justification.objects.count() == 1


@pytest.mark.medium
def test_a_repeat_and_a_flood_are_left_to_the_view(session, monkeypatch):
    body = body_for(session)
    assert sent(session, body)["stored"]
    assert sent(session, body) == LEFT
    monkeypatch.setitem(FLOODING, session.code, True)
    assert sent(session, body_for(session)) == LEFT
    assert Rating.objects.count() == 1


def test_rules_that_this_process_has_not_read_are_read_by_the_view(session):
    task_rules.task_rules.cache_clear()
    assert sent(session, body_for(session)) == LEFT
    assert not Rating.objects.exists()


@pytest.mark.medium
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
    def changed_since(*args):
        with other_connection() as other:
            other.execute(meanwhile)
        return answer_steps(*args)

    monkeypatch.setattr(answer_endpoint, "answer_steps", changed_since)
    assert sent(session, body_for(session)) == LEFT
    assert not Rating.objects.exists()
    assert not session.trials.filter(state="answered").exists()


@pytest.mark.medium
def test_what_hangs_is_given_up_and_stores_nothing_later(session, monkeypatch):
    monkeypatch.setattr(answer_endpoint, "PATIENCE_S", 0.3)
    with other_connection() as other:
        other.execute("BEGIN")
        other.execute("LOCK TABLE listening_rating")
        assert sent(session, body_for(session)) == LEFT
        other.execute("ROLLBACK")
    assert not Rating.objects.exists()
