"""The clip route /c/<token>: audio, whole or in ranges, that tells nothing but its sound."""

import hashlib
import logging
import os
import re
from asyncio import get_running_loop, timeout
from collections import defaultdict
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from django.conf import settings
from django.db import close_old_connections
from django.http import parse_cookie
from msgspec.json import encode
from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response

from config.operations.health import reason_of
from config.operations.unavailable import is_away
from config.wsgi_bridge import ClientGone, send_plain
from listening.audio import ClipRequest, appearance_of, resolve_clip
from listening.audio.links import PATH
from listening.common.asgi import Message, Receive, Scope, Send
from listening.common.async_connections import FAILURES, Batches, LoopPool
from listening.sessions.answer_statements import (
    FETCHED_FREE,
    Span,
    fetch_values,
    joined,
    keep_span,
    record_fetch,
    required_bytes,
    sent_spans,
)

TYPES = {
    ".wav": "audio/wav",
    ".flac": "audio/flac",
    ".mp3": "audio/mpeg",
    ".opus": "audio/ogg",
    ".ogg": "audio/ogg",
    ".m4a": "audio/mp4",
    ".webm": "audio/webm",
}
PART = re.compile(r"bytes (\d+)-\d+/\d+")  # a Content-Range
ONE_RANGE = re.compile(r"bytes=(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))")
PATIENCE_S = 5.0  # with a connection that hangs
T = TypeVar("T")
log = logging.getLogger(__name__)


class ClipResponse(FileResponse):
    """A file without its dates: the times of files would tell which were made together."""

    def set_stat_headers(self, stat_result: os.stat_result) -> None:
        self.headers.setdefault("content-length", str(stat_result.st_size))

    def _should_use_range(self, http_if_range: str) -> bool:
        return http_if_range == self.headers["etag"]


@dataclass
class Delivery:
    """One response with a clip, or a part of it, on its way to a browser.

    Before the byte leaves that makes up, with earlier parts, what the task asks for, the clip is
    recorded as sent. A response that breaks off counts as far as it went.
    """

    send: Send
    size: int  # of the whole clip
    bytes_wanted: int  # bytes that the task asks for: all of them, or a share of a long clip
    earlier: list[Span]
    record: Callable[[], Awaitable[None]]
    keep: Callable[[Span], Awaitable[None]]
    first: int = 0  # byte of this response
    end: int = 0  # the one after the last that has left
    counts: bool = False  # several ranges in one response do not
    recorded: bool = False
    client_gone: bool = False

    async def run(self, response: Response, scope: Scope, receive: Receive) -> None:
        watch = get_running_loop().create_task(self._watch(receive))
        plain = {**scope, "extensions": {}}  # files go out in pieces that can be counted
        try:
            await response(plain, receive, self._pass_on)
        except ClientGone:
            pass
        finally:
            watch.cancel()
            await self._keep_part()

    async def hand_over(self, headers: Headers) -> None:
        """A proxy sends the file: what was asked for counts as sent."""
        match = ONE_RANGE.fullmatch(headers.get("range", ""))
        first, last = _ends_of(match, self.size) if match else (0, self.size - 1)
        self.first, self.end = first, max(first, last + 1)
        if self._is_enough(self.end):
            await self.record()
            self.recorded = True
        await self._keep_part()

    async def _watch(self, receive: Receive) -> None:
        while not self.client_gone:
            self.client_gone = (await receive())["type"] == "http.disconnect"

    async def _pass_on(self, message: Message) -> None:
        if self.client_gone:
            raise ClientGone
        if message["type"] == "http.response.start":
            match = PART.fullmatch(Headers(raw=message["headers"]).get("content-range", ""))
            self.first = self.end = int(match[1]) if match else 0
            self.counts = message["status"] == HTTPStatus.OK or match is not None
            return await self.send(message)
        body = message.get("body", b"")
        if not self.counts:
            return await self.send(message)
        if body and not self.recorded and self._is_enough(self.end + len(body)):
            await self.send({**message, "body": body[:-1], "more_body": True})
            if self.client_gone:
                raise ClientGone
            await self.record()
            self.recorded = True
            message = {**message, "body": body[-1:]}
        self.end += len(body)
        await self.send(message)

    def _is_enough(self, end: int) -> bool:
        """Whether this response, sent up to here, makes up what is asked for."""
        spans = joined(self.earlier, (self.first, end))
        return sum(end - first for first, end in spans) >= self.bytes_wanted

    async def _keep_part(self) -> None:
        if self.end > self.first and not self.recorded:
            await self.keep((self.first, self.end))


