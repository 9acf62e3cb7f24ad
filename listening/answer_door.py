"""The door of answers, past Django's request: most of what a listening test hears comes in here.

An answer to the current trial is stored by the rules that every answer meets, and replied to as
`listening.api.AnswerView` does. All else (a refusal, another shape, a flood, a database that is
away) is left to that view, which meets the same and says why: it stores nothing twice.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.http import HttpRequest
from django.http.cookie import parse_cookie
from msgspec import MsgspecError
from msgspec.json import Decoder, encode

from config.bridge import Bridge, Message, Receive, Scope, Send, send_answer
from config.headers import WithHeaders
from config.limits import ANSWERING, spared
from config.operations.logs import HEADER, id_for, named
from config.operations.requests import tally
from config.operations.unavailable import is_away
from listening import sessions
from listening.answers import StoredAnswer, store_answer
from listening.api import REFUSALS, AnswerShape, answer_of, stored_facts
from listening.views.ownership import is_own
from listening.views.state import state_at, state_of

PATH = re.compile(r"/api/s/([\w-]+)/answers/")
ROUTE = "api-answers"
LONGEST_BYTES = 64 * 1024
JSON = b"application/json"
log = logging.getLogger(__name__)
_decoder = Decoder(AnswerShape)


@dataclass(frozen=True)
class Sent:
    """An answer as it came: whose, what, and by which browser."""

    code: str
    body: bytes
    headers: dict[bytes, bytes]

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")


@dataclass(frozen=True)
class Reply:
    """What the page is told of a stored answer."""

    status: int
    body: bytes
    request_id: str

    async def go(self, send: Send, added: Sequence[tuple[bytes, bytes]]) -> None:
        headers = [
            *added,
            (b"content-type", JSON),
            (b"content-length", b"%d" % len(self.body)),
            (b"cache-control", b"max-age=0, no-cache, no-store, must-revalidate, private"),
            (HEADER.lower().encode(), self.request_id.encode()),
        ]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


class AnswerDoor:
    """An ASGI application: it stores what is plain, and `pages` answer all else."""

    def __init__(self, pages: Bridge, added: Mapping[bytes, bytes]) -> None:
        """`added`: the headers that every answer carries."""
        self.pages, self.added = pages, [*added.items()]

    def takes(self, scope: Scope) -> bool:
        return scope["method"] == "POST" and PATH.fullmatch(scope["path"]) is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        queue, came = self.pages.queues["raters"], await _came(receive)
        sent = _sent(scope, came)
        if sent is not None and not queue.is_full:
            work = queue.run(stored_reply, sent)
            await asyncio.wait([work], timeout=queue.patience_s)
            if not work.done():
                log.error("An answer hung for %g s", queue.patience_s)
                away = self.pages.unavailable(scope["path"])
                return await send_answer(WithHeaders(send, dict(self.added)), away)
            if reply := work.result():
                return await reply.go(send, self.added)
        await self.pages(scope, _replayed(came, receive), WithHeaders(send, dict(self.added)))


async def _came(receive: Receive) -> list[Message]:
    """What has come when the body is whole, or is too long for an answer, or its sender is gone."""
    messages, length = [], 0
    while length <= LONGEST_BYTES:
        messages.append(message := await receive())
        length += len(message.get("body", b""))
        if not message.get("more_body", False):
            break
    return messages


def _sent(scope: Scope, came: list[Message]) -> Sent | None:
    """None for what is not whole, or is no JSON: Django reads it, and says what is wrong."""
    whole = came[-1]["type"] == "http.request" and not came[-1].get("more_body", False)
    headers = dict(scope["headers"])
    if not whole or headers.get(b"content-type") != JSON:
        return None
    body = b"".join(message.get("body", b"") for message in came)
    return Sent(PATH.fullmatch(scope["path"])[1], body, headers)  # type: ignore[index]  # it takes


def _replayed(came: list[Message], receive: Receive) -> Receive:
    """What was read already comes once more, then the rest."""
    waiting = deque(came)

    async def again() -> Message:
        return waiting.popleft() if waiting else await receive()

    return again


def stored_reply(sent: Sent) -> Reply | None:
    """In a thread: the answer stored and the next state; None where the view must look at it."""
    began = time.perf_counter()
    if not spared.passes(ANSWERING, sent.code):
        return None
    name = id_for(sent.header(HEADER.lower().encode()))
    with named(name):
        try:
            answer = answer_of(_decoder.decode(sent.body))
            stored = store_answer(sent.code, answer)
            body = encode(stored_facts(stored, _state(sent, stored)))
        except (MsgspecError, *REFUSALS):
            return None
        except Exception as error:
            if not is_away(error):  # what is away is said once in a while, by the view
                log.exception("An answer is left to its view")
            connection.close_if_unusable_or_obsolete()
            return None
    status = 200 if stored.repeat else 201
    tally.add(ROUTE, "POST", status, time.perf_counter() - began)
    return Reply(status, body, name)


def _state(sent: Sent, stored: StoredAnswer) -> dict[str, Any]:
    if not stored.over:
        return state_at(stored.sitting, own=False)  # who owns it matters at the end alone
    session = sessions.refresh(sessions.session_named(sent.code))
    request = HttpRequest()
    request.COOKIES = parse_cookie(sent.header(b"cookie"))
    return state_of(session, own=is_own(request, session))
