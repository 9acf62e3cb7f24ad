"""The door of answers, past Django's request: most of what a listening test hears comes in here.

A plain answer to the current trial is checked by the rules that every answer meets (`checked`),
stored by the statement that stores every answer, and replied to as `listening.api.AnswerView` does;
in the event loop, by two statements. So is the state of a session that has something to answer. All
else (a refusal, another shape, a flood, the last answer of a session, a block that failed, a
database that is away) is left to the views, which meet the same and say why.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.core.exceptions import SuspiciousOperation, SynchronousOnlyOperation
from django.http import HttpRequest, HttpResponse
from django.http.cookie import parse_cookie
from django.middleware.csrf import CsrfViewMiddleware
from msgspec import MsgspecError
from msgspec.json import Decoder, encode

from config.bridge import Bridge, Message, Receive, Scope, Send, header_variables
from config.headers import WithHeaders
from config.limits import ANSWERING, spared
from config.loop_pool import FAILURES, Cursor, LoopPool
from config.operations.logs import HEADER, id_for
from config.operations.requests import tally
from listening.answers import AHEAD, FASTEST, START_S, StoredAnswer, checked
from listening.api import REFUSALS, AnswerShape, answer_of, stored_facts
from listening.design.traps import TRAINING, judge_block
from listening.languages import speaking
from listening.leases import SETTLED
from listening.models import Session, Trial
from listening.stages import is_current
from listening.statements import OUTCOMES, READ, WRITE, LoadedTrial, Read, Sitting, upcoming_of
from listening.task_rules import TaskRules, task_rules
from listening.views.state import Plan, planned_state

PATH = re.compile(r"/api/s/([\w-]+)/(answers/)?")
ANSWERS, STATE = "api-answers", "api-state"  # routes
LONGEST_BYTES = 64 * 1024
PATIENCE_S = 10.0  # what hangs is given up, and stores nothing later; then the view waits
JSON = "application/json"
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
    SynchronousOnlyOperation,  # rules of a task that this process has not read yet: the view will
    *FAILURES,  # the view meets the same and says so, or finds another connection
    SuspiciousOperation,  # a host that is not ours
)


class AnswerDoor:
    """An ASGI application: it stores what is plain, and `pages` answer all else."""

    def __init__(self, pages: Bridge, added: Mapping[bytes, bytes], pool: LoopPool) -> None:
        """`added`: the headers that every answer carries."""
        self.pages, self.added, self.pool = pages, dict(added), pool

    def takes(self, scope: Scope) -> bool:
        found = PATH.fullmatch(scope["path"])
        return found is not None and scope["method"] == ("POST" if found[2] else "GET")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, sent = time.perf_counter(), header_variables(scope)
        came = await _came(receive) if scope["method"] == "POST" else []
        code = PATH.fullmatch(scope["path"])[1]  # type: ignore[index]  # it takes this path
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
        async with self.pool.connection() as connection:
            sitting, plan = _listening(await _found(connection.cursor(), code))
        return encode(_spoken(sitting, plan))

    async def _stored(
        self, code: str, scope: Scope, sent: Mapping[str, str], came: list[Message]
    ) -> bytes:
        """The reply to an answer, which is stored; else raises what is LEFT_TO_VIEWS."""
        body = _body(sent, came)
        if not spared.passes(ANSWERING, code):
            raise NotPlain
        _check_token(scope, sent)
        answer = answer_of(_answer.decode(body))
        async with self.pool.connection() as connection:
            cursor = connection.cursor()
            read = await _found(cursor, code, answer.trial)
            sitting, plan = _listening(read)
            trial = _plain(read)
            rules = task_rules(trial.task_id)
            values = checked(sitting, trial, rules, answer)
            stored = StoredAnswer(repeat=False, over=False, sitting=sitting)
            # before it is stored: what fails now is the view's
            told = encode(stored_facts(stored, _spoken(sitting, _after(plan))))
            if trial.left_in_block > 1:
                await _write(cursor, values)
            else:
                await _write_last(cursor, values, rules)
        return told

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


async def _found(cursor: Cursor, code: str, trial: str = "") -> Read:
    values = {"session": code, "code": trial, "ahead": AHEAD, "fastest": FASTEST, "start": START_S}
    ((found,),) = await (await cursor.execute(READ, values)).fetchall()
    return _read.decode(found)


async def _write(cursor: Cursor, values: Mapping[str, Any]) -> None:
    ((stored,),) = await (await cursor.execute(WRITE, values)).fetchall()
    if not stored:
        raise NotPlain


async def _write_last(cursor: Cursor, values: Mapping[str, Any], rules: TaskRules) -> None:
    """The last answer of a block, which is settled with it; nothing is stored where it failed."""
    held = {"session": values["session"], "block": values["block"]}
    async with cursor.connection.transaction():
        await _write(cursor, values)
        if rules.judges_blocks:
            outcomes = await (await cursor.execute(OUTCOMES, held)).fetchall()
            if not judge_block(rules.traps, outcomes).valid:
                raise NotPlain
        await cursor.execute(SETTLED, {"blocks": [held["block"]]})


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
    """The trial that is answered, if something comes after it: the last answer does more."""
    trial = read.trial
    if trial is None or trial.state != Trial.State.PLANNED or trial.trap == TRAINING:
        raise NotPlain
    if trial.left == 1:
        raise NotPlain
    return trial


def _after(plan: Plan) -> Plan:
    """As the answer leaves it; what is upcoming was read without its trial."""
    return replace(plan, answered=plan.answered + 1, left=plan.left - 1)


def _spoken(sitting: Sitting, plan: Plan) -> dict[str, Any]:
    with speaking(sitting.language):  # whose the session is matters at the end alone
        return planned_state(sitting, plan, own=False)


def _check_token(scope: Scope, sent: Mapping[str, str]) -> None:
    """CSRF token, origin and host, as Django checks them; NotPlain where it would refuse."""
    request = _request(scope, sent)
    request.get_host()
    _csrf.process_request(request)
    if _csrf.process_view(request, _no_view, (), {}) is not None:
        raise NotPlain


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
