"""Runs the WSGI pages inside the ASGI process: threads with lasting connections, bodies on disk."""

import asyncio
import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from tempfile import SpooledTemporaryFile
from typing import IO, Any, cast
from wsgiref.types import StartResponse, WSGIApplication

from django.http import HttpResponse

from config.operations.unavailable import too_large
from config.thread_queue import Asker, Displaced, Queue
from listening.common.asgi import Message, Receive, Scope, Send, header_variables

IN_MEMORY_BYTES = 1024**2  # larger bodies wait on disk; larger answers leave in chunks
STALLED_CLIENT_S = 60.0
log = logging.getLogger(__name__)


class TooLarge(Exception):
    """The request's body is larger than allowed."""


class ClientGone(Exception):
    """The client left before it had everything."""


@dataclass
class Head:
    """Status and headers of an answer, as `start_response` gets them."""

    status: int = 500
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)

    def start_response(
        self, status: str, headers: list[tuple[str, str]], exc_info: object = None
    ) -> Callable[[bytes], object]:
        self.status = int(status[:3])
        self.headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers
        ]
        return _no_write

    @property
    def length(self) -> int | None:
        length = dict(self.headers).get(b"content-length")
        return int(length) if length else None

    def message(self) -> Message:
        return {"type": "http.response.start", "status": self.status, "headers": self.headers}


def _no_write(data: bytes) -> None:
    raise NotImplementedError("Django never uses WSGI's write().")


class Bridge:
    """An ASGI application that answers HTTP with a WSGI one."""

    def __init__(
        self,
        pages: WSGIApplication,
        *,
        queues: Mapping[str, Queue],
        max_body_bytes: int,
        queue_of: Callable[[str, str], str],
        unavailable: Callable[[str], HttpResponse],
        asker_of: Callable[[Scope], Asker] = lambda scope: Asker(),
    ) -> None:
        """`queue_of` says by method and path which of the queues answers; `unavailable` by path
        what is sent when none can; `asker_of` whose request it is, where a queue is fair."""
        self.pages = pages
        self.unavailable = unavailable
        self.max_body_bytes = max_body_bytes
        self.queue_of = queue_of
        self.queues = queues
        self.asker_of = asker_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        queue = self.queues[self.queue_of(scope["method"], scope["path"])]
        asker = self.asker_of(scope) if queue.fair else Asker()
        if not queue.has_room(asker):
            return await send_answer(send, self.unavailable(scope["path"]))
        # Closed when the page is done with it, which may be after the client was answered.
        body = cast(IO[bytes], SpooledTemporaryFile(IN_MEMORY_BYTES))  # noqa: SIM115
        try:
            length = await read_body(receive, body, self.max_body_bytes)
        except TooLarge:
            body.close()
            return await send_answer(send, too_large(scope["path"]))
        except ClientGone:
            return body.close()
        await self._answer(queue, asker, make_environ(scope, body, length), receive, send)

    async def _answer(
        self, queue: Queue, asker: Asker, environ: dict[str, Any], receive: Receive, send: Send
    ) -> None:
        loop = asyncio.get_running_loop()
        stream = Stream(loop, send)
        work = queue.run(asker, self._run, environ, stream)
        work.add_done_callback(lambda _: environ["wsgi.input"].close())
        watch = loop.create_task(stream.watch(receive))
        try:
            await asyncio.wait([work], timeout=queue.patience_s)
            if not (work.done() or stream.started):
                stream.client_gone = True  # what comes later reaches nobody
                log.error("A page hung for %g s", queue.patience_s)
                return await send_answer(send, self.unavailable(environ["PATH_INFO"]))
            whole = await work
        except ClientGone:
            return
        except Displaced:
            return await send_answer(send, self.unavailable(environ["PATH_INFO"]))
        except Exception:
            log.exception("A page failed outside Django")
            if stream.started:
                raise  # the server cuts the connection, so the client sees that it is not whole
            return await send_plain(send, HTTPStatus.INTERNAL_SERVER_ERROR)
        finally:
            watch.cancel()
        if whole is not None:
            head, content = whole
            await send(head.message())
            await send({"type": "http.response.body", "body": content})

    def _run(self, environ: dict[str, Any], stream: "Stream") -> tuple[Head, bytes] | None:
        """In a thread: the whole of a small answer, or None when it left in chunks."""
        if stream.client_gone:  # it waited for so long that nobody waits for it any more
            raise ClientGone
        head = Head()
        chunks = self.pages(environ, cast(StartResponse, head.start_response))
        try:
            if environ["REQUEST_METHOD"] == "HEAD":
                return head, b""
            small = head.length is not None and head.length <= IN_MEMORY_BYTES
            if small or not getattr(chunks, "streaming", False):
                return head, b"".join(chunks)
            stream.send_all(head, chunks)
            return None
        finally:
            close = getattr(chunks, "close", None)
            if close:
                close()


class Stream:
    """Sends a long answer from the page's thread, no faster than the client takes it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, send: Send) -> None:
        self.loop, self.send = loop, send
        self.started = self.client_gone = False

    async def watch(self, receive: Receive) -> None:
        while not self.client_gone:
            self.client_gone = (await receive())["type"] == "http.disconnect"

    def send_all(self, head: Head, chunks: Iterable[bytes]) -> None:
        self._put(head.message())
        self.started = True
        for chunk in chunks:
            if chunk:
                self._put({"type": "http.response.body", "body": bytes(chunk), "more_body": True})
        self._put({"type": "http.response.body", "body": b""})

    def _put(self, message: Message) -> None:
        if self.client_gone:
            raise ClientGone
        sending = asyncio.run_coroutine_threadsafe(_sent(self.send, message), self.loop)
        try:
            sending.result(STALLED_CLIENT_S)
        except TimeoutError:
            sending.cancel()
            raise ClientGone from None


async def _sent(send: Send, message: Message) -> None:
    await send(message)


async def read_body(receive: Receive, body: IO[bytes], limit: int) -> int:
    length = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk = message.get("body", b"")
        length += len(chunk)
        if length > limit:
            raise TooLarge
        body.write(chunk)
        if not message.get("more_body", False):
            body.seek(0)
            return length


async def send_answer(send: Send, response: HttpResponse) -> None:
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    length = (b"content-length", str(len(response.content)).encode())
    start = {"type": "http.response.start", "status": response.status_code}
    await send({**start, "headers": [*headers, length]})
    await send({"type": "http.response.body", "body": response.content})


async def send_plain(send: Send, status: HTTPStatus, *, retry_after_s: int = 0) -> None:
    text = f"{status.phrase}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(text)).encode()),
    ]
    if retry_after_s:
        headers.append((b"retry-after", str(retry_after_s).encode()))
    await send({"type": "http.response.start", "status": status.value, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def make_environ(scope: Scope, body: IO[bytes], length: int) -> dict[str, Any]:
    """The WSGI environment of an ASGI request (PEP 3333: bytes are carried as latin-1)."""
    server = scope.get("server") or ("localhost", 80)
    client = scope.get("client") or ("", 0)
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": scope["path"].encode().decode("latin-1"),
        "QUERY_STRING": scope.get("query_string", b"").decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope.get('http_version', '1.1')}",
        "SERVER_NAME": str(server[0]),
        "SERVER_PORT": str(server[1]),
        "REMOTE_ADDR": str(client[0]),
        "CONTENT_LENGTH": str(length),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": body,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    return environ | header_variables(scope)
