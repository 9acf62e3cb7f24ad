"""The fast path of answers: an ASGI application that needs no request of Django's for most of them.

It runs the rules that every answer meets (`listening.sessions.answers`) in the event loop, by two
statements, which answers that come at once share. So is the state of a session that has something
to answer. All else (a refusal, another shape, a flood, training, a database that is away) is left
to the views, which run the same rules and say why.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.core.exceptions import SuspiciousOperation, SynchronousOnlyOperation
from django.http import HttpRequest, HttpResponse
from django.http.cookie import parse_cookie
from django.middleware.csrf import CsrfViewMiddleware
from msgspec import MsgspecError
from msgspec.json import Decoder, encode
from psycopg import DataError, IntegrityError

from listening.common.asgi import Application, Message, Receive, Scope, Send, header_variables
from listening.common.async_connections import FAILURES, Batches, Connection, LoopPool
from listening.common.languages import speaking
from listening.common.statements import Statement
from listening.design.traps import TRAINING
from listening.models import Session, Trial
from listening.sessions.answer_statements import WRITE_FREE, Read, Sitting
from listening.sessions.answers import (
    AnswerSteps,
    InDjango,
    StoredAnswer,
    Write,
    answer_steps,
    decode_read,
    read_statement,
)
from listening.sessions.leases import SETTLED
from listening.sessions.stages import is_current
from listening.sessions.task_rules import task_rules
from listening.web.rater.api import REFUSALS, AnswerPayload, answer_of, stored_facts
from listening.web.rater.session_ownership import is_raters
from listening.web.rater.state import Plan, planned_state, read_plan

PATH = re.compile(r"/api/s/([0-9A-Za-z_-]{1,64})/(answers/)?")
ANSWERS_ROUTE, STATE_ROUTE = "api-answers", "api-state"
LONGEST_BYTES = 64 * 1024
PATIENCE_S = 10.0  # what hangs is given up, and stores nothing later; then the view waits
JSON = "application/json"
OF_ONE_CALL = (DataError, IntegrityError, UnicodeError)  # what one answer does to its batch
_decode_answer = Decoder(AnswerPayload).decode
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


class AnswerEndpoint:
    """Stores what is plain; the views answer all else."""

    def __init__(
        self,
        views: Application,
        pool: LoopPool,
        headers: Mapping[bytes, bytes],
        *,
        allows: Callable[[str], bool],
        count: Callable[[str, str, int, float], None],
        request_header: Callable[[str], tuple[bytes, bytes]],
    ) -> None:
        """`headers`: those of every reply. `allows`: whether a session's code sends no flood.

        `count` is called with route, method, status and seconds of what is answered here;
        `request_header` with the id that a proxy gave a request.
        """
        self.views, self.pool, self.headers = views, pool, dict(headers)
        self.allows, self.count, self.request_header = allows, count, request_header
        self.reads = Batches(self._read, by_one=OF_ONE_CALL)
        self.writes = Batches(self._write, by_one=OF_ONE_CALL)

    def takes(self, scope: Scope) -> bool:
        match = _match(scope)
        return match is not None and scope["method"] == ("POST" if match[2] else "GET")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, headers = time.perf_counter(), header_variables(scope)
        messages = await _messages(receive) if scope["method"] == "POST" else []
        session_code = _match(scope)[1]  # type: ignore[index]  # it takes this path
        try:
            async with asyncio.timeout(PATIENCE_S):
                if messages:
                    route, status = ANSWERS_ROUTE, 201
                    body = await self._store_answer(session_code, scope, headers, messages)
                else:
                    route, status = STATE_ROUTE, 200
                    body = await self._state(session_code, scope, headers)
        except LEFT_TO_VIEWS:
            return await self.views(scope, _replayed(messages, receive), send)
        self.count(route, scope["method"], status, time.perf_counter() - began)
        await self._reply(headers, send, status, body)

    async def _state(self, session_code: str, scope: Scope, headers: Mapping[str, str]) -> bytes:
        """Return the state of a session that has something to answer."""
        _request(scope, headers).get_host()
        sitting, plan = _plain_plan(await self.reads((session_code, "")))
        return encode(_state_facts(sitting, plan))

    async def _store_answer(
        self,
        session_code: str,
        scope: Scope,
        headers: Mapping[str, str],
        messages: list[Message],
    ) -> bytes:
        """Return the reply to an answer, which is stored; else raise what is LEFT_TO_VIEWS."""
        body = _body(headers, messages)
        if not self.allows(session_code):
            raise NotPlain
        request = _checked_request(scope, headers)
        answer = answer_of(_decode_answer(body))
        read = await self.reads((session_code, answer.trial))
        sitting, plan = _plain_plan(read)
        trial = read.trial
        if trial is None or trial.state != Trial.State.PLANNED or trial.trap == TRAINING:
            raise NotPlain  # repeats, and the feedback of training
        plan = replace(plan, answered=plan.answered + 1, left=plan.left - 1)
        steps = answer_steps(read, answer)
        match next(steps):
            case Write(goes_on=False) as write:
                stored = StoredAnswer(repeat=False, over=False, sitting=sitting)
                reply = _answer_reply(stored, plan)
                if not await self.writes(write):  # after the reply: what has none is the view's
                    raise NotPlain
                return reply
            case write:
                async with self.pool.connection() as connection, connection.transaction():
                    stored = await _run_steps(connection, steps, write)
                    own = stored.over and is_raters(request, sitting.link, sitting.rater)
                    return _answer_reply(stored, plan, own=own)

    async def _read(self, pairs: list[tuple[str, str]]) -> list[Read]:
        """Return what READ finds of each (session's code, trial's code)."""
        statement = read_statement(pairs)
        async with asyncio.timeout(PATIENCE_S), self.pool.connection() as connection:
            cursor = await connection.execute(statement.sql, statement.values)
            return [decode_read(content) for (content,) in await cursor.fetchall()]

    async def _write(self, writes: list[Write]) -> list[bool]:
        """Return which of these answers are stored: those whose rows nobody holds or has changed.

        A block that one of them settles is settled with it.
        """
        async with (
            asyncio.timeout(PATIENCE_S),
            self.pool.connection() as connection,
            connection.transaction() if any(w.settles for w in writes) else nullcontext(),
        ):
            return await _written(connection, writes)

    async def _reply(self, sent: Mapping[str, str], send: Send, status: int, body: bytes) -> None:
        headers = [
            *self.headers.items(),
            (b"content-type", JSON.encode()),
            (b"content-length", b"%d" % len(body)),
            (b"cache-control", b"max-age=0, no-cache, no-store, must-revalidate, private"),
            self.request_header(sent.get("HTTP_X_REQUEST_ID", "")),
        ]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


async def _run_steps(
    connection: Connection, steps: AnswerSteps, step: Write | Statement | InDjango
) -> StoredAnswer:
    """Perform this step of an answer and all that follow it, in the connection's transaction."""
    try:
        while True:
            step = steps.send(await _perform_step(connection, step))
    except StopIteration as end:
        stored: StoredAnswer = end.value
        return stored


