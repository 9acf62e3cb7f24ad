"""What a sound file is: rate, channels, length, level, loudness, clipping; or why it is refused."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import log10, sqrt
from pathlib import Path

import numpy as np

from listening.audio.long_sounds import bounded, decode_bounded
from listening.audio.served_sound import BLOCK_FRAMES, CUT_EDGES_HZ, remove_inaudible
from listening.common.input_limits import CLIP_BYTES, CLIP_DURATION_S
from listening.common.loudness import LoudnessMeter
from listening.common.sound_files import AudioError, LengthReport, Samples, Sound, open_sound

MAX_CHANNELS = 2
MIN_RATE_HZ, MAX_RATE_HZ = 4_000, 192_000
FULL_SCALE = 32_766.5 / 32_768  # a 16-bit sample at either end of its range reaches this
MAX_PEAK = 4.0  # of float samples, 12 dB over full scale: more is another scale, no loud clip
WHOLE_NUMBERS = (2**15, 2**23, 2**31)  # full scales of samples that were written as floats
SILENCE_BELOW_PEAK_DB = 40
DEAD_CHANNEL_DB = 40.0  # of one channel below the other
ANTIPHASE = -0.75  # correlation of two channels whose mean lies 9 dB or more below them
HOPS_PER_S = 400  # whose means show low frequencies
NOTICEABLE_SHARE = 0.01  # of the energy: without it a clip is 0.04 dB softer
CUT_OFF = "The file was cut off: copy it again from its source."
VERSION = 3  # of the facts below: what was measured by an older one is measured again


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
    loudness_lufs: float | None  # of what both ears get (LoudnessMeter); None: too quiet to measure
    clipped_share: float  # of all samples
    leading_silence_s: float  # until the first 10 ms less than 40 dB below the clip's peak
    trailing_silence_s: float  # after the last such 10 ms
    length_note: str = ""  # a sentence, where other programs read another length
    channel_fault: str = ""  # "left", "right" (silent) or "antiphase"; empty: none
    low_shares: Sequence[float] = ()  # of the energy, that each of CUT_EDGES_HZ takes away


def probed(path: Path) -> Facts:
    """The facts of a sound file; AudioError says why it is no acceptable stimulus."""
    return decode_bounded(_measured, path)


def _measured(path: Path, most_samples: int | None = None) -> Facts:
    size = path.stat().st_size
    _check_size(size)
    with open_sound(path) as sound:
        _check_shape(sound)
        trace = _Trace(sound.rate_hz, sound.channels)
        for block in bounded(sound.blocks(trace.block_frames), most_samples):
            trace.add(block)
        report = sound.length_report()
        _check_whole(trace.frames, report)
        _check_peak(trace.peak)
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
            length_note=report.missing or report.note,
            channel_fault=trace.channel_fault(),
            low_shares=tuple(trace.low_share(edges[1]) for edges in CUT_EDGES_HZ.values()),
        )


@dataclass(frozen=True)
class Level:
    """What `served_sound.gain_for` must know of a clip."""

    loudness_lufs: float | None
    peak_dbfs: float | None


def level_after_cut(path: Path, facts: Facts, low_cut_hz: int) -> Level:
    """Loudness and peak of a clip whose low frequencies are removed, before any gain.

    Measured again only where these frequencies and the offset hold a noticeable share of the
    energy. In most speech they hold less than a thousandth.
    """
    if dict(zip(CUT_EDGES_HZ, facts.low_shares, strict=True))[low_cut_hz] < NOTICEABLE_SHARE:
        return Level(facts.loudness_lufs, facts.peak_dbfs)
    return decode_bounded(_level_after_cut, path, low_cut_hz)


def _level_after_cut(path: Path, low_cut_hz: int, most_samples: int | None = None) -> Level:
    with open_sound(path) as sound:
        meter = LoudnessMeter(sound.rate_hz, sound.channels, at_ears=True)
        peak = 0.0
        blocks = bounded(sound.blocks(BLOCK_FRAMES), most_samples)
        for block in remove_inaudible(blocks, sound.rate_hz, low_cut_hz, faded=False):
            meter.add(block)
            peak = max(peak, float(loudest_channel(block).max()))
    return Level(meter.integrated_lufs(), 20 * log10(peak) if peak > 0 else None)


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
    if size > CLIP_BYTES:
        raise AudioError(
            f"The file has {size / 1024**2:.0f} MB, more than the {CLIP_BYTES // 1024**2} MB that "
            "a clip may have.",
            "Save it as FLAC, or cut it.",
        )


def _check_shape(sound: Sound) -> None:
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


def _check_whole(frames: int, report: LengthReport) -> None:
    if frames == 0:
        raise AudioError(
            "The file holds no sound (0 samples).", "Export it again, or remove its row."
        )
    if report.missing and report.is_certain:
        raise AudioError(report.missing, CUT_OFF)


def _check_peak(peak: float) -> None:
    """Floats of another scale would be served as a square wave at full scale."""
    if peak <= MAX_PEAK:
        return
    full = next((full for full in WHOLE_NUMBERS if peak <= full), None)
    is_whole = peak > WHOLE_NUMBERS[0] / 256 and full is not None
    remedy = f"Divide them by {full:,}, or save it as 16 bit." if is_whole else "Make it quieter."
    raise AudioError(
        f"The samples reach {peak:,.6g}, {20 * log10(peak):.0f} dB over full scale, which is 1.",
        remedy,
    )


def _check_duration(duration_s: float) -> None:
    if duration_s > CLIP_DURATION_S:
        raise AudioError(
            f"The clip is longer than {CLIP_DURATION_S // 60} minutes.",
            "Cut it into shorter clips.",
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
        self.loudness = LoudnessMeter(rate_hz, channels, at_ears=True)
        self.sums = np.zeros(channels)
        self.products = np.zeros((channels, channels))
        self.hop = max(rate_hz // HOPS_PER_S, 1)
        self.means: list[Samples] = []  # of hops, by channel: they hold the low frequencies
        self.energy = 0.0

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
        self.energy += float(np.square(block).sum())
        whole = block[: len(block) // self.hop * self.hop]
        self.means.append(whole.reshape(-1, self.hop, block.shape[1]).mean(axis=1))
        if block.shape[1] > 1:
            self.sums += block.sum(axis=0)
            self.products += block.T @ block

    @property
    def peak(self) -> float:
        return max((float(part.max()) for part in self.envelope), default=0.0)

    def low_share(self, below_hz: float) -> float:
        """The share of the energy that lies below a frequency, with the offset."""
        slow = np.concatenate(self.means)
        if not self.energy or not len(slow):
            return 0.0
        bins = int(below_hz * len(slow) * self.hop / self.rate_hz) + 1
        power = np.square(np.abs(np.fft.rfft(slow, axis=0)[:bins])).sum(axis=1) / len(slow) ** 2
        return float((2 * power.sum() - power[0]) * self.frames / self.energy)

    def silence_s(self) -> tuple[float, float]:
        """Before and after the sound; zeros for a clip that is silent: that is another warning."""
        threshold = self.peak * 10 ** (-SILENCE_BELOW_PEAK_DB / 20)
        loud = np.flatnonzero(np.concatenate(self.envelope) > threshold)
        if not len(loud):
            return 0.0, 0.0
        start, stop = int(loud[0]) * self.window, int(loud[-1] + 1) * self.window
        return start / self.rate_hz, max(self.frames - stop, 0) / self.rate_hz

    def channel_fault(self) -> str:
        """What is wrong with one of two channels; offsets from zero are left aside."""
        if len(self.sums) < 2:
            return ""
        means = self.sums / self.frames
        power = self.products / self.frames - np.outer(means, means)
        left, right = max(power[0, 0], 0.0), max(power[1, 1], 0.0)
        if not left and not right:
            return ""
        share = 10 ** (-DEAD_CHANNEL_DB / 10)
        if left < share * right or right < share * left:
            return "left" if left < right else "right"
        return "antiphase" if power[0, 1] < ANTIPHASE * sqrt(left * right) else ""
