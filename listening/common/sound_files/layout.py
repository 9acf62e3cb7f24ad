"""Where the sounds of a file begin and end, and how long their headers say that they are.

libsndfile reads what the first header promises: a file that was cut is as short to it as it is, and
what follows the first of two joined files does not exist. So headers are read here, and the frames
of an MP3 (ISO 11172-3, 13818-3) are counted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO, Literal

from fastcrc import crc32

from listening.common.input_limits import MP3_FRAMES, MP3_MISSES, MP3_PARTS
from listening.common.sound_files.sound import Part

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
MOST_JUNK = 1 << 20  # bytes before the first frame: more is no MP3
STREAMED = 0x7E000000  # programs that write to a pipe put this or more into the header
STREAMED_64 = 2**60  # and into one of 64 bits
MOST_CHUNKS = 1000
FARTHEST = 2**40  # byte of a file
W64_DATA = bytes.fromhex("64617461f3acd3118cd100c04f8edb8a")
EXTENSIBLE = b"\xfe\xff"  # kind of samples in a head of WAV or W64: said further below
FLAC_HEAD = b"fLaC\0\0\0\x22"  # the mark, and a first block of 34 bytes
TOTAL = slice(18, 26)  # of a FLAC file: rate, channels, bits; the last 36 bits: samples
TOTAL_BITS = 36
WEBM_SEGMENT = b"\x18\x53\x80\x67"
WEBM_CUT = "The file ends in the middle of a block."
PIECE = 1 << 20
OGG_HEAD = 27  # bytes of a page before its table
OGG_FIRST, OGG_LAST = 2, 4  # flags of the first and the last page of a stream
OGG_CUT = "The file ends in the middle of a page."
OGG_OPEN = "The file ends before its stream does, or was recorded from a live stream."
TAGS = (b"TAG", b"APETAGEX", b"LYRICSBEGIN", b"ID3")  # what programs put after the sound
MP4_BOXES = (b"ftyp", b"moov", b"mdat", b"free", b"wide", b"skip")
Order = Literal["little", "big"]


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
            words = f"Within the sound, {hurt:,} bytes are damaged." if hurt else ""
            parts.append(_part(run, info, guessed, words, hurt > 0, continues))
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
            next_at = behind if behind > at else _resync(file, at + 1, size, begun)
            if next_at is None:
                return
            at = next_at
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


def parts_of(file: BinaryIO) -> list[Part]:
    """The sounds that a file holds one after the other; most files hold one."""
    size = os.fstat(file.fileno()).st_size
    head = _read(file, 0, 12)
    start = after_id3(file, size)
    if start:
        head = _read(file, start, 12)
    if demuxer := _demuxer(head):
        is_cut = demuxer == "matroska" and _webm_is_cut(file, start, size)
        return [Part(0, size, demuxer, missing=WEBM_CUT if is_cut else "")]
    for fits, read in READERS:
        if fits(head):
            return read(file, start, size)
    if start or (head[:1] == b"\xff" and head[1:2] >= b"\xe0"):
        return mp3_parts(file, size) or [Part(0, size)]
    return [Part(0, size)]


def mp3_parts_of(file: BinaryIO) -> list[Part]:
    """The same of a file that is known to be an MP3, whatever its first bytes are."""
    return mp3_parts(file, os.fstat(file.fileno()).st_size)


def is_known(head: bytes) -> bool:
    """Whether a file begins like one of the formats whose headers are read here."""
    return any(fits(head) for fits, _ in READERS)


def fallback_of(head: bytes) -> str:
    """FFmpeg's demuxer for what libsndfile refuses, by the first bytes; empty where there is none.

    FLAC in Ogg as the program flac writes it, Speex, AAC or ALAC in CAF.
    """
    return {b"OggS": "ogg", b"caff": "caf"}.get(head[:4], "")


def _demuxer(head: bytes) -> str:
    """The first bytes choose it: FFmpeg's own guess could open playlists and further files."""
    if head[4:8] in MP4_BOXES:
        return "mp4"
    if head[:4] == b"\x1a\x45\xdf\xa3":
        return "matroska"
    return "aac" if len(head) > 7 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0 else ""


