"""What is away: a page that waits, with 503; for a package that is not installed, one with 501."""

from __future__ import annotations

import errno
import logging
import random
import sys
import time
from collections.abc import Callable

from django.db import InterfaceError, InternalError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.csrf import requires_csrf_token
from django.views.defaults import server_error
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from config.incoming_requests import without_prefix
from config.missing_packages import remedy
from config.operations.health import reason_of
from config.operations.logs import route_of

WAIT_S = (5, 15)  # spread, so that a thousand waiting pages do not come back at once
SAID_EVERY_S = 30.0
AWAY = (OperationalError, InterfaceError, RedisError, BrokerError)
FULL = (errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EIO)
SENTENCE = (  # as in the page, where it is marked for translation
    "Our server is temporarily unavailable. It is not your fault, "
    "and answers already saved are safe."
)
RATERS = ("/r/", "/s/", "/k/", "/api/s/", "/review/")
SCRIPTS = "/api/v1/"  # asked by researchers' scripts, by tokens: they read no pages
BROKEN = (
    "The server failed. Tell your administrator the id in the header X-Request-ID. The log "
    "lists the error under it."
)
TOO_LARGE = "The request body is too large. Upload it in pieces."
log = logging.getLogger(__name__)
_said: dict[str, float] = {}  # reason -> when it was logged last


def is_away(error: BaseException | None) -> bool:
    """Whether the same request may succeed later, when a server or space is back."""
    if isinstance(error, InternalError):  # a database that takes reads only
        return getattr(error.__cause__, "sqlstate", None) == "25006"
    if isinstance(error, OSError) and error.errno in FULL:
        return True
    return isinstance(error, AWAY)


def say(request: HttpRequest, error: BaseException) -> None:
    """Once in a while per reason: thousands of pages ask again while a server is away."""
    reason, now = reason_of(error), time.monotonic()
    if now - _said.get(reason, -SAID_EVERY_S) >= SAID_EVERY_S:
        _said[reason] = now
        log.error("%s cannot be served: %s", route_of(request), reason)


def answer(path: str) -> HttpResponse:
    """What is sent for an address; without its request, whose session would ask the database."""
    wait_s = random.randint(*WAIT_S)
    response: HttpResponse
    if without_prefix(path).startswith(SCRIPTS):
        response = _problem(503, "Temporarily unavailable", SENTENCE)
    elif without_prefix(path).startswith("/api/"):
        response = JsonResponse({"error": "unavailable", "message": _(SENTENCE)}, status=503)
    else:
        response = HttpResponse(render_to_string("503.html", {"wait_s": wait_s}), status=503)
    response["Retry-After"] = str(wait_s)
    response["Cache-Control"] = "no-store"
    return response


class Unavailable:
    """Middleware: what a view raises because a server is away becomes a page that waits."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if words := remedy(error):
            return not_installed(request, words)
        if not is_away(error):
            return None
        say(request, error)
        return answer(request.path)


def not_installed(request: HttpRequest, words: str) -> HttpResponse:
    """This page needs a package or plug-in that is not here; all other pages work.

    Raters, whose study lacks a plug-in, get the page that waits.
    """
    log.warning("%s: %s", route_of(request), words)
    if without_prefix(request.path).startswith(RATERS):
        return answer(request.path)
    if without_prefix(request.path).startswith(SCRIPTS):
        return _problem(501, "Not installed", words)
    if "text/html" not in request.headers.get("Accept", "text/html"):
        return JsonResponse({"error": "not_installed", "message": words}, status=501)
    return render(request, "operations/not_installed.html", {"words": words}, status=501)


@requires_csrf_token
def failed(request: HttpRequest) -> HttpResponseBase:
    """Django's handler500: other middleware may find a server away too (log-ins, sessions)."""
    error = sys.exc_info()[1]
    if error is not None and (words := remedy(error)):
        return not_installed(request, words)
    if error is not None and is_away(error):
        say(request, error)
        return answer(request.path)
    if without_prefix(request.path).startswith(SCRIPTS):
        return _problem(500, "Server error", BROKEN)
    return server_error(request)


def too_large(path: str) -> HttpResponse:
    """What is sent where a request's body is larger than the server takes."""
    if without_prefix(path).startswith(SCRIPTS):
        return _problem(413, "Too large", TOO_LARGE)
    return HttpResponse(f"{TOO_LARGE}\n", status=413, content_type="text/plain; charset=utf-8")


def _problem(status: int, title: str, detail: str) -> HttpResponse:
    """As the REST API tells problems (RFC 9457)."""
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return JsonResponse(body, status=status, content_type="application/problem+json")
