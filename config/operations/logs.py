"""One line per event, as text or JSON, with the request's id and no code of a session or a link."""

from __future__ import annotations

import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

HEADER = "X-Request-ID"
REFUSED = "django.security."
SAID_EVERY_S = 30.0
GIVEN = re.compile(r"[0-9a-f-]{16,36}")  # nginx's $request_id, or a UUID; other words are not kept
# What stands behind these in a path opens a session, a study or a clip to whoever reads it.
SECRET = re.compile(r"((?:^|(?<=[\s\"'(:/\w]))/(?:api/s|shared|s|r|k|c)/)[^/\s\"'<>?)]+")
QUERY = re.compile(r"(?<=[\w/…])\?[\w.~%+-]+=[^\s\"'<>)]*")
CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")
_request_id: ContextVar[str] = ContextVar("request_id", default="")


def request_id() -> str:
    return _request_id.get()


def without_secrets(text: str) -> str:
    return QUERY.sub("?…", SECRET.sub(r"\1…", text))


def id_for(sent_id: str) -> str:
    """The id of a request: the one that a proxy gave it, else a new one."""
    return sent_id if GIVEN.fullmatch(sent_id) else secrets.token_hex(8)


@contextmanager
def named(request: str) -> Iterator[None]:
    """Inside, log lines carry this id."""
    token = _request_id.set(request)
    try:
        yield
    finally:
        _request_id.reset(token)


class RequestIds:
    """Middleware: each request gets an id, which its log lines and its answer carry."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        name = id_for(request.headers.get(HEADER, ""))
        with named(name):
            response = self.get_response(request)
        response[HEADER] = name
        return response


def route_of(request: HttpRequest) -> str:
    """The name of the route, never the path: that holds the session's code."""
    match = request.resolver_match
    if match is None:
        return "unknown"
    return match.view_name or match.route or "unknown"


class RouteFilter(logging.Filter):
    """Django's own lines on answers name the route; those on 503 were said once by us.

    Requests that Django refuses as malformed are a line of each kind in half a minute, without
    their traceback: else whoever sends them fills the disk.
    """

    def __init__(self) -> None:
        super().__init__()
        self.said_at: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id()
        if record.name.startswith(REFUSED):
            record.exc_info = None
            now = time.monotonic()
            if now - self.said_at.get(record.name, -SAID_EVERY_S) < SAID_EVERY_S:
                return False
            self.said_at[record.name] = now
        request = getattr(record, "request", None)
        if isinstance(request, HttpRequest) and hasattr(record, "status_code"):
            if record.status_code == 503:
                return False
            path = request.path
            arguments = record.args if isinstance(record.args, tuple) else ()
            record.args = tuple(route_of(request) if a == path else a for a in arguments)
        return True


class LineFormatter(logging.Formatter):
    """Text for people; the last step takes codes out, whoever wrote the line.

    What was sent cannot begin a line of its own: controls are spelt out, tracebacks are indented.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = CONTROLS.sub(lambda match: repr(match.group())[1:-1], record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:
        return "\n".join(f"  {line}" for line in super().formatException(ei).splitlines())

    def format(self, record: logging.LogRecord) -> str:
        number = getattr(record, "request_id", "")
        line = without_secrets(super().format(record))
        return f"{line} [{number}]" if number and "\n" not in line else line


class JsonFormatter(logging.Formatter):
    """One JSON object per line, for what collects logs."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": without_secrets(record.getMessage()),
            "process": record.process,
        }
        if number := getattr(record, "request_id", ""):
            entry["request_id"] = number
        if record.exc_info:
            entry["traceback"] = without_secrets(self.formatException(record.exc_info))
        return json.dumps(entry, ensure_ascii=False)