def _read(file: BinaryIO, at: int, size: int) -> bytes:
    if not 0 <= at < FARTHEST:  # a damaged header leads there
        return b""
    file.seek(at)
    return file.read(size)


def _number(data: bytes, order: Order) -> int:
    return int.from_bytes(data, order)


# --- WAV, AIFF and their like: a header that states bytes -----------------------------------------


@dataclass(frozen=True)
class _Data:
    """The bytes of sound in a file: where they begin, and the field that states their number."""

    start: int
    stated: int
    field: slice
    order: Order
    begin: int = 0  # of the whole sound, with its header

    def part(self, size: int) -> Part:
        """The sound up to where its header says; to the end of the file where it does not say."""
        room = max(0, size - self.start)
        limit = STREAMED if self.field.stop - self.field.start == 4 else STREAMED_64
        whole = Part(self.begin, size)
        if room and (self.stated <= 0 or (self.stated >= limit and self.stated > room)):
            width = self.field.stop - self.field.start
            known = min(room, 256**width - 2).to_bytes(width, self.order)
            return replace(whole, patches=((self.field.start, known),), is_streamed=True)
        if self.stated > room:
            return replace(whole, bytes_stated=self.stated, bytes_there=room)
        return replace(whole, bytes_stated=self.stated, bytes_there=self.stated)


def _wave_parts(file: BinaryIO, start: int, size: int) -> list[Part]:
    """RIFF, RIFX, RF64 and BW64; several of them where files were joined."""
    parts: list[Part] = []
    while True:
        data = _wave_data(file, start)
        if data is None:
            return [*parts, Part(start, size)]
        end = data.start + data.stated + data.stated % 2
        if data.stated == 0 and _after_chunks(file, data.start, size, data.order)[0] >= size:
            return [*parts, Part(start, size)]  # it holds no sound indeed
        part = data.part(size)
        if part.is_streamed or end >= size:
            return [*parts, part]
        end, follows = min(
            (_after_chunks(file, at, size, data.order) for at in {end, end - data.stated % 2}),
            key=lambda candidate: size - candidate[0],
        )  # some programs forget the byte that makes an odd size even
        if follows[:4] in (b"RIFF", b"RF64", b"BW64") and follows[8:12] == b"WAVE":
            parts.append(replace(part, stop=end))
            start = end
            continue
        left = size - end
        if left and follows.strip(b"\0") and not follows.startswith(TAGS):
            part = replace(part, unread_bytes=left)
        return [*parts, part]


def _wave_data(file: BinaryIO, start: int) -> _Data | None:
    mark = _read(file, start, 4)
    order: Order = "big" if mark == b"RIFX" else "little"
    at, long_field = start + 12, None
    for _ in range(MOST_CHUNKS):
        head = _read(file, at, 8)
        if len(head) < 8:
            return None
        size = _number(head[4:], order)
        if head[:4] == b"data":
            if size == 0xFFFFFFFF and long_field is not None:
                stated = _number(_read(file, long_field, 8), order)
                return _Data(at + 8, stated, slice(long_field, long_field + 8), order, start)
            return _Data(at + 8, size, slice(at + 4, at + 8), order, start)
        if head[:4] == b"ds64":
            long_field = at + 16
        at += 8 + size + size % 2
    return None


def _after_chunks(file: BinaryIO, at: int, size: int, order: Order) -> tuple[int, bytes]:
    """Where the chunks after the sound end, and the first bytes of what follows them."""
    for _ in range(MOST_CHUNKS):
        head = _read(file, at, 12)
        if len(head) < 8 or head[:4] in (b"RIFF", b"RF64", b"BW64") or not _is_name(head[:4]):
            return at, head
        length = _number(head[4:8], order)
        if at + 8 + length > size or head.startswith(TAGS):
            return at, head
        at += 8 + length + length % 2
    return at, b""


def _is_name(mark: bytes) -> bool:
    return all(32 <= byte < 127 for byte in mark)