class Clips:
    """An ASGI application for the clip route; rights are looked up in threads of its own."""

    def __init__(self, pool: LoopPool, threads: int = 4) -> None:
        self.pool = pool
        self.fetches = Batches(self._noted)
        self.threads = ThreadPoolExecutor(threads, thread_name_prefix="clips")

    def takes(self, scope: Scope) -> bool:
        path: str = scope["path"]
        return path.startswith(PATH)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in ("GET", "HEAD"):
            return await send_plain(send, HTTPStatus.METHOD_NOT_ALLOWED)
        token = scope["path"].removeprefix(PATH)
        headers = Headers(scope=scope)
        try:
            request_and_file = await self._in_thread(_clip_for, token, headers.get("cookie", ""))
            if request_and_file is None:
                return await send_plain(send, HTTPStatus.NOT_FOUND)
            clip, served = request_and_file
            response = clip_response(token, served, headers)
            delivery = None
            if scope["method"] == "GET" and clip.trial and response.status_code in (200, 206):
                delivery = await self._delivery(clip, served, headers, send)
        except FileNotFoundError as error:
            log.error(
                "The audio file %s is missing: copy it from a backup", error.filename or error
            )
            return await send_plain(send, HTTPStatus.NOT_FOUND)
        except Exception as error:
            if is_away(error):
                log.error("Clips cannot be looked up: %s", reason_of(error))
                return await send_plain(send, HTTPStatus.SERVICE_UNAVAILABLE, retry_after_s=5)
            log.exception("A clip could not be looked up")
            return await send_plain(send, HTTPStatus.INTERNAL_SERVER_ERROR)
        if delivery is None:
            return await response(scope, receive, send)
        if "x-accel-redirect" in response.headers:  # the proxy sends it, and says nothing of it
            await delivery.hand_over(headers)
            return await response(scope, receive, send)
        await delivery.run(response, scope, receive)

    async def _delivery(
        self, clip: ClipRequest, served: bytes | Path, headers: Headers, send: Send
    ) -> Delivery:
        """How a clip of a trial goes out. A long one may be played as it comes: its time begins."""
        record = partial(self._record_fetch, clip)
        if isinstance(served, bytes):
            size = bytes_wanted = len(served)
        else:
            size = served.stat().st_size
            bytes_wanted = await self._in_thread(_with_database, required_bytes, clip.trial, size)
            await record(sent=False)
        earlier: list[Span] = []
        if "range" in headers:
            earlier = await self._in_thread(sent_spans, clip.token)
        keep = partial(self._in_thread, keep_span, clip.token)
        return Delivery(send, size, bytes_wanted, earlier, record, keep)

    async def _in_thread(self, work: Callable[..., T], *arguments: object) -> T:
        return await get_running_loop().run_in_executor(self.threads, work, *arguments)

    async def _record_fetch(self, clip: ClipRequest, *, sent: bool = True) -> None:
        try:
            async with timeout(PATIENCE_S):
                noted = await self.fetches(fetch_values(clip, sent=sent))
        except FAILURES:  # Django's own connections know a way, or say what is wrong
            noted = False
        if not noted:
            await self._in_thread(_record_fetch, clip, sent)

    async def _noted(self, fetched: list[dict[str, int]]) -> list[bool]:
        """Of which trials it is known now that these clips are on their way."""
        clips: defaultdict[int, int] = defaultdict(int)
        for each in fetched:
            clips[each["trial"]] |= each["clip"]
        given = encode([{"trial": trial, "clips": bits} for trial, bits in clips.items()]).decode()
        async with timeout(PATIENCE_S), self.pool.connection() as connection:
            cursor = await connection.execute(FETCHED_FREE, {"fetched": given})
            locked = {trial for (trial,) in await cursor.fetchall()}
        return [each["trial"] not in locked for each in fetched]


def _clip_for(token: str, cookies: str) -> tuple[ClipRequest, bytes | Path] | None:
    """What a browser with these cookies gets; None if it may have nothing."""
    clip = resolve_clip(token, parse_cookie(cookies))
    return None if clip is None else (clip, appearance_of(clip))


def _with_database(work: Callable[..., T], *arguments: object) -> T:
    close_old_connections()  # as before every request: one that broke is opened anew
    return work(*arguments)


def _record_fetch(clip: ClipRequest, sent: bool) -> None:
    _with_database(partial(record_fetch, sent=sent), clip)


def clip_response(token: str, served: bytes | Path, headers: Headers) -> Response:
    etag = f'"{hashlib.sha256(token.encode()).hexdigest()[:32]}"'
    shown = {
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, max-age=86400, immutable",
        "Cross-Origin-Resource-Policy": "same-origin",
        "ETag": etag,
        "X-Content-Type-Options": "nosniff",
    }
    if headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=shown)
    if isinstance(served, bytes):
        wanted = headers.get("range", "") if headers.get("if-range", etag) == etag else ""
        return _bytes_response(served, wanted, shown)
    media_type = TYPES.get(served.suffix.lower(), "application/octet-stream")
    if settings.MEDIA_ACCEL_PREFIX and served.is_relative_to(settings.MEDIA_ROOT):
        inside = quote(str(served.relative_to(settings.MEDIA_ROOT)))
        shown["X-Accel-Redirect"] = settings.MEDIA_ACCEL_PREFIX + inside
        return Response(headers=shown, media_type=media_type)
    return ClipResponse(served, headers=shown, media_type=media_type, stat_result=served.stat())


def _bytes_response(data: bytes, wanted: str, shown: dict[str, str]) -> Response:
    """Whole, or the one range that is wanted; several at once may be answered by the whole."""
    size, match = len(data), ONE_RANGE.fullmatch(wanted)
    first, last = _ends_of(match, size) if match else (0, -1)
    if match is None or (match[2] and int(match[2]) < first):  # the latter is no range
        return Response(data, headers=shown, media_type=TYPES[".flac"])
    if first > last:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{size}"})
    shown["Content-Range"] = f"bytes {first}-{last}/{size}"
    return Response(data[first : last + 1], 206, headers=shown, media_type=TYPES[".flac"])


def _ends_of(match: re.Match[str], size: int) -> tuple[int, int]:
    """First and last byte of a range, of a file of this size."""
    if match[3]:
        return max(size - int(match[3]), 0), size - 1
    return int(match[1]), min(int(match[2] or size), size - 1)
