"""The server: a request in, an answer out; and a thread for the clock and the hooks."""

from __future__ import annotations

import json
import sys
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from listening.recruitment.play_money import api, hooks, money, pages, studies, submissions
from listening.recruitment.play_money.routing import Reply, Request
from listening.recruitment.play_money.state import ApiError, State

API = "/api/v1"
TICK_S = 0.1


class Handler(BaseHTTPRequestHandler):
    """HTTP/1.1, connections stay open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Server

    def _any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        parts = urlsplit(self.path)
        request = Request(
            self.server.state,
            self.command,
            unquote(parts.path),
            dict(parse_qsl(parts.query, keep_blank_values=True)),
            self.rfile.read(length),
            {name.lower(): value for name, value in self.headers.items()},
        )
        self._reply(self._answer(request))

    def _answer(self, request: Request) -> Reply:
        """A mistake of the double's own is a 500 that says so, and stands in its errors."""
        try:
            return self.server.answer(request)
        except Exception:
            text = traceback.format_exc()
            print(text, file=sys.stderr, flush=True)
            return Reply(500, f"The double is broken.\n{text}", content_type="text/plain")

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = _any

    def _reply(self, reply: Reply) -> None:
        is_json = reply.content_type == "application/json"
        text = json.dumps(reply.body) if is_json else str(reply.body)
        body = b"" if reply.status == 204 else text.encode()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status != 204:
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: tests read the state instead."""


class Server(ThreadingHTTPServer):
    """Serves until it is shut down; works off what becomes due meanwhile."""

    handler = Handler
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, state: State, host: str, port: int) -> None:
        state.handlers["activate"] = studies.activate
        state.handlers["approve"] = submissions.approve_many
        state.handlers["pay_batch"] = money.pay_batch
        self.state, self.over = state, threading.Event()
        super().__init__((host, port), self.handler)
        threading.Thread(target=self._tick, daemon=True).start()

    def answer(self, request: Request) -> Reply:
        """What a request to the API, or of a participant's page, is answered with."""
        is_api, state = request.path.startswith(API + "/"), self.state
        with state.lock:
            state.is_dirty |= request.method != "GET" or not is_api  # pages change by GET too
            try:
                submissions.pass_time(state)
                if is_api:
                    api.authorise(request)
                    return api.ROUTES.answer(request, request.path.removeprefix(API))
                if request.path == "/.well-known/study/jwks.json":
                    return Reply(200, submissions.key_set(state))
                return pages.ROUTES.answer(request, request.path)
            except ApiError as error:
                body = api.error_body(error)
                return Reply(error.status, body) if is_api else pages.problem(error)
            finally:
                state.save()

    def _tick(self) -> None:
        while not self.over.wait(TICK_S):
            with self.state.lock:
                submissions.pass_time(self.state)
                self.state.save()
            hooks.deliver_due(self.state)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Silent when somebody hangs up."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        self.over.set()
        super().server_close()
