"""The web process with pages, clips and a socket made for tests; granian serves it in a process."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

from channels.generic.websocket import AsyncWebsocketConsumer
from django.db import OperationalError
from django.urls import path as route

from config import web
from config.operations import unavailable
from config.thread_queue import Queue
from config.wsgi_bridge import Bridge
from listening.audio import ClipRequest
from tests.config.helpers import wait_for

CLIPS = Path(os.environ["TEST_CLIPS"])


class Streamed:
    """What Django's streaming responses look like to a WSGI server."""

    streaming = True

    def __init__(self, chunks: Iterator[bytes], closed: Path | None = None) -> None:
        self.chunks, self.closed = chunks, closed

    def __iter__(self) -> Iterator[bytes]:
        return self.chunks

    def close(self) -> None:
        if self.closed:
            self.closed.write_text("closed")


def endless() -> Iterator[bytes]:
    while True:
        time.sleep(0.01)
        yield b"x" * 65536


def breaking() -> Iterator[bytes]:
    yield b"first"
    raise RuntimeError("the second chunk fails")


def slow() -> Iterator[bytes]:
    """Each line when the one before has arrived: one that is held back ends the answer."""
    for number in range(3):
        yield f"line {number}\n".encode()
        wait_for((CLIPS / f"arrived {number}").exists)


def pages(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    name = environ["PATH_INFO"]
    plain = [("Content-Type", "text/plain; charset=utf-8")]
    if name == "/fails":
        raise RuntimeError("outside Django")
    if name == "/echo":
        body = environ["wsgi.input"]
        total = sum(len(chunk) for chunk in iter(lambda: body.read(65536), b""))
        start_response("200 OK", plain)
        return [f"{environ['REQUEST_METHOD']} {total} {environ['CONTENT_LENGTH']}".encode()]
    if name == "/environ":
        start_response("200 OK", [*plain, ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])
        lines = [f"{key}={value}" for key, value in environ.items() if isinstance(value, str)]
        return ["\n".join(lines).encode()]
    streams = {"/slow": slow, "/breaking": breaking, "/endless": endless}
    if name in streams:
        start_response("200 OK", plain)
        return Streamed(streams[name](), CLIPS / "closed" if name == "/endless" else None)
    start_response("200 OK", [*plain, ("Content-Length", "5")])
    return [b"hello"]


def resolve_clip(token: str, cookies: Mapping[str, str]) -> ClipRequest | None:
    """`token` names the file here; a browser without its session's cookie gets nothing."""
    if cookies.get("session") != "mine" or token == "unknown":
        return None
    if token == "broken":
        raise RuntimeError("database away")
    if token == "away":
        raise OperationalError("connection reset by peer")
    copy = CLIPS / f"{token.removeprefix('short-')}.wav"
    return ClipRequest(token, copy, trial=0, place=0, in_step=False)


def appearance_of(clip: ClipRequest) -> bytes | Path:
    """Long clips come from a file, short ones from memory."""
    return clip.copy.read_bytes() if clip.token.startswith("short-") else clip.copy


class Echo(AsyncWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    async def receive(self, text_data: str = "", bytes_data: bytes = b"") -> None:
        await self.send(text_data=f"{self.scope['user']}: {text_data}")


from config import clips  # noqa: E402  # after Django's set-up, by config.web

clips.resolve_clip = resolve_clip  # type: ignore[attr-defined]  # replaced for the test
clips.appearance_of = appearance_of  # type: ignore[attr-defined]  # they are no sounds
web.pages = Bridge(
    pages,
    queues={"pages": Queue("pages", 4, 100)},
    queue_of=lambda method, path: "pages",
    max_body_bytes=64 * 1024**2,
    unavailable=unavailable.answer,
)
web.sockets = web.Sockets([route("ws/echo", Echo.as_asgi())])
application = web.application