async def _perform_step(connection: Connection, step: Write | Statement | InDjango) -> Any:
    match step:
        case Write():
            (stored,) = await _written(connection, [step])
            return stored
        case Statement():
            cursor = await connection.execute(step.sql, step.values)
            return await cursor.fetchall() if cursor.description else []
        case _:
            raise NotPlain


async def _written(connection: Connection, writes: list[Write]) -> list[bool]:
    """Store answers, and settle the blocks that end with them; whether each is stored."""
    numbered = [{**write.values, "n": place} for place, write in enumerate(writes)]
    values = {"answers": encode(numbered).decode()}
    cursor = await connection.execute(WRITE_FREE, values)
    stored = {place for (place,) in await cursor.fetchall()}
    blocks = [writes[n].values["block"] for n in sorted(stored) if writes[n].settles]
    if blocks:
        await connection.execute(SETTLED, {"blocks": blocks})
    return [place in stored for place in range(len(writes))]


def _match(scope: Scope) -> re.Match[str] | None:
    return PATH.fullmatch(scope["path"].removeprefix(settings.EARNEST_PATH))


def _plain_plan(read: Read) -> tuple[Sitting, Plan]:
    """A session in progress, and what comes next in it: no training, no questions between."""
    sitting = read.sitting
    if sitting is None or sitting.status != Session.Status.STARTED:
        raise NotPlain
    if not is_current(lost=read.lost, left=read.left) or sitting.wording != sitting.wording_last:
        raise NotPlain
    plan = read_plan(read)
    trains = TRAINING in (trial.trap for trial in plan.upcoming)
    if trains or task_rules(plan.tasks[0]).asks_between:
        raise NotPlain
    return sitting, plan


def _state_facts(sitting: Sitting, plan: Plan, *, own: bool = False) -> dict[str, Any]:
    with speaking(sitting.language):  # whose the session is matters at the end alone
        return planned_state(sitting, plan, own=own)


def _answer_reply(stored: StoredAnswer, plan: Plan, *, own: bool = False) -> bytes:
    """The reply to an answer, with the state as the answer leaves it."""
    return encode(stored_facts(stored, _state_facts(stored.sitting, plan, own=own)))


def _checked_request(scope: Scope, headers: Mapping[str, str]) -> HttpRequest:
    """CSRF token, origin and host are checked as Django does; NotPlain where it would refuse."""
    request = _request(scope, headers)
    request.get_host()
    _csrf.process_request(request)
    if _csrf.process_view(request, _no_view, (), {}) is not None:
        raise NotPlain
    return request


def _request(scope: Scope, headers: Mapping[str, str]) -> HttpRequest:
    request = HttpRequest()
    request.method, request.path = scope["method"], scope["path"]
    request.META = {"SERVER_NAME": "", "SERVER_PORT": "", **headers}
    request.COOKIES = parse_cookie(headers.get("HTTP_COOKIE", ""))
    return request


def _no_view(request: HttpRequest) -> HttpResponse:
    raise NotImplementedError("The middleware asks it only whether it is exempt.")


async def _messages(receive: Receive) -> list[Message]:
    """What has come when the body is whole, or is too long for an answer, or its sender is gone."""
    messages, length = [], 0
    while length <= LONGEST_BYTES:
        messages.append(message := await receive())
        length += len(message.get("body", b""))
        if not message.get("more_body", False):
            break
    return messages


def _body(headers: Mapping[str, str], messages: list[Message]) -> bytes:
    """NotPlain for what is not whole, or is no JSON: Django reads it, and says what is wrong."""
    last = messages[-1]
    whole = last["type"] == "http.request" and not last.get("more_body", False)
    if not whole or headers.get("CONTENT_TYPE") != JSON:
        raise NotPlain
    return b"".join(message.get("body", b"") for message in messages)


def _replayed(messages: list[Message], receive: Receive) -> Receive:
    """What was read already comes once more, then the rest."""
    waiting = deque(messages)

    async def again() -> Message:
        return waiting.popleft() if waiting else await receive()

    return again
