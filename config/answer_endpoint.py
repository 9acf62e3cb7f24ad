"""The door of answers, past Django's request: most of what a listening test hears comes in here.

A plain answer to the current trial is checked by the rules that every answer meets (`checked`),
stored by the statement that stores every answer, and replied to as `AnswerView` does;
in the event loop, by two statements, which answers that come at once share. So is the state of a
session that has something to answer. All else (a refusal, another shape, a flood, training, a block
that failed, a database that is away) is left to the views, which meet the same and say why.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from django.core.exceptions import SuspiciousOperation, SynchronousOnlyOperation
from django.http import HttpRequest, HttpResponse
from django.http.cookie import parse_cookie
from django.middleware.csrf import CsrfViewMiddleware
from msgspec import MsgspecError
from msgspec.json import Decoder, encode
from psycopg import DataError, IntegrityError

from config.async_connections import FAILURES, Connection, LoopPool
from config.headers import WithHeaders
from config.limits import ANSWERING, spared
from config.operations.logs import HEADER, id_for
from config.operations.requests import tally
from config.public_path import below
from config.statement_batches import Batches
from config.wsgi_bridge import Bridge, Message, Receive, Scope, Send, header_variables
from listening.common.languages import speaking
from listening.design.traps import TRAINING, judge_block
from listening.models import Session, Trial
from listening.sessions.answer_statements import (
    OUTCOMES,
    READ,
    WRITE_FREE,
    LoadedTrial,
    Read,
    Sitting,
    upcoming_of,
)
from listening.sessions.answers import AHEAD, FASTEST, START_S, StoredAnswer, checked
from listening.sessions.leases import SETTLED
from listening.sessions.outcomes import COURSE, FINISH, course_values, review_of
from listening.sessions.stages import is_current
from listening.sessions.task_rules import task_rules
from listening.web.rater.api import REFUSALS, AnswerShape, answer_of, stored_facts
from listening.web.rater.session_ownership import is_raters
from listening.web.rater.state import Plan, planned_state

PATH = re.compile(r"/api/s/([0-9A-Za-z_-]{1,64})/(answers/)?")
ANSWERS, STATE = "api-answers", "api-state"  # routes
LONGEST_BYTES = 64 * 1024
LOOKING = {"ahead": AHEAD, "fastest": FASTEST, "start": START_S}
PATIENCE_S = 10.0  # what hangs is given up, and stores nothing later; then the view waits
JSON = "application/json"
OF_ONE_CALL = (DataError, IntegrityError, UnicodeError)  # what one answer does to its batch
REQUEST_ID = HEADER.lower().encode()
_answer = Decoder(AnswerShape)
_read = Decoder(Read)
_csrf = CsrfViewMiddleware(lambda request: HttpResponse())


class NotPlain(Exception):
    """An answer that its view must look at."""


LEFT_TO_VIEWS = (
    *REFUSALS,
    MsgspecError,
    NotPlain,
    UnicodeError,  # half of a surrogate pair, which no database takes
    SynchronousOnlyOperation,  # rules of a task that this process has not read yet: the view will
    *FAILURES,  # the view meets the same and says so, or finds another connection
    SuspiciousOperation,  # a host that is not ours
)


class AnswerDoor:
    """An ASGI application: it stores what is plain, and `pages` answer all else."""

    def __init__(self, pages: Bridge, added: Mapping[bytes, bytes], pool: LoopPool) -> None:
        """`added`: the headers that every answer carries."""
        self.pages, self.added, self.pool = pages, dict(added), pool
        self.reads = Batches(self._read, by_one=OF_ONE_CALL)
        self.writes = Batches(self._write, by_one=OF_ONE_CALL)

    def takes(self, scope: Scope) -> bool:
        found = PATH.fullmatch(below(scope["path"]))
        return found is not None and scope["method"] == ("POST" if found[2] else "GET")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, sent = time.perf_counter(), header_variables(scope)
        came = await _came(receive) if scope["method"] == "POST" else []
        code = PATH.fullmatch(below(scope["path"]))[1]  # type: ignore[index]  # it takes this path
        try:
            async with asyncio.timeout(PATIENCE_S):
                if came:
                    route, status, told = ANSWERS, 201, await self._stored(code, scope, sent, came)
                else:
                    route, status, told = STATE, 200, await self._state(code, scope, sent)
        except LEFT_TO_VIEWS:
            rest = _replayed(came, receive)
            return await self.pages(scope, rest, WithHeaders(send, self.added))
        tally.add(route, scope["method"], status, time.perf_counter() - began)
        await self._reply(sent, send, status, told)

    async def _state(self, code: str, scope: Scope, sent: Mapping[str, str]) -> bytes:
        """The state of a session that has something to answer."""
        _request(scope, sent).get_host()
        sitting, plan = _listening(await self.reads((code, "")))
        return encode(_spoken(sitting, plan))

    async def _stored(
        self, code: str, scope: Scope, sent: Mapping[str, str], came: list[Message]
    ) -> bytes:
        """The reply to an answer, which is stored; else raises what is LEFT_TO_VIEWS."""
        body = _body(sent, came)
        if not spared.passes(ANSWERING, code):
            raise NotPlain
        request = _checked_request(scope, sent)
        answer = answer_of(_answer.decode(body))
        read = await self.reads((code, answer.trial))
        sitting, plan = _listening(read)
        trial = _plain(read)
        rules = task_rules(trial.task_id)
        values = checked(sitting, trial, rules, answer)
        over = trial.left_in_block == 1
        if trial.left == 1 or (over and rules.judges_blocks):
            return await self._told_of_last(request, sitting, trial, _after(plan), values)
        told = _told(sitting, _after(plan))  # what fails before it is stored is the view's
        if not await self.writes((values, over)):
            raise NotPlain
        return told

    async def _read(self, asked: list[tuple[str, str]]) -> list[Read]:
        """What READ returns of each (session's code, trial's code)."""
        sessions, codes = zip(*asked, strict=True)
        values = {"sessions": [*sessions], "codes": [*codes], **LOOKING}
        async with asyncio.timeout(PATIENCE_S), self.pool.connection() as connection:
            cursor = await connection.execute(READ, values)
            return [_read.decode(found) for (found,) in await cursor.fetchall()]

    async def _write(self, answers: list[tuple[dict[str, Any], bool]]) -> list[bool]:
        """Which of these answers are stored: those whose rows nobody holds or has changed.

        Each comes with whether its block is over, which is settled with it then.
        """
        given = [values for values, _ in answers]
        some_over = any(over for _, over in answers)
        async with (
            asyncio.timeout(PATIENCE_S),
            self.pool.connection() as connection,
            connection.transaction() if some_over else nullcontext(),
        ):
            stored = await _written(connection, given)
            blocks = [given[n]["block"] for n in sorted(stored) if answers[n][1]]
            if blocks:
                await connection.execute(SETTLED, {"blocks": blocks})
        return [place in stored for place in range(len(answers))]

    async def _told_of_last(
        self,
        request: HttpRequest,
        sitting: Sitting,
        trial: LoadedTrial,
        plan: Plan,
        values: dict[str, Any],
    ) -> bytes:
        """The last answer of a session, which ends, or of a block that is judged by its traps.

        Nothing is stored where the block failed, or the reply cannot be made.
        """
        rules = task_rules(trial.task_id)
        held = {"session": sitting.pk, "block": trial.block_id}
        async with self.pool.connection() as connection, connection.transaction():
            if not await _written(connection, [values]):
                raise NotPlain
            if rules.judges_blocks:
                outcomes = await (await connection.execute(OUTCOMES, held)).fetchall()
                if not judge_block(rules.traps, outcomes).valid:
                    raise NotPlain
            await connection.execute(SETTLED, {"blocks": [trial.block_id]})
            if plan.left:
                return _told(sitting, plan)
            sitting.status, sitting.review = await _finished(connection, sitting.pk, trial)
            return _told(sitting, plan, own=is_raters(request, sitting.link, sitting.rater))

    async def _reply(self, sent: Mapping[str, str], send: Send, status: int, told: bytes) -> None:
        headers = [
            *self.added.items(),
            (b"content-type", JSON.encode()),
            (b"content-length", b"%d" % len(told)),
            (b"cache-control", b"max-age=0, no-cache, no-store, must-revalidate, private"),
            (REQUEST_ID, id_for(sent.get("HTTP_X_REQUEST_ID", "")).encode()),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": told})


async def _written(connection: Connection, answers: list[dict[str, Any]]) -> set[int]:
    """The places of those that are stored."""
    numbered = [{**values, "n": place} for place, values in enumerate(answers)]
    given = {"answers": encode(numbered).decode()}
    return {n for (n,) in await (await connection.execute(WRITE_FREE, given)).fetchall()}


async def _finished(connection: Connection, session: int, trial: LoadedTrial) -> tuple[str, str]:
    """Ends the session of this trial, its last; its status and why it needs a look, if it does."""
    (course,) = await (await connection.execute(COURSE, course_values(session))).fetchall()
    review = review_of(course, simulated=trial.simulated)
    values = {"session": session, "review": review}
    ((status, review, _),) = await (await connection.execute(FINISH, values)).fetchall()
    return status, review


def _listening(read: Read) -> tuple[Sitting, Plan]:
    """A session that listens, and what comes next in it: no training, no questions between."""
    sitting = read.sitting
    if sitting is None or sitting.status != Session.Status.STARTED:
        raise NotPlain
    if not is_current(lost=read.lost, left=read.left) or sitting.wording != sitting.wording_last:
        raise NotPlain
    upcoming = [upcoming_of(bytes(each)) for each in read.upcoming]
    tasks = list(dict.fromkeys(read.tasks))
    if task_rules(tasks[0]).asks_between or TRAINING in (each.trap for each in upcoming):
        raise NotPlain
    return sitting, Plan(tasks, read.answered, upcoming, read.left, training=[], places=[])


def _plain(read: Read) -> LoadedTrial:
    """The trial that is answered, if it is planned; what training is told, its view knows."""
    trial = read.trial
    if trial is None or trial.state != Trial.State.PLANNED or trial.trap == TRAINING:
        raise NotPlain
    return trial


def _after(plan: Plan) -> Plan:
    """As the answer leaves it; what is upcoming was read without its trial."""
    return replace(plan, answered=plan.answered + 1, left=plan.left - 1)


def _spoken(sitting: Sitting, plan: Plan, *, own: bool = False) -> dict[str, Any]:
    with speaking(sitting.language):  # whose the session is matters at the end alone
        return planned_state(sitting, plan, own=own)


def _told(sitting: Sitting, plan: Plan, *, own: bool = False) -> bytes:
    """The reply to an answer, with the state as the answer leaves it."""
    stored = StoredAnswer(repeat=False, over=plan.left == 0, sitting=sitting)
    return encode(stored_facts(stored, _spoken(sitting, plan, own=own)))


def _checked_request(scope: Scope, sent: Mapping[str, str]) -> HttpRequest:
    """CSRF token, origin and host are checked as Django does; NotPlain where it would refuse."""
    request = _request(scope, sent)
    request.get_host()
    _csrf.process_request(request)
    if _csrf.process_view(request, _no_view, (), {}) is not None:
        raise NotPlain
    return request


def _request(scope: Scope, sent: Mapping[str, str]) -> HttpRequest:
    request = HttpRequest()
    request.method, request.path = scope["method"], scope["path"]
    request.META = {"SERVER_NAME": "", "SERVER_PORT": "", **sent}
    request.COOKIES = parse_cookie(sent.get("HTTP_COOKIE", ""))
    return request


def _no_view(request: HttpRequest) -> HttpResponse:
    raise NotImplementedError("The middleware asks it only whether it is exempt.")


async def _came(receive: Receive) -> list[Message]:
    """What has come when the body is whole, or is too long for an answer, or its sender is gone."""
    messages, length = [], 0
    while length <= LONGEST_BYTES:
        messages.append(message := await receive())
        length += len(message.get("body", b""))
        if not message.get("more_body", False):
            break
    return messages


def _body(sent: Mapping[str, str], came: list[Message]) -> bytes:
    """NotPlain for what is not whole, or is no JSON: Django reads it, and says what is wrong."""
    whole = came[-1]["type"] == "http.request" and not came[-1].get("more_body", False)
    if not whole or sent.get("CONTENT_TYPE") != JSON:
        raise NotPlain
    return b"".join(message.get("body", b"") for message in came)


def _replayed(came: list[Message], receive: Receive) -> Receive:
    """What was read already comes once more, then the rest."""
    waiting = deque(came)

    async def again() -> Message:
        return waiting.popleft() if waiting else await receive()

    return again
