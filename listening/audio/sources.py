"""One door for sound files: opened, described and decoded block by block, whatever the format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import soundfile

Samples = npt.NDArray[Any]  # (frames, channels)

FORMATS = ("WAV", "WAVEX", "RF64", "W64", "FLAC", "OGG", "MP3", "AIFF", "AU", "CAF")
UNKNOWN_LENGTH = 2**40  # streamed files declare more frames than any file holds
SIXTEEN_BIT = ("PCM_16", "PCM_S8", "PCM_U8", "ULAW", "ALAW", "ALAC_16")
MORE_BITS = ("PCM_24", "PCM_32", "ALAC_20", "ALAC_24", "ALAC_32")
NO_SOUND = (
    "This is no sound file that can be read, whatever its name says.",
    "Save it again as FLAC or WAV.",
)


class AudioError(ValueError):
    """Why a file cannot be a stimulus, and what to do about it."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason} {remedy}")
        self.reason = reason
        self.remedy = remedy


class Source(ABC):
    """An open sound file: what its header says, and its samples from start to end, once."""

    format: str
    subtype: str
    rate_hz: int
    channels: int
    frames: int | None  # what the header promises; None: it does not say
    bits: int | None  # 16 or 24: whole numbers that FLAC of so many bits holds; None: floats

    @abstractmethod
    def blocks(self, frames: int, dtype: str = "float64") -> Iterator[Samples]:
        """Blocks of (frames, channels), so that long clips need no more memory than short ones.

        `dtype` is float64 (full scale 1), or int16 or int32 (full scale of the type) for sources
        of whole numbers. AudioError when the sound is damaged.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends reading."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def damaged(after_s: float, what: str) -> AudioError:
    words = what.strip().rstrip(".")
    return AudioError(
        f"The sound is damaged {after_s:.1f} s after its start ({words}).",
        "Save it again from its source.",
    )


class PlainSource(Source):
    """What libsndfile reads: WAV, FLAC, Ogg, MP3 and their like."""

    def __init__(self, path: Path) -> None:
        self._sound = sound = soundfile.SoundFile(path)
        self.format, self.subtype = sound.format, sound.subtype
        self.rate_hz, self.channels = sound.samplerate, sound.channels
        self.frames = sound.frames if sound.frames < UNKNOWN_LENGTH else None
        whole = sound.subtype in SIXTEEN_BIT, sound.subtype in MORE_BITS
        self.bits = 16 if whole[0] else 24 if whole[1] else None
        if sound.format not in FORMATS:
            sound.close()
            raise AudioError(
                f"Sound in the format {sound.format} is not accepted.", "Save it as FLAC or WAV."
            )

    def blocks(self, frames: int, dtype: str = "float64") -> Iterator[Samples]:
        while True:
            try:
                block: Samples = self._sound.read(frames, dtype=dtype, always_2d=True)
            except (soundfile.LibsndfileError, RuntimeError) as error:
                words = getattr(error, "error_string", None) or str(error)
                raise damaged(self._sound.tell() / self.rate_hz, words) from None
            if not len(block):
                return
            yield block

    def close(self) -> None:
        self._sound.close()


def as_type(samples: Samples, dtype: str) -> Samples:
    """Whole numbers or floats of full scale 1 as another such type."""
    kind, wanted = samples.dtype, np.dtype(dtype)
    if kind == wanted:
        return samples
    if kind == np.uint8:
        return as_type((samples.astype(np.int16) - 128) << 8, dtype)
    if wanted.kind == "f":
        full = 1.0 if kind.kind == "f" else float(2 ** (8 * kind.itemsize - 1))
        return samples.astype(wanted) / full
    if kind == np.int16 and wanted == np.int32:
        return samples.astype(np.int32) << 16
    raise TypeError(f"{kind} samples are not read as {wanted}")
