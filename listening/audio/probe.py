"""What a sound file is: rate, channels, length, level, loudness, clipping; or why it is refused."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import log10
from pathlib import Path
from typing import Literal

import numpy as np

from listening.audio.opening import opened
from listening.audio.sources import AudioError, Samples, Source
from listening.audio_headers import OggEnd, ogg_end, sound_bytes
from listening.loudness import LoudnessMeter

MAX_BYTES = 500 * 1024**2
MAX_DURATION_S = 30 * 60
MAX_CHANNELS = 2
MIN_RATE_HZ, MAX_RATE_HZ = 4_000, 192_000
FULL_SCALE = 32_766.5 / 32_768  # a 16-bit sample at either end of its range reaches this
SILENCE_BELOW_PEAK_DB = 40
STREAMED_BYTES = 0x7FFF_0000  # programs that write to a pipe put this or more into the header
CUT_OFF = "The file was cut off: copy it again from its source."
LOST_TAIL_S = 0.1  # what lossy formats may declare too much


@dataclass(frozen=True)
class Facts:
    """What was measured by decoding the whole file once."""

    sha256: str
    size_bytes: int
    format: str
    subtype: str
    sample_rate_hz: int
    channels: int
    duration_s: float
    peak_dbfs: float | None  # None: digital silence
    loudness_lufs: float | None  # None: too quiet to measure (ITU-R BS.1770 gating)
    clipped_share: float  # of all samples
    leading_silence_s: float  # until the first 10 ms less than 40 dB below the clip's peak
    trailing_silence_s: float  # after the last such 10 ms


def probed(path: Path) -> Facts:
    """The facts of a sound file; AudioError says why it is no acceptable stimulus."""
    size = path.stat().st_size
    _check_size(size)
    with opened(path) as sound:
        _check_shape(sound)
        _check_whole(path, size)
        trace = _Trace(sound.rate_hz, sound.channels)
        for block in sound.blocks(trace.block_frames):
            trace.add(block)
        _check_length(trace.frames, sound)
        leading_s, trailing_s = trace.silence_s()
        return Facts(
            sha256=sha256_of(path),
            size_bytes=size,
            format=sound.format,
            subtype=sound.subtype,
            sample_rate_hz=sound.rate_hz,
            channels=sound.channels,
            duration_s=trace.frames / sound.rate_hz,
            peak_dbfs=20 * log10(trace.peak) if trace.peak > 0 else None,
            loudness_lufs=trace.loudness.integrated_lufs(),
            clipped_share=trace.clipped / (trace.frames * sound.channels),
            leading_silence_s=leading_s,
            trailing_silence_s=trailing_s,
        )


def probed_all(paths: Sequence[Path]) -> list[Facts | AudioError]:
    """For each file its facts or why it is refused, in the order given, on all processor cores.

    Threads suffice: decoding and filtering leave the interpreter free.
    """
    with ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="probe") as pool:
        return list(pool.map(_facts_or_error, paths))


def sha256_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _facts_or_error(path: Path) -> Facts | AudioError:
    try:
        return probed(path)
    except AudioError as error:
        return error


def _check_size(size: int) -> None:
    if size == 0:
        raise AudioError("The file is empty (0 bytes).", "Copy it again from its source.")
    if size > MAX_BYTES:
        raise AudioError(
            f"The file has {size / 1024**2:.0f} MB, more than the {MAX_BYTES // 1024**2} MB that "
            "a clip may have.",
            "Save it as FLAC, or cut it.",
        )


def _check_shape(sound: Source) -> None:
    if sound.channels > MAX_CHANNELS:
        raise AudioError(
            f"The sound has {sound.channels} channels; raters hear one or two.",
            "Mix it down to mono or stereo.",
        )
    if not MIN_RATE_HZ <= sound.rate_hz <= MAX_RATE_HZ:
        raise AudioError(
            f"The sampling rate is {sound.rate_hz} Hz; it must lie between {MIN_RATE_HZ} and "
            f"{MAX_RATE_HZ} Hz.",
            "Convert the sampling rate.",
        )
    if sound.frames is not None:
        _check_duration(sound.frames / sound.rate_hz)


def _check_whole(path: Path, size: int) -> None:
    """Headers say how much there is, and Ogg comes in whole pages; decoding tells neither."""
    with path.open("rb") as file:
        mark, length = file.read(4), file.read(4)
    orders: dict[bytes, Literal["little", "big"]] = {b"RIFF": "little", b"FORM": "big"}
    if mark in orders:
        promised = int.from_bytes(length, orders[mark]) + 8
        if size + 1 < promised < STREAMED_BYTES:
            raise AudioError(
                f"The file has {size:,} bytes, and its header promises {promised:,}.", CUT_OFF
            )
    found = sound_bytes(path)
    if found is not None and found.there + 1 < found.promised < STREAMED_BYTES:
        raise AudioError(
            f"Of the sound, {found.there:,} bytes are there, and its header promises "
            f"{found.promised:,}.",
            CUT_OFF,
        )
    if mark == b"OggS" and ogg_end(path) is OggEnd.CUT:
        raise AudioError(f"The file ends {OggEnd.CUT.value}.", CUT_OFF)


def _check_duration(duration_s: float) -> None:
    if duration_s > MAX_DURATION_S:
        raise AudioError(
            f"The clip is longer than {MAX_DURATION_S // 60} minutes.", "Cut it into shorter clips."
        )


def _check_length(frames: int, sound: Source) -> None:
    if frames == 0:
        raise AudioError(
            "The file holds no sound (0 samples).", "Export it again, or remove its row."
        )
    missing_s = ((sound.frames or 0) - frames) / sound.rate_hz
    if missing_s > LOST_TAIL_S:
        raise AudioError(
            f"The sound ends {missing_s:.1f} s before the length that its header promises.", CUT_OFF
        )


def loudest_channel(block: Samples) -> Samples:
    """Magnitudes (frames,); NumPy's maximum over the short axis would take ten times as long."""
    level = np.abs(block[:, 0])
    for channel in range(1, block.shape[1]):
        level = np.maximum(level, np.abs(block[:, channel]))
    return level


