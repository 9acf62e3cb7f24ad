"""A stretch of a file that holds one sound."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import BinaryIO


@dataclass(frozen=True)
class Part:
    """Where a sound stands in its file, who decodes it, and what its header says."""

    start: int  # first byte
    stop: int  # after the last
    demuxer: str = ""  # of FFmpeg; empty: libsndfile reads it
    patches: tuple[tuple[int, bytes], ...] = ()  # header fields as they should be
    is_streamed: bool = False  # the header was written before the length was known
    bytes_stated: int = 0  # of sound, by the header; 0: it states none in bytes
    bytes_there: int = 0
    frames_stated: int | None = None  # samples per channel, by the header
    frames_guessed: int | None = None  # what programs guess that trust the first frame
    frames: int | None = None  # samples per channel by counting
    unread_bytes: int = 0  # after the sound: neither a chunk nor a tag
    pages_lost: int = 0  # of Ogg: missing or damaged
    continues: bool = False  # the same sound as the part before, after damage
    missing: str = ""  # a sentence, where the end of the file says that sound is missing
    is_certain: bool = True

    def is_whole(self, size: int) -> bool:
        """Whether it is all of a file of so many bytes, as it is."""
        return (self.start, self.stop) == (0, size) and not self.patches


class View(io.RawIOBase):
    """Part of a file as a file of its own, with its header mended."""

    def __init__(self, file: BinaryIO, part: Part) -> None:
        super().__init__()
        self._file, self._part = file, part
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        size = self._part.stop - self._part.start
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        begin = self._part.start + self._at
        if begin >= self._part.stop:
            return 0
        self._file.seek(begin)
        data = bytearray(self._file.read(max(0, min(len(buffer), self._part.stop - begin))))
        for place, mended in self._part.patches:
            for n, byte in enumerate(mended, place - begin):
                if 0 <= n < len(data):
                    data[n] = byte
        buffer[: len(data)] = bytes(data)
        self._at += len(data)
        return len(data)
