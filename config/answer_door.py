"""The door of answers, past Django's request: most of what a listening test hears comes in here.

A plain answer to the current trial is checked by the rules that every answer meets (`checked`),
stored by the statement that stores every answer, and replied to as `listening.api.AnswerView` does;
in the event loop, by two statements. All else (a refusal, another shape, a flood, the last answer
of a block, a database that is away) is left to that view, which meets the same and says why.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import psycopg
from django.core.exceptions import SuspiciousOperation, SynchronousOnlyOperation
from django.db import connections
from django.http import HttpRequest, HttpResponse
from django.http.cookie import parse_cookie
from django.middleware.csrf import CsrfViewMiddleware
from msgspec import MsgspecError
from msgspec.json import Decoder, encode
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from config.bridge import Bridge, Message, Receive, Scope, Send, header_variables
from config.headers import WithHeaders
from config.limits import ANSWERING, spared
from config.operations.logs import HEADER, id_for
from config.operations.requests import tally
from listening.answers import AHEAD, FASTEST, START_S, StoredAnswer, checked
from listening.api import REFUSALS, AnswerShape, answer_of, stored_facts
from listening.design.traps import TRAINING
from listening.languages import speaking
from listening.models import Trial
from listening.statements import READ, WRITE, LoadedTrial, Read, Sitting, upcoming_of
from listening.task_rules import task_rules
from listening.views.state import Plan, planned_state

PATH = re.compile(r"/api/s/([\w-]+)/answers/")
ROUTE = "api-answers"
LONGEST_BYTES = 64 * 1024
CONNECTIONS = 8
PATIENCE_S = 10.0  # what hangs is given up, and stores nothing later; then the view waits
JSON = "application/json"
REQUEST_ID = HEADER.lower().encode()
_answer = Decoder(AnswerShape)
_read = Decoder(Read)
_csrf = CsrfViewMiddleware(lambda request: HttpResponse())


class NotPlain(Exception):
    """An answer that its view must look at."""


LEFT_TO_VIEW = (
    *REFUSALS,
    MsgspecError,
    NotPlain,
    SynchronousOnlyOperation,  # rules of a task that this process has not read yet: the view will
    psycopg.Error,  # the view meets the same and says so, or finds another connection
    PoolTimeout,
    TimeoutError,
    SuspiciousOperation,  # a host that is not ours
)


class AnswerDoor:
    """An ASGI application: it stores what is plain, and `pages` answer all else."""

    def __init__(self, pages: Bridge, added: Mapping[bytes, bytes]) -> None:
        """`added`: the headers that every answer carries."""
        self.pages, self.added = pages, dict(added)
        self.pool: AsyncConnectionPool | None = None  # made in the loop that uses it

    def takes(self, scope: Scope) -> bool:
        return scope["method"] == "POST" and PATH.fullmatch(scope["path"]) is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, came = time.perf_counter(), await _came(receive)
        sent = header_variables(scope)
        body = _body(sent, came)
        code = PATH.fullmatch(scope["path"])[1]  # type: ignore[index]  # it takes this path
        if body is not None and spared.passes(ANSWERING, code):
            try:
                _check_token(scope, sent)
                async with asyncio.timeout(PATIENCE_S):
                    told = await self._stored(code, body)
            except LEFT_TO_VIEW:
                told = None
            if told is not None:
                tally.add(ROUTE, "POST", 201, time.perf_counter() - began)
                return await self._reply(sent, send, told)
        await self.pages(scope, _replayed(came, receive), WithHeaders(send, self.added))

    async def _stored(self, code: str, body: bytes) -> bytes:
        """The reply to an answer, which is stored; else raises what is LEFT_TO_VIEW."""
        answer = answer_of(_answer.decode(body))
        around = {"ahead": AHEAD, "fastest": FASTEST, "start": START_S}
        async with (await self._connections()).connection() as connection:
            values = {"session": code, "code": answer.trial, **around}
            ((found,),) = await (await connection.execute(READ, values)).fetchall()
            plain = _plain(_read.decode(found))
            rules = task_rules(plain.trial.task_id)
            values = checked(plain.sitting, plain.trial, rules, answer)
            told = encode(_told(plain))  # before it is stored: what fails now is the view's
            ((stored,),) = await (await connection.execute(WRITE, values)).fetchall()
        if not stored:
            raise NotPlain
        return told

    async def _connections(self) -> AsyncConnectionPool:
        if self.pool is None:
            self.pool = _pool()
            await self.pool.open()
        return self.pool

    async def _reply(self, sent: Mapping[str, str], send: Send, told: bytes) -> None:
        headers = [
            *self.added.items(),
            (b"content-type", JSON.encode()),
            (b"content-length", b"%d" % len(told)),
            (b"cache-control", b"max-age=0, no-cache, no-store, must-revalidate, private"),
            (REQUEST_ID, id_for(sent.get("HTTP_X_REQUEST_ID", "")).encode()),
        ]
        await send({"type": "http.response.start", "status": 201, "headers": headers})
        await send({"type": "http.response.body", "body": told})


def _pool() -> AsyncConnectionPool:
    """Connections as Django makes them, for the loop; each statement is a transaction."""
    known = connections["default"].get_connection_params()
    given = {
        name: value for name, value in known.items() if name not in ("cursor_factory", "context")
    }
    own = {"autocommit": True, "prepare_threshold": 0}
    return AsyncConnectionPool(
        kwargs={**given, **own}, min_size=1, max_size=CONNECTIONS, open=False, name="answers"
    )


class Plain(NamedTuple):
    """What was read for a plain answer."""

    sitting: Sitting
    trial: LoadedTrial
    plan: Plan  # as the answer leaves it


def _plain(read: Read) -> Plain:
    """Neither the last of a block, nor training, nor with questions between: those do more."""
    sitting, trial = read.sitting, read.trial
    if sitting is None or trial is None or trial.state != Trial.State.PLANNED:
        raise NotPlain
    if trial.left_in_block == 1 or task_rules(trial.task_id).asks_between:
        raise NotPlain
    upcoming = [upcoming_of(bytes(each)) for each in read.upcoming]
    training = TRAINING in {trial.trap, *(each.trap for each in upcoming)}
    if training or sitting.wording != sitting.wording_last:
        raise NotPlain
    plan = Plan(
        tasks=list(dict.fromkeys(read.tasks)),
        answered=read.answered + 1,
        upcoming=upcoming,
        left=trial.left - 1,
        training=[],
        places=[],
    )
    return Plain(sitting, trial, plan)


def _told(plain: Plain) -> dict[str, Any]:
    """The reply, with the state in which the answer leaves its session."""
    sitting = plain.sitting
    with speaking(sitting.language):  # whose the session is matters at the end alone
        state = planned_state(sitting, plain.plan, own=False)
    return stored_facts(StoredAnswer(repeat=False, over=False, sitting=sitting), state)


def _check_token(scope: Scope, sent: Mapping[str, str]) -> None:
    """CSRF token, origin and host, as Django checks them; NotPlain where it would refuse."""
    request = HttpRequest()
    request.method, request.path = scope["method"], scope["path"]
    request.META = {"SERVER_NAME": "", "SERVER_PORT": "", **sent}
    request.COOKIES = parse_cookie(sent.get("HTTP_COOKIE", ""))
    request.get_host()
    _csrf.process_request(request)
    if _csrf.process_view(request, _no_view, (), {}) is not None:
        raise NotPlain


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


def _body(sent: Mapping[str, str], came: list[Message]) -> bytes | None:
    """None for what is not whole, or is no JSON: Django reads it, and says what is wrong."""
    whole = came[-1]["type"] == "http.request" and not came[-1].get("more_body", False)
    if not whole or sent.get("CONTENT_TYPE") != JSON:
        return None
    return b"".join(message.get("body", b"") for message in came)


def _replayed(came: list[Message], receive: Receive) -> Receive:
    """What was read already comes once more, then the rest."""
    waiting = deque(came)

    async def again() -> Message:
        return waiting.popleft() if waiting else await receive()

    return again