def _aiff_parts(file: BinaryIO, start: int, size: int) -> list[Part]:
    at = start + 12
    for _ in range(MOST_CHUNKS):
        head = _read(file, at, 8)
        if len(head) < 8:
            break
        length = _number(head[4:], "big")
        if head[:4] == b"SSND":  # its size counts 8 bytes about blocks
            stated = length if length >= STREAMED or length < 8 else length - 8
            data = _Data(at + 16, 0 if length < 8 else stated, slice(at + 4, at + 8), "big", start)
            part = data.part(size)
            return [replace(part, patches=())]  # libsndfile goes by the file's end itself
        at += 8 + length + length % 2
    return [Part(start, size)]


def _w64_parts(file: BinaryIO, start: int, size: int) -> list[Part]:
    at, demuxer = start + 40, ""
    for _ in range(MOST_CHUNKS):
        head = _read(file, at, 26)
        if len(head) < 24:
            break
        length = _number(head[16:24], "little")
        if head[:16] == W64_DATA:
            data = _Data(at + 24, length - 24, slice(at + 16, at + 24), "little", start)
            part = replace(data.part(size), patches=(), demuxer=demuxer)
            if part.is_streamed and demuxer:
                known = (size - at).to_bytes(8, "little")  # with the chunk's head
                part = replace(part, patches=((at + 16, known),))
            return [part]
        if head[:4] == b"fmt " and head[24:26] == EXTENSIBLE:
            demuxer = "w64"  # libsndfile takes floats of this kind for whole numbers
        at += (length + 7) // 8 * 8
    return [Part(start, size)]


def _au_parts(file: BinaryIO, start: int, size: int) -> list[Part]:
    head = _read(file, start, 12)
    begin, length = _number(head[4:8], "big"), _number(head[8:12], "big")
    return [_Data(start + begin, length, slice(start + 8, start + 12), "big", start).part(size)]


def _caf_parts(file: BinaryIO, start: int, size: int) -> list[Part]:
    at = start + 8
    for _ in range(MOST_CHUNKS):
        head = _read(file, at, 12)
        if len(head) < 12:
            break
        length = int.from_bytes(head[4:], "big", signed=True)
        if head[:4] == b"data":  # 4 bytes of its size count edits
            room = size - at - 12
            part = _Data(at + 12, length, slice(at + 4, at + 12), "big", start).part(size)
            if part.is_streamed:
                part = replace(part, patches=((at + 4, room.to_bytes(8, "big")),))
            return [part]
        if length < 0:
            break
        at += 12 + length
    return [Part(start, size)]


def _nist_parts(file: BinaryIO, start: int, size: int) -> list[Part]:
    text = _read(file, start, 1024).decode("latin-1")
    fields = dict(line.split(" -i ", 1) for line in text.splitlines() if " -i " in line)
    try:
        begin = int(text.splitlines()[1])
        names = ("sample_count", "channel_count", "sample_n_bytes")
        count, channels, width = (int(fields[name]) for name in names)
    except (ValueError, KeyError, IndexError):
        return [Part(start, size)]
    stated, room = count * channels * width, max(0, size - start - begin)
    return [Part(start, size, bytes_stated=stated, bytes_there=min(stated, room))]


# --- WebM, FLAC and Ogg ---------------------------------------------------------------------------


def _webm_is_cut(file: BinaryIO, at: int, size: int) -> bool:
    """Whether the last element of a Matroska file ends beyond the file (RFC 8794)."""
    while at < size:
        head = _read(file, at, 12)
        name_bytes = 9 - head[0].bit_length()
        if name_bytes > 4:
            return False  # no element: that is for the decoder to say
        if len(head) <= name_bytes or not head[name_bytes]:
            return True
        size_bytes = 9 - head[name_bytes].bit_length()
        field = head[name_bytes : name_bytes + size_bytes]
        if len(field) < size_bytes:
            return True
        length, unknown = _number(field, "big") - (1 << 7 * size_bytes), (1 << 7 * size_bytes) - 1
        at += name_bytes + size_bytes
        if length == unknown or head[:4] == WEBM_SEGMENT:
            continue  # what follows lies inside
        at += length
    return at > size


