"""A stored clip as an answer to a request: whole, or the range that a player asks for."""

from __future__ import annotations

import re
from pathlib import Path

from django.http import FileResponse, HttpResponse, HttpResponseBase

RANGE = re.compile(r"bytes=(\d{1,15})-(\d{0,15})")
PIECE_BYTES = 4 * 1024 * 1024  # of a long clip at a time


def flac_response(path: Path, wanted: str) -> HttpResponseBase:
    """The FLAC file, or the part of it that the header Range, ``wanted``, names."""
    response = piece_of(path, wanted)
    response["Content-Type"] = "audio/flac"
    response["Accept-Ranges"] = "bytes"
    return response


def piece_of(path: Path, wanted: str) -> HttpResponseBase:
    """A file, or the part of it that the header Range, ``wanted``, names; its kind is not set."""
    byte_range = RANGE.fullmatch(wanted)
    if byte_range is None:
        return FileResponse(path.open("rb"))
    size = path.stat().st_size
    start = int(byte_range[1])
    if start >= size:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    last = min(int(byte_range[2]) if byte_range[2] else size - 1, size - 1, start + PIECE_BYTES - 1)
    with path.open("rb") as file:
        file.seek(start)
        content = file.read(max(last - start + 1, 0))
    span = f"bytes {start}-{last}/{size}"
    return HttpResponse(content, status=206, headers={"Content-Range": span})
