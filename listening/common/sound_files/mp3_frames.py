"""The frames of an MP3 (ISO 11172-3, 13818-3), counted; and what its first frame says of them.

The length of an MP3 is known from a Xing, Info or VBRI header in its first frame, else by counting:
readers that trust the bit rate of the first frame take a variable one for half or twice as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from listening.common.input_limits import MP3_FRAMES, MP3_MISSES, MP3_PARTS
from listening.common.sound_files.part import Part

LAYER_1 = (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448)
LAYER_2 = (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384)
LAYER_3 = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
LOW_1 = (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256)
LOW_2 = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
KBITS = {(1, 1): LAYER_1, (1, 2): LAYER_2, (1, 3): LAYER_3}  # by MPEG-1 or later, and layer
KBITS |= {(2, 1): LOW_1, (2, 2): LOW_2, (2, 3): LOW_2}
RATES_HZ = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}
ID3_HEAD = 10
ID3V1 = 128
APE_HEAD = 32
SEARCH = 1 << 16
DECODER_DELAY = 529  # samples, of every decoder of layer 3
MOST_JUNK = 1 << 20  # bytes before the first frame: more is no MP3


@dataclass(frozen=True)
class Frame:
    """The head of a frame."""

    at: int
    bytes: int
    samples: int
    rate_hz: int
    kind: int  # version, layer and rate: the same in all frames of a stream
    side: int  # bytes between the head and the data, where Xing stands


def after_id3(file: BinaryIO, size: int, at: int = 0) -> int:
    """Where an ID3v2 tag at this place ends; the place itself where there is none."""
    file.seek(at)
    head = file.read(ID3_HEAD)
    if head[:3] != b"ID3" or len(head) < ID3_HEAD:
        return at
    length = 0
    for byte in head[6:10]:  # 7 bits each
        length = length << 7 | byte & 0x7F
    footer = ID3_HEAD if head[5] & 0x10 else 0
    return min(size, at + ID3_HEAD + length + footer)


def mp3_parts(file: BinaryIO, size: int) -> list[Part]:
    """The streams of an MP3: a new one begins with a Xing head, after a tag, and after damage.

    Empty where frames are less than half of the file, as of a free bit rate, and where there are
    more of them, or more damage between them, than any recording has.
    """
    parts: list[Part] = []
    run: list[int] = []  # of the present stream: start, stop, number of samples
    info: tuple[int | None, int] = (None, 0)
    guessed = 0.0
    cut = ""
    continues = False
    for count, frame in enumerate(_frames(file, size)):
        if count >= MP3_FRAMES or len(parts) >= MP3_PARTS:
            return []
        stated = _info(file, frame)
        if run and (frame.at != run[1] or stated is not None):
            hurt = 0 if stated is not None else _damaged_bytes(file, run[1], frame.at, size)
            parts.append(_part(run, info, guessed, _damage(hurt), hurt > 0, continues))
            run, continues = [], hurt > 0
        if frame.at + frame.bytes > size:
            cut = "The file ends in the middle of a frame."
            break
        if not run:
            run = [frame.at, frame.at, 0]
            info = stated or (None, 0)
            guessed = frame.samples / frame.bytes
        run[1] = frame.at + frame.bytes
        if stated is None:
            run[2] += frame.samples
    if run:
        parts.append(_part(run, info, guessed, cut, continues=continues))
    parts = [part for part in parts if part.frames]
    counted = sum(part.stop - part.start for part in parts)
    return parts if 2 * counted > size - after_id3(file, size) else []


def _damage(count: int) -> str:
    return f"Within the sound, {count:,} bytes are damaged." if count else ""


def _damaged_bytes(file: BinaryIO, at: int, stop: int, size: int) -> int:
    """Bytes between two frames that are neither a tag nor zeros."""
    while (behind := _after_tag(file, at, size)) > at:
        at = behind
    file.seek(at)
    return max(0, stop - at) if file.read(max(0, min(stop - at, MOST_JUNK))).strip(b"\0") else 0


def _part(
    run: list[int],
    info: tuple[int | None, int],
    guessed: float,
    missing: str = "",
    is_hurt: bool = False,
    continues: bool = False,
) -> Part:
    """The part of a file that a run of frames fills; damage makes its lengths incomparable."""
    start, stop, samples = run
    stated, trimmed = info
    is_whole = not is_hurt and not continues
    return Part(
        start,
        stop,
        "mp3",
        frames_stated=max(0, stated - trimmed) if stated is not None and is_whole else None,
        frames_guessed=round((stop - start) * guessed) if stated is None and is_whole else None,
        frames=max(0, samples - trimmed),
        missing=missing,
        continues=continues,
    )


def _frames(file: BinaryIO, size: int) -> Iterator[Frame]:
    """The frames one after the other; tags and rubbish between them are passed over."""
    at, kind = after_id3(file, size), None
    begun, misses = False, 0
    while at + 4 <= size and misses < MP3_MISSES:
        frame = _head(file, at)
        if frame is None or (kind is not None and frame.kind != kind):
            behind = _after_tag(file, at, size)
            found = behind if behind > at else _resync(file, at + 1, size, begun)
            if found is None:
                return
            at = found
            kind = None
            misses += 1
            continue
        if kind is None and not _follows(file, frame, size):
            at += 1
            misses += 1
            continue
        begun, kind = True, frame.kind
        yield frame
        at += frame.bytes


def _follows(file: BinaryIO, frame: Frame, size: int) -> bool:
    """Whether another frame stands where this one ends, or the file ends there, or a tag begins."""
    end = frame.at + frame.bytes
    if end + 4 > size:
        return True
    after = _head(file, end)
    return (after is not None and after.kind == frame.kind) or _after_tag(file, end, size) > end


def _resync(file: BinaryIO, at: int, size: int, begun: bool) -> int | None:
    """The next place that looks like a frame."""
    limit = size if begun else min(size, at + MOST_JUNK)
    while at < limit:
        file.seek(at)
        data = file.read(SEARCH)
        place = data.find(b"\xff")
        while place >= 0:
            frame = _head(file, at + place)
            if frame is not None and _follows(file, frame, size):
                return frame.at
            place = data.find(b"\xff", place + 1)
        at += len(data)
    return None


def _after_tag(file: BinaryIO, at: int, size: int) -> int:
    """Where a tag at this place ends: ID3 of both kinds, APE; the place itself for none."""
    file.seek(at)
    head = file.read(APE_HEAD)
    if head[:3] == b"TAG":
        return min(size, at + ID3V1)
    if head[:8] == b"APETAGEX":
        begins = int.from_bytes(head[20:24], "little") & 0x2000_0000  # not the tag's end
        length = int.from_bytes(head[12:16], "little")
        return min(size, at + APE_HEAD + (length if begins else 0))
    return after_id3(file, size, at)


def _head(file: BinaryIO, at: int) -> Frame | None:
    file.seek(at)
    head = file.read(4)
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    version, layer = head[1] >> 3 & 3, 4 - (head[1] >> 1 & 3)
    rate, bitrate = head[2] >> 2 & 3, head[2] >> 4
    if version == 1 or layer == 4 or rate == 3 or not 0 < bitrate < 15:
        return None
    later = version != 3  # MPEG-2 or 2.5
    kbits, rate_hz = KBITS[2 if later else 1, layer][bitrate - 1], RATES_HZ[version][rate]
    padding = head[2] >> 1 & 1
    if layer == 1:
        samples, length = 384, (12_000 * kbits // rate_hz + padding) * 4
    else:
        samples = 576 if layer == 3 and later else 1152
        length = samples * 125 * kbits // rate_hz + padding
    mono = head[3] >> 6 == 3
    side = (9 if mono else 17) if later else (17 if mono else 32)
    return Frame(at, length, samples, rate_hz, version << 8 | layer << 4 | rate, side)


def _info(file: BinaryIO, frame: Frame) -> tuple[int | None, int] | None:
    """Of a frame that holds no sound but a Xing, Info or VBRI header: samples stated, and trimmed.

    None for a frame of sound; no number where the header states none.
    """
    file.seek(frame.at + 4)
    data = file.read(min(frame.bytes, 220))
    if data[32:36] == b"VBRI":
        return int.from_bytes(data[46:50], "big") * frame.samples, 0
    mark = data[frame.side :]
    if mark[:4] not in (b"Xing", b"Info"):
        return None
    flags = int.from_bytes(mark[4:8], "big")
    if not flags & 1:
        return None, 0
    stated = int.from_bytes(mark[8:12], "big") * frame.samples
    at = 12 + 4 * (flags >> 1 & 1) + 100 * (flags >> 2 & 1) + 4 * (flags >> 3 & 1)
    if mark[at : at + 4] not in (b"LAME", b"Lavf", b"Lavc", b"GOGO"):
        return stated, 0
    delays = int.from_bytes(mark[at + 21 : at + 24], "big")
    return stated, (delays >> 12) + (delays & 0xFFF)
