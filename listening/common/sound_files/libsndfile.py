"""WAV, FLAC, Ogg and their like, decoded by libsndfile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import BinaryIO

import soundfile

from listening.common.sound_files.part import Part, View
from listening.common.sound_files.sound import (
    AudioError,
    LengthReport,
    Samples,
    Sound,
    damaged,
    states_more,
    streamed,
)

FORMATS = ("WAV", "WAVEX", "RF64", "W64", "FLAC", "OGG", "MP3", "AIFF", "AU", "CAF", "NIST")
UNKNOWN_LENGTH = 2**40  # streamed files declare more frames than any file holds
SIXTEEN_BIT = ("PCM_16", "PCM_S8", "PCM_U8", "ULAW", "ALAW", "ALAC_16")
MORE_BITS = ("PCM_24", "PCM_32", "ALAC_20", "ALAC_24", "ALAC_32")
STATES_FRAMES = ("FLAC", "CAF", "MP3")  # formats whose header counts samples
LOST_S = {"OGG": 0.1, "MP3": 0.1}  # what lossy formats may state too much
LEAST_LOST_S = 0.001


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
