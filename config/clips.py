"""The clip route /c/<token>: audio, whole or in ranges, that tells nothing but its sound."""

import hashlib
import logging
import os
import re
from asyncio import get_running_loop, timeout
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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

from config.batches import Batches
from config.bridge import Receive, Scope, Send, send_plain
from config.loop_pool import FAILURES, LoopPool
from config.operations.health import reason_of
from config.operations.unavailable import is_away
from listening.audio import ClipRequest, appearance_of, resolve_clip
from listening.audio.links import PATH
from listening.fetches import fetch_values, record_fetch
from listening.statements import FETCHED_FREE

TYPES = {
    ".wav": "audio/wav",
    ".flac": "audio/flac",
    ".mp3": "audio/mpeg",
    ".opus": "audio/ogg",
    ".ogg": "audio/ogg",
    ".m4a": "audio/mp4",
    ".webm": "audio/webm",
}
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
            found = await self._in_thread(_found, token, headers.get("cookie", ""))
            if found is None:
                return await send_plain(send, HTTPStatus.NOT_FOUND)
            clip, served = found
            response = clip_response(token, served, headers)
            if scope["method"] == "GET":
                await self._record_fetch(clip)
        except FileNotFoundError:
            return await send_plain(send, HTTPStatus.NOT_FOUND)
        except Exception as error:
            if is_away(error):
                log.error("Clips cannot be looked up: %s", reason_of(error))
                return await send_plain(send, HTTPStatus.SERVICE_UNAVAILABLE, retry_after_s=5)
            log.exception("A clip could not be looked up")
            return await send_plain(send, HTTPStatus.INTERNAL_SERVER_ERROR)
        await response(scope, receive, send)

    async def _in_thread(self, work: Callable[..., T], *given: object) -> T:
        return await get_running_loop().run_in_executor(self.threads, work, *given)

    async def _record_fetch(self, clip: ClipRequest) -> None:
        values = fetch_values(clip)
        if values is None:
            return
        try:
            async with timeout(PATIENCE_S):
                noted = await self.fetches(values)
        except FAILURES:  # Django's own connections know a way, or say what is wrong
            noted = False
        if not noted:
            await self._in_thread(_record_fetch, clip)

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


def _found(token: str, cookies: str) -> tuple[ClipRequest, bytes | Path] | None:
    """What a browser with these cookies gets; None if it may have nothing."""
    clip = resolve_clip(token, parse_cookie(cookies))
    return None if clip is None else (clip, appearance_of(clip))


def _record_fetch(clip: ClipRequest) -> None:
    close_old_connections()  # as before every request: one that broke is opened anew
    record_fetch(clip)


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
    size, found = len(data), ONE_RANGE.fullmatch(wanted)
    first, last = _ends_of(found, size) if found else (0, -1)
    if found is None or (found[2] and int(found[2]) < first):  # the latter is no range
        return Response(data, headers=shown, media_type=TYPES[".flac"])
    if first > last:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{size}"})
    shown["Content-Range"] = f"bytes {first}-{last}/{size}"
    return Response(data[first : last + 1], 206, headers=shown, media_type=TYPES[".flac"])


def _ends_of(found: re.Match[str], size: int) -> tuple[int, int]:
    """First and last byte of a range, of a file of this size."""
    if found[3]:
        return max(size - int(found[3]), 0), size - 1
    return int(found[1]), min(int(found[2] or size), size - 1)
