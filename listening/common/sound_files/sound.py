"""An open sound file: its form, its samples from start to end, and how its lengths compare."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[Any]  # (frames, channels)

NO_SOUND = (
    "This is no sound file that can be read, whatever its name says.",
    "Save it again as FLAC or WAV.",
)


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
    return AudioError(
        f"The sound is damaged {abs(after_s):.1f} s or more after its start ({words}).",
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