class _Trace:
    """What is measured while the blocks go by."""

    def __init__(self, rate_hz: int, channels: int) -> None:
        self.window = max(1, rate_hz // 100)  # 10 ms
        self.block_frames = self.window * 400
        self.rate_hz = rate_hz
        self.frames = 0
        self.clipped = 0
        self.envelope: list[Samples] = []
        self.loudness = LoudnessMeter(rate_hz, channels)

    def add(self, block: Samples) -> None:
        level = loudest_channel(block)
        if not np.isfinite(level).all():
            raise AudioError(
                "The sound holds values that are no numbers (NaN or infinite).",
                "Export it again, as 16 or 24 bit.",
            )
        self.frames += len(block)
        _check_duration(self.frames / self.rate_hz)
        if level.max() >= FULL_SCALE:
            self.clipped += int((np.abs(block) >= FULL_SCALE).sum())
        self.envelope.append(np.maximum.reduceat(level, range(0, len(level), self.window)))
        self.loudness.add(block)

    @property
    def peak(self) -> float:
        return max((float(part.max()) for part in self.envelope), default=0.0)

    def silence_s(self) -> tuple[float, float]:
        """Before and after the sound; zeros for a clip that is silent: that is another warning."""
        threshold = self.peak * 10 ** (-SILENCE_BELOW_PEAK_DB / 20)
        loud = np.flatnonzero(np.concatenate(self.envelope) > threshold)
        if not len(loud):
            return 0.0, 0.0
        start, stop = int(loud[0]) * self.window, int(loud[-1] + 1) * self.window
        return start / self.rate_hz, max(self.frames - stop, 0) / self.rate_hz
