"""An open sound file: its form, its samples from start to end, and how its lengths compare.

`Part` is a stretch of a file that holds one sound; `LibsndfileSound` decodes WAV, FLAC, Ogg and
their like.
"""

from __future__ import annotations

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt
import soundfile

Samples = npt.NDArray[Any]  # (frames, channels)
NO_SOUND = (
    "This is no sound file that can be read, whatever its name says.",
    "Save it again as FLAC or WAV.",
)
FORMATS = ("WAV", "WAVEX", "RF64", "W64", "FLAC", "OGG", "MP3", "AIFF", "AU", "CAF", "NIST")
UNKNOWN_LENGTH = 2**40  # streamed files declare more frames than any file holds
SIXTEEN_BIT = ("PCM_16", "PCM_S8", "PCM_U8", "ULAW", "ALAW", "ALAC_16")
MORE_BITS = ("PCM_24", "PCM_32", "ALAC_20", "ALAC_24", "ALAC_32")
STATES_FRAMES = ("FLAC", "CAF", "MP3")  # formats whose header counts samples
LOST_S = {"OGG": 0.1, "MP3": 0.1}  # what lossy formats may state too much
LEAST_LOST_S = 0.001


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


class AudioError(ValueError):
    """Why a file cannot be read as sound, and what to do about it."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason} {remedy}")
        self.reason = reason
        self.remedy = remedy

    def __reduce__(self) -> tuple[type[AudioError], tuple[str, str]]:
        return type(self), (self.reason, self.remedy)


@dataclass(frozen=True)
class LengthReport:
    """The length that a file states, the length that was decoded, and how they differ."""

    decoded_s: float
    stated_s: float | None  # None: the file states no length
    missing: str = ""  # a sentence, where sound is missing at the end
    is_certain: bool = True  # False: the file may be a recording of a live stream
    note: str = ""  # a sentence, where programs that trust the header read another length


class Sound(ABC):
    """An open sound file: what its header says, and its samples from start to end, once."""

    format: str  # WAV, FLAC, OGG, MP3, MP4 …
    subtype: str  # PCM_16, VORBIS, AAC …
    rate_hz: int
    channels: int
    frames: int | None  # samples per channel before decoding; None: only decoding tells
    bits: int | None  # 16 or 24: whole numbers that FLAC of so many bits holds; None: floats
    decoded = 0  # samples per channel given out so far
    continues = False  # the same sound as the part of the file before, after damage

    def blocks(self, frames: int, dtype: str = "float64") -> Iterator[Samples]:
        """Yield blocks of (frames, channels): a long clip needs no more memory than a short one.

        `dtype` is float64 or float32 (full scale 1), or int16 or int32 (full scale of the type)
        for sources of whole numbers. Raises AudioError when the sound is damaged.
        """
        for block in self._blocks(frames, dtype):
            self.decoded += len(block)
            yield block

    @abstractmethod
    def _blocks(self, frames: int, dtype: str) -> Iterator[Samples]:
        """Yield all samples, as `blocks` says."""

    @abstractmethod
    def length_report(self) -> LengthReport:
        """Compare the length that the file states with what was decoded; call it at the end."""

    @abstractmethod
    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class JoinedSound(Sound):
    """Several sounds that one file holds one after the other, as `cat` joins them."""

    def __init__(self, parts: list[Sound], continuing: int = 0) -> None:
        """``continuing``: how many parts go on with the same sound after damage."""
        first = parts[0]
        self._parts, self._sounds = parts, len(parts) - continuing
        self.format, self.subtype = first.format, first.subtype
        self.rate_hz, self.channels = first.rate_hz, first.channels
        lengths = [part.frames for part in parts]
        self.frames = None if None in lengths else sum(n or 0 for n in lengths)
        same = {part.bits for part in parts}
        self.bits = same.pop() if len(same) == 1 else None
        for part in parts:
            check_same_shape(part.rate_hz, part.channels, self)

    def _blocks(self, frames: int, dtype: str) -> Iterator[Samples]:
        for part in self._parts:
            yield from part.blocks(frames, dtype)

    def length_report(self) -> LengthReport:
        reports = [part.length_report() for part in self._parts]
        stated = [report.stated_s for report in reports]
        each = " + ".join(f"{report.decoded_s:.2f}" for report in reports)
        whole_s = sum(report.decoded_s for report in reports)
        note = (
            f"The file holds {self._sounds} sounds joined to one ({each} s). All {whole_s:.2f} s "
            f"are used; programs that trust the first header read {reports[0].decoded_s:.2f} s."
        )
        if self._sounds == 1:
            note = ""
        bad = next((report for report in reports if report.missing), reports[-1])
        stated_s = None if None in stated else sum(s or 0.0 for s in stated)
        return LengthReport(whole_s, stated_s, bad.missing, bad.is_certain, note)

    def close(self) -> None:
        for part in self._parts:
            part.close()


def check_same_shape(rate_hz: int, channels: int, sound: Sound) -> None:
    """Raise AudioError where a part of the sound has another rate or number of channels."""
    if (rate_hz, channels) != (sound.rate_hz, sound.channels):
        raise AudioError(
            "The sampling rate or the number of channels changes within the sound.",
            "Save it again as FLAC or WAV.",
        )


def damaged(after_s: float, what: str) -> AudioError:
    """The error of a sound that cannot be decoded further."""
    words = what.strip().rstrip(".")
    place = f"{after_s:.1f} s or more after its start" if after_s >= 0.05 else "from its start on"
    return AudioError(
        f"The sound is damaged {place} ({words}).",
        "Save it again from its source.",
    )


def states_more(stated_s: float, decoded_s: float) -> str:
    """The sentence about a header that states more sound than there is."""
    digits = 2 if round(stated_s, 2) != round(decoded_s, 2) else 4
    return f"Its header states {stated_s:.{digits}f} s, {decoded_s:.{digits}f} s are there."


def streamed(decoded_s: float) -> str:
    """The sentence about a header that was written before the length was known."""
    return (
        "The header states no length, as of a file that was written to a pipe: it was read to its "
        f"end ({decoded_s:.2f} s)."
    )


def as_type(samples: Samples, dtype: str) -> Samples:
    """Whole numbers or floats of full scale 1 as another such type."""
    kind, wanted = samples.dtype, np.dtype(dtype)
    if kind == wanted:
        return samples
    if kind == np.uint8:
        return as_type((samples.astype(np.int16) - 128) << 8, dtype)
    if wanted.kind == "f":
        full = 1.0 if kind.kind == "f" else float(2 ** (8 * kind.itemsize - 1))
        scaled: Samples = samples.astype(wanted) / wanted.type(full)
        return scaled
    if kind == np.int16 and wanted == np.int32:
        return samples.astype(np.int32) << 16
    raise TypeError(f"{kind} samples are not read as {wanted}")


class LibsndfileSound(Sound):
    """One part of a file, or all of it.

    libsndfile gets the open file and no name: of a name it would look for a resource fork beside
    it (``._clip.mp3`` beside ``clip.mp3``), and take what macOS wrote there for the sound.
    """

    def __init__(self, file: BinaryIO, part: Part) -> None:
        self._file, self._part = file, part
        self.continues = part.continues
        if part.is_whole(os.fstat(file.fileno()).st_size):
            file.seek(0)
            os.lseek(file.fileno(), 0, os.SEEK_SET)
            self._sound = sound = soundfile.SoundFile(file.fileno(), closefd=False)
        else:
            self._sound = sound = soundfile.SoundFile(View(file, part))
        self.format, self.subtype = sound.format, sound.subtype
        self.rate_hz, self.channels = sound.samplerate, sound.channels
        self.frames = sound.frames if sound.frames < UNKNOWN_LENGTH else None
        whole = sound.subtype in SIXTEEN_BIT, sound.subtype in MORE_BITS
        self.bits = 16 if whole[0] else 24 if whole[1] else None
        if sound.format not in FORMATS:
            self.close()
            raise AudioError(
                f"Sound in the format {sound.format} is not accepted.", "Save it as FLAC or WAV."
            )

    def _blocks(self, frames: int, dtype: str) -> Iterator[Samples]:
        while True:
            try:
                block: Samples = self._sound.read(frames, dtype=dtype, always_2d=True)
            except (soundfile.LibsndfileError, RuntimeError) as error:
                words = getattr(error, "error_string", None) or str(error)
                raise damaged(self.decoded / self.rate_hz, words) from None
            if not len(block):
                return
            yield block

    def length_report(self) -> LengthReport:
        part, decoded_s = self._part, self.decoded / self.rate_hz
        stated_s = None
        if part.bytes_stated and part.bytes_there:
            stated_s = decoded_s * part.bytes_stated / part.bytes_there
        elif self.format in STATES_FRAMES and self.frames and not part.is_streamed:
            stated_s = self.frames / self.rate_hz
        missing, is_certain = part.missing, part.is_certain
        expected_s = stated_s or (self.frames or 0) / self.rate_hz
        if expected_s - decoded_s > LOST_S.get(self.format, LEAST_LOST_S) and not missing:
            missing, is_certain = states_more(expected_s, decoded_s), True
        if part.pages_lost and not missing:
            pages = "1 page is" if part.pages_lost == 1 else f"{part.pages_lost} pages are"
            missing = f"Within the sound, {pages} damaged or missing."
        return LengthReport(decoded_s, stated_s, missing, is_certain, self._note(decoded_s))

    def _note(self, decoded_s: float) -> str:
        part = self._part
        if part.is_streamed:
            return streamed(decoded_s)
        if part.unread_bytes:
            rate = part.bytes_there / decoded_s if decoded_s else 0.0
            as_sound = f" ({part.unread_bytes / rate:.2f} s if they are sound)" if rate else ""
            return (
                f"The header states {decoded_s:.2f} s; the {part.unread_bytes:,} bytes after "
                f"that{as_sound} are not read."
            )
        return ""

    def close(self) -> None:
        self._sound.close()
        self._file.close()
