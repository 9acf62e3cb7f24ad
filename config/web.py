"""One process, one port: pages (WSGI), clips (ranged files), monitor (WebSocket)."""

import ctypes
import os
import signal
import sys
from http import HTTPStatus
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
if sys.platform == "linux":  # a worker whose server was killed must not keep the port
    ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.conf import settings
from django.core.wsgi import get_wsgi_application

from config.bridge import Bridge, Receive, Scope, Send, send_plain
from config.clips import PREFIX, Clips

THREADS = 8  # per web worker; each keeps its own database connection

django = get_wsgi_application()
pages = Bridge(django, threads=THREADS, max_body_bytes=settings.EARNEST_MAX_UPLOAD_BYTES)
# When a database hangs, so do all threads of the pages; of these one looks, and the other tells.
readiness = Bridge(django, threads=2, max_body_bytes=0)
clips = Clips()


class Sockets:
    """WebSockets of the researcher's pages: same origin only, with the log-in of the pages."""

    def __init__(self, routes: list[Any]) -> None:
        self.routed = AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(routes)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.routed(scope, receive, send)
        except ValueError as error:
            if not str(error).startswith("No route found"):
                raise
            await receive()
            await send({"type": "websocket.close", "code": 4404})


def socket_routes() -> list[Any]:
    from listening.routing import websocket_urlpatterns  # after Django's set-up, above

    return websocket_urlpatterns


sockets = Sockets(socket_routes())


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """The ASGI application that granian serves."""
    if scope["type"] == "websocket":
        await sockets(scope, receive, send)
    elif scope["path"] == "/livez":  # here, where no busy thread and no server is waited for
        await send_plain(send, HTTPStatus.OK)
    elif scope["path"] == "/readyz":
        await readiness(scope, receive, send)
    elif scope["path"].startswith(PREFIX):
        await clips(scope, receive, send)
    else:
        await pages(scope, receive, send)
