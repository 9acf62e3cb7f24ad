"""One process, one port: pages (WSGI), clips (ranged files), monitor (WebSocket)."""

import ctypes
import gc
import os
import signal
import sys
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
if sys.platform == "linux":  # a worker whose server was killed must not keep the port
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)
if gc.isenabled():  # what is imported stays: to look for garbage meanwhile takes a tenth of it
    gc.disable()

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http.request import split_domain_port, validate_host
from django.urls import get_resolver

from config import incoming_requests
from config.incoming_requests import utf_8_only
from config.limits import ANSWERING, asker_of, uncounted
from config.operations import unavailable
from config.operations.logs import HEADER, id_for
from config.operations.shared_counters import tally
from config.responses import WithHeaders, every_answers
from config.thread_queue import Queue
from config.wsgi_bridge import Bridge, send_plain
from listening.common.asgi import Receive, Scope, Send, header_variables
from listening.common.async_connections import LoopPool
from listening.common.reading_process import bound_wait

# Threads per web worker; each keeps its own database connection. Raters share theirs with nobody:
# researchers' pages may take long, and passwords are hashed one by one. When a database hangs, so
# do all of them: of the operators' threads one looks, and the other tells.
THREADS = {"raters": 8, "researchers": 3, "logins": 1, "operators": 2, "sign-ons": 2}
# More come back later; so many in each lane: of browsers that have logged in before, of others.
WAITING = {"raters": 2048, "researchers": 96, "logins": 40, "operators": 30, "sign-ons": 30}
PATIENCE_S = dict.fromkeys(THREADS, 20.0) | {"researchers": 300.0}
bound_wait(PATIENCE_S["researchers"] - 20.0)  # so that the sentence about it is still sent
FAIR = ("researchers", "logins")  # askers take turns there: one that sends much keeps nobody out
OPERATORS = ("/readyz",)  # not /metrics: scrapes that hang would take all of these threads
RATERS = ("/r/", "/s/", "/k/", "/api/", "/static/")
LOGINS = ("/login", "/account/confirm")
PORTS = {"http": 80, "https": 443}
SIGN_ONS = "/sign-on/"  # these wait for a provider
LIVEZ = f"{settings.EARNEST_PATH}/livez"


def queue_of(method: str, path: str) -> str:
    """Whose threads answer a request."""
    path = incoming_requests.without_prefix(path)
    if path.startswith(LOGINS) and method == "POST":
        return "logins"
    if path.startswith(SIGN_ONS):
        return "sign-ons"
    if path.startswith(unavailable.SCRIPTS):
        return "researchers"
    if path in OPERATORS:
        return "operators"
    return "raters" if path.startswith(RATERS) else "researchers"


pages = Bridge(
    utf_8_only(get_wsgi_application()),
    queues={
        name: Queue(name, THREADS[name], WAITING[name], PATIENCE_S[name], fair=name in FAIR)
        for name in THREADS
    },
    queue_of=queue_of,
    asker_of=asker_of,
    max_body_bytes=settings.EARNEST_MAX_UPLOAD_BYTES,
    unavailable=unavailable.answer,
)
_ = get_resolver().url_patterns  # all pages are imported now, and no first visitor waits for it


def is_own_origin(scope: Scope) -> bool:
    """Whether scheme, host and port of a socket's Origin are those of our own pages.

    Those are the public address, and the address that this request names, where it is allowed.
    """
    headers = header_variables(scope)
    origin = _origin_of(headers.get("HTTP_ORIGIN", ""))
    header, secure = getattr(settings, "SECURE_PROXY_SSL_HEADER", None) or ("", "")
    is_secure = scope.get("scheme") == "wss" or (header and headers.get(header) == secure)
    host = headers.get("HTTP_HOST", "")
    named = {_origin_of(each) for each in settings.CSRF_TRUSTED_ORIGINS}
    if validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        named.add(_origin_of(f"{'https' if is_secure else 'http'}://{host}"))
    return origin is not None and origin in named


def _origin_of(address: str) -> tuple[str, str, int] | None:
    """Scheme, host and port of a web address; None where it has none of them."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in PORTS or not parts.hostname:
        return None
    return parts.scheme, parts.hostname, port if port is not None else PORTS[parts.scheme]


class Sockets:
    """WebSockets of the researcher's pages: same origin only, with the log-in of the pages."""

    def __init__(self, routes: list[Any]) -> None:
        self.routed = AuthMiddlewareStack(URLRouter(routes))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not is_own_origin(scope):
            await receive()
            return await send({"type": "websocket.close", "code": 1000})
        try:
            await self.routed(scope, receive, send)
        except ValueError as error:
            if not str(error).startswith("No route found"):
                raise
            await receive()
            await send({"type": "websocket.close", "code": 4404})


def socket_routes() -> list[Any]:
    from listening.web.researcher import live_monitor  # after Django's set-up, above

    return live_monitor.websocket_urlpatterns


async def views(scope: Scope, receive: Receive, send: Send) -> None:
    """Django's pages, with the headers of every reply."""
    await pages(scope, receive, WithHeaders(send, added))


def answer_endpoint() -> Any:
    from listening.web.rater.answer_endpoint import AnswerEndpoint  # likewise

    return AnswerEndpoint(
        views,
        pool,
        added,
        allows=partial(uncounted.passes, ANSWERING),
        count=tally.add,
        request_header=request_header,
    )


def request_header(sent_id: str) -> tuple[bytes, bytes]:
    return HEADER.lower().encode(), id_for(sent_id).encode()


def clip_route() -> Any:
    from config.clips import Clips  # likewise

    return Clips(pool)


sockets = Sockets(socket_routes())
added = every_answers()
pool = LoopPool()
answers = answer_endpoint()
clips = clip_route()
gc.freeze()  # nor is it looked through later, while raters wait
gc.enable()


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI application that granian serves."""
    incoming_requests.restore_prefix(scope)
    if scope["type"] == "websocket":
        await sockets(scope, receive, send)
    elif answers.takes(scope):  # which adds the headers itself
        await answers(scope, receive, send)
    elif scope["path"] == LIVEZ:  # here, where no busy thread and no server is waited for
        await send_plain(WithHeaders(send, added), HTTPStatus.OK)
    elif clips.takes(scope):
        await clips(scope, receive, WithHeaders(send, added))
    else:
        await views(scope, receive, send)