def _flac_parts(file: BinaryIO, start: int, size: int) -> list[Part]:
    """FLAC; one part for each head. A head without total is read by FFmpeg, to the end."""
    starts = [*_mark_positions(file, FLAC_HEAD, start, size)]
    if not starts:
        return [Part(start, size)]
    parts = []
    for begin, stop in zip(starts, [*starts[1:], size], strict=True):
        total = _number(_read(file, begin, 26)[TOTAL], "big") & (1 << TOTAL_BITS) - 1
        parts.append(Part(begin, stop, "" if total else "flac"))
    return parts


def _mark_positions(file: BinaryIO, mark: bytes, start: int, size: int) -> Iterator[int]:
    """Where the mark stands in a file."""
    keep = len(mark) - 1
    at, before = start, b""
    while at < size:
        data = before + _read(file, at, PIECE)
        offset = data.find(mark)
        while offset >= 0:
            yield at - len(before) + offset
            offset = data.find(mark, offset + 1)
        at += len(data) - len(before)
        before = data[-keep:]


def _ogg_parts(file: BinaryIO, start: int, size: int) -> list[Part]:
    """Ogg; one part for each link of a chain, how it ends, and how many pages it lacks."""
    starts: list[int] = []
    lost = [0]
    numbers: dict[bytes, int] = {}
    at, heads, last, end = start, False, False, start
    while at < size:
        head = _read(file, at, OGG_HEAD)
        if head[:4] != b"OggS":
            next_page = next(_mark_positions(file, b"OggS", at, size), None)
            if next_page is None:
                break
            at = next_page
            continue
        table = file.read(head[26]) if len(head) == OGG_HEAD else b""
        length = OGG_HEAD + len(table) + sum(table)
        if len(head) < OGG_HEAD or len(table) < head[26] or at + length > size:
            end = at
            break
        first = bool(head[5] & OGG_FIRST)
        if first and not heads:
            starts.append(at)
            lost.append(0)
            numbers = {}
        heads = first
        serial, number = head[14:18], _number(head[18:22], "little")
        lost[-1] += max(0, number - numbers.get(serial, number - 1) - 1)
        lost[-1] += _is_damaged(head + table + file.read(sum(table)))
        numbers[serial] = number
        last = bool(head[5] & OGG_LAST)
        at = end = at + length
    whole = _read(file, end, 4)[:4] != b"OggS"
    missing = OGG_CUT if not whole else "" if last else OGG_OPEN
    starts = starts or [start]
    stops = [*starts[1:], size]
    lost = lost[-len(starts) :]
    parts = [
        Part(begin, stop, pages_lost=gaps)
        for begin, stop, gaps in zip(starts, stops, lost, strict=True)
    ]
    return [*parts[:-1], replace(parts[-1], missing=missing, is_certain=missing != OGG_OPEN)]


def _is_damaged(page: bytes) -> bool:
    """Whether the checksum of a page of Ogg is wrong: libogg leaves such pages out in silence."""
    plain = page[:22] + bytes(4) + page[26:]
    return crc32.cksum(plain) ^ 0xFFFFFFFF != _number(page[22:26], "little")


READERS: tuple[tuple[Callable[[bytes], bool], Callable[[BinaryIO, int, int], list[Part]]], ...] = (
    (
        lambda head: head[:4] in (b"RIFF", b"RIFX", b"RF64", b"BW64") and head[8:12] == b"WAVE",
        _wave_parts,
    ),
    (lambda head: head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC"), _aiff_parts),
    (lambda head: head[:4] == b"riff", _w64_parts),
    (lambda head: head[:4] == b".snd", _au_parts),
    (lambda head: head[:4] == b"caff", _caf_parts),
    (lambda head: head[:7] == b"NIST_1A", _nist_parts),
    (lambda head: head[:4] == b"fLaC", _flac_parts),
    (lambda head: head[:4] == b"OggS", _ogg_parts),
)
