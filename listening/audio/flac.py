"""FLAC in pieces (RFC 9639): head and frames of one encoder, put together anew by their numbers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from itertools import pairwise
from tempfile import TemporaryFile
from typing import BinaryIO

import numpy as np
from fastcrc import crc8, crc16
from soundfile import SoundFile

BLOCK = 4096  # samples of each channel in a frame, the last one's aside: what libFLAC takes
MARK = b"fLaC"  # begins a file
BLOCK_HEAD = 4  # bytes, of metadata
SIZE_OF_BLOCKS = slice(8, 12)  # of the file: least and most samples of a frame
SIZE_OF_FRAMES = slice(12, 18)  # least and most bytes of a frame; 0: not known
RATE_TO_TOTAL = slice(18, 26)  # rate, channels, bits; the last 36 bits: samples of each channel
MD5 = slice(26, 42)  # of the samples; 0: not known
TOTAL_BITS = 36
FIXED_HEADER = 4  # bytes of a frame before its number
SIZE_FOLLOWS = {6: 1, 7: 2}  # bytes after the number, by the code of a frame's size
RATE_FOLLOWS = {12: 1, 13: 2, 14: 2}  # and by the code of its rate


def file_in_memory() -> BinaryIO:
    """A real file, which libsndfile writes by itself: into a BytesIO each frame of FLAC is handed
    over in Python, so that all threads of a busy process wait for each other."""
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("clip"), "w+b", buffering=0)
    return TemporaryFile(buffering=0)


def encoder(file: BinaryIO, rate_hz: int, channels: int) -> SoundFile:
    """What appearances are written with."""
    return SoundFile(file.fileno(), "w", rate_hz, channels, "PCM_16", format="FLAC", closefd=False)


def encoded(samples: np.ndarray, rate_hz: int) -> tuple[bytes, list[bytes]]:
    """Whole numbers of 16 bit, frames × channels, as a file's head and its frames, from number 0.

    The encoder gives a frame away once it has one sample of the next, so the file's length after
    each such write is where a frame ends.
    """
    if not len(samples):
        return b"", []
    with file_in_memory() as file:
        with encoder(file, rate_hz, samples.shape[1]) as flac:
            ends, written = [], 0
            for end in range(BLOCK + 1, len(samples) + 1, BLOCK):
                flac.write(samples[written:end])
                written = end
                ends.append(os.fstat(file.fileno()).st_size)
            flac.write(samples[written:])
        file.seek(0)
        data = file.read()
    begin = end_of_head(data)
    ends = [begin, *ends, len(data)]
    frames = [data[first:last] for first, last in pairwise(ends)]
    if len(frames) > 1 and data[SIZE_OF_BLOCKS] != 2 * BLOCK.to_bytes(2, "big"):
        raise RuntimeError(f"libFLAC makes frames of other than {BLOCK} samples")
    return data[:begin], frames


def renumbered(frame: bytes, by: int) -> bytes:
    """A frame that stands so many frames later in a file."""
    number = frame[FIXED_HEADER]  # below 128: one byte
    after = SIZE_FOLLOWS.get(frame[2] >> 4, 0) + RATE_FOLLOWS.get(frame[2] & 15, 0)
    rest = FIXED_HEADER + 1
    header = frame[:FIXED_HEADER] + chr(number + by).encode() + frame[rest : rest + after]
    header += bytes([crc8.smbus(header)])
    whole = header + frame[rest + after + 1 : -2]
    return whole + crc16.umts(whole).to_bytes(2, "big")


def with_total(head: bytes, samples: int) -> bytes:
    """The head of a file with so many samples of each channel."""
    field = int.from_bytes(head[RATE_TO_TOTAL], "big")
    field = field >> TOTAL_BITS << TOTAL_BITS | samples
    return head[: RATE_TO_TOTAL.start] + field.to_bytes(8, "big") + head[RATE_TO_TOTAL.stop :]


def end_of_head(data: bytes) -> int:
    """Where the frames begin."""
    *_, (_, end) = _blocks(data)
    return end


def _blocks(data: bytes) -> Iterator[tuple[int, int]]:
    """Where each block of metadata begins and ends."""
    end, last = len(MARK), False
    while not last:
        begin, last = end, bool(data[end] & 0x80)
        end += BLOCK_HEAD + int.from_bytes(data[begin + 1 : begin + BLOCK_HEAD], "big")
        yield begin, end


def filled(head: bytes, frames: bytes, missing_bytes: int) -> bytes:
    """A whole file, longer by about so much padding, whose head tells nothing of its frames."""
    open_head = bytearray(head)
    open_head[SIZE_OF_FRAMES] = bytes(6)
    open_head[MD5] = bytes(16)
    for begin, _ in _blocks(head):
        open_head[begin] &= 0x7F  # another block follows
    return b"".join((open_head, _padding(missing_bytes), frames))


def _padding(missing_bytes: int) -> bytes:
    kind, longest = 1, 2**24 - 1
    padding = bytearray()
    while missing_bytes > BLOCK_HEAD:
        size = min(missing_bytes - BLOCK_HEAD, longest)
        padding += bytes([kind]) + size.to_bytes(3, "big") + bytes(size)
        missing_bytes -= size + BLOCK_HEAD
    return bytes(padding + bytes([kind | 0x80]) + bytes(3))  # the last block, empty
