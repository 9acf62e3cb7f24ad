"""The server: a request in, faults, an answer out; and a thread for the clock and the hooks."""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from listening.recruitment.play_money import (
    api,
    control,
    faults,
    hooks,
    money,
    pages,
    studies,
    submissions,
)
from listening.recruitment.play_money.api import ROUTES as RESEARCHERS
from listening.recruitment.play_money.routing import Reply, Request
from listening.recruitment.play_money.state import ApiError, State

API, CONTROL = "/api/v1", "/control"
TICK_S = 0.1


class Dropped(Exception):
    """The connection is to be closed without an answer."""


def answer(state: State, request: Request) -> Reply:
    """What a request is answered with, faults of the API included."""
    if request.path.startswith(API + "/"):
        return _api(state, request)
    if request.path.rstrip("/") == CONTROL + "/settle":
        return Reply(200, control.settle(state, retries=bool(request.body.get("retries"))))
    is_control = request.path.startswith(CONTROL + "/")
    routes = control.ROUTES if is_control else pages.ROUTES
    path = request.path.removeprefix(CONTROL) if is_control else request.path
    with state.lock:
        state.is_dirty |= request.method != "GET" or not is_control  # pages change by GET too
        try:
            control.pass_time(state)
            if request.path == "/.well-known/study/jwks.json":
                return Reply(200, submissions.key_set(state))
            return routes.answer(request, path)
        except ApiError as error:
            return (
                Reply(error.status, api.error_body(error)) if is_control else pages.problem(error)
            )
        finally:
            state.save()


def _api(state: State, request: Request) -> Reply:
    at = request.method, request.path
    with state.lock:
        if fault := faults.hit(state, "slow", *at):
            state.save()
    if fault:
        time.sleep(float(fault.get("seconds") or 2))
    with state.lock:
        state.is_dirty |= request.method != "GET"
        try:
            control.pass_time(state)
            if reply := _fault_before(state, *at):
                return reply
            reply = _carry_out(state, request)
            return _fault_after(state, reply, *at) or reply
        finally:
            state.save()


def _fault_before(state: State, *at: str) -> Reply | None:
    if faults.hit(state, "drop_before", *at):
        raise Dropped
    if fault := faults.hit(state, "too_many", *at):
        retry_after_s = fault.get("retry_after")
        headers = {} if retry_after_s is None else {"Retry-After": str(retry_after_s)}
        return Reply(429, api.error_body(ApiError(429, "Too many requests.")), headers)
    return _broken(faults.hit(state, "error_500", *at))


def _fault_after(state: State, reply: Reply, *at: str) -> Reply | None:
    if faults.hit(state, "drop_after", *at):
        raise Dropped
    if faults.hit(state, "not_json", *at):
        return Reply(reply.status, "<html>Just a moment</html>", content_type="text/html")
    if reply.content_type == "application/json":
        reply.body = faults.warp(state, reply.body, *at)
    return _broken(faults.hit(state, "error_500_after", *at))


def _broken(fault: Any) -> Reply | None:
    if not fault:
        return None
    status = int(fault.get("status") or 500)
    return Reply(status, "<h1>Server Error</h1>", content_type="text/html")


def _carry_out(state: State, request: Request) -> Reply:
    try:
        api.authorise(request)
        return RESEARCHERS.answer(request, request.path.removeprefix(API))
    except ApiError as error:
        shape = ""
        for name in ("bare", "message"):
            if faults.hit(state, f"error_{name}", request.method, request.path):
                shape = name
        return Reply(error.status, api.error_body(error, shape))


class Handler(BaseHTTPRequestHandler):
    """HTTP/1.1, connections stay open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    state: State

    def _any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        parts = urlsplit(self.path)
        request = Request(
            self.state,
            self.command,
            unquote(parts.path),
            dict(parse_qsl(parts.query, keep_blank_values=True)),
            self.rfile.read(length),
            {name.lower(): value for name, value in self.headers.items()},
        )
        try:
            self._reply(self._answer(request))
        except Dropped:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def _answer(self, request: Request) -> Reply:
        """A mistake of the double's own is a 500 that says so, and stands in its errors."""
        try:
            return answer(self.state, request)
        except Dropped:
            raise
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

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, state: State, host: str, port: int) -> None:
        state.handlers["activate"] = studies.activate
        state.handlers["approve"] = submissions.approve_many
        state.handlers["pay_batch"] = money.pay_batch
        self.state, self.over = state, threading.Event()
        super().__init__((host, port), type("Bound", (Handler,), {"state": state}))
        threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self) -> None:
        while not self.over.wait(TICK_S):
            with self.state.lock:
                control.pass_time(self.state)
                self.state.save()
            hooks.deliver_due(self.state)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Silent when somebody hangs up."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def server_close(self) -> None:
        self.over.set()
        super().server_close()
