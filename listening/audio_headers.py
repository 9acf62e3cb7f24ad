"""How much sound the header of a WAV, RF64, W64, AIFF or AU file promises, and how much is there.

Of Ogg, whose header promises nothing: whether the file reaches the end of its stream.

libsndfile reads a file that was cut as if it had always been so short.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import BinaryIO

UNKNOWN = frozenset({0, 0x7FFFF000, 0x7FFFFFFF, 0xFFFFFFFF})  # of who wrote before it could know
MOST_CHUNKS = 1000
OGG_PAGE = 27 + 255 + 255 * 255  # bytes of the largest page: head, table, segments
OGG_HEAD = 27
OGG_LAST = 4  # the flag of the last page of a stream
W64_DATA = bytes.fromhex("64617461f3acd3118cd100c04f8edb8a")


class OggEnd(Enum):
    """How an Ogg file ends."""

    WHOLE = "with its stream"
    OPEN = "after a page that is not the last"  # cut there, or a live stream that was recorded
    CUT = "in the middle of a page"


@dataclass(frozen=True)
class SoundBytes:
    """Bytes of sound that a header promises, and those between its start and the file's end."""

    promised: int
    there: int

    @property
    def stretch(self) -> float:
        """How many times as long the promised sound is as the one that is there; 1 of a whole."""
        return max(1.0, self.promised / self.there) if self.there > 0 else 1.0


def sound_bytes(path: Path | str) -> SoundBytes | None:
    """What the header promises; None for other formats, and for headers that state no length."""
    with open(path, "rb") as file:
        head = file.read(12)
        finder = _finder(head)
        found = finder(file) if finder else None
        if found is None or found in UNKNOWN:
            return None
        there = os.fstat(file.fileno()).st_size - file.tell()
    return SoundBytes(found, min(found, max(0, there)))


def _finder(head: bytes) -> Callable[[BinaryIO], int | None] | None:
    if head[:4] in (b"RIFF", b"RF64", b"BW64") and head[8:12] == b"WAVE":
        return _riff
    if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC"):
        return _aiff
    if head[:4] == b"riff":
        return _w64
    return _au if head[:4] == b".snd" else None


def _riff(file: BinaryIO) -> int | None:
    """The size of the chunk data, the file standing at its first byte."""
    long_size = None
    for _ in range(MOST_CHUNKS):
        head = file.read(8)
        if len(head) < 8:
            return None
        size = int.from_bytes(head[4:], "little")
        if head[:4] == b"data":
            return long_size if size == 0xFFFFFFFF and long_size is not None else size
        start = file.tell()
        if head[:4] == b"ds64":
            long_size = int.from_bytes(file.read(16)[8:], "little")
        file.seek(start + size + size % 2)
    return None


def _aiff(file: BinaryIO) -> int | None:
    for _ in range(MOST_CHUNKS):
        head = file.read(8)
        if len(head) < 8:
            return None
        size = int.from_bytes(head[4:], "big")
        if head[:4] == b"SSND":
            file.seek(8, os.SEEK_CUR)  # offset and size of blocks
            return size - 8
        file.seek(size + size % 2, os.SEEK_CUR)
    return None


def _w64(file: BinaryIO) -> int | None:
    file.seek(40)
    for _ in range(MOST_CHUNKS):
        head = file.read(24)
        if len(head) < 24:
            return None
        size = int.from_bytes(head[16:], "little")
        if head[:16] == W64_DATA:
            return size - 24
        file.seek((size + 7) // 8 * 8 - 24, os.SEEK_CUR)
    return None


def _au(file: BinaryIO) -> int | None:
    file.seek(4)
    start, size = (int.from_bytes(file.read(4), "big") for _ in range(2))
    file.seek(start)
    return size


def ogg_end(path: Path | str) -> OggEnd:
    """How an Ogg file ends: with its stream, before it, or in the middle of a page."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - OGG_PAGE))
        rest = file.read()
    start = rest.rfind(b"OggS")
    page = rest[start:] if start >= 0 else b""
    table = page[27 : 27 + page[26]] if len(page) >= OGG_HEAD else b""
    if len(page) < OGG_HEAD + len(table) + sum(table) or len(table) < page[26]:
        return OggEnd.CUT
    return OggEnd.WHOLE if page[5] & OGG_LAST else OggEnd.OPEN
