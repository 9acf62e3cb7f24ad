"""What an audio file is, measured while it is decoded: its form, levels, offset and bandwidth."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from listening.common.loudness import LEAST_RATE_HZ, LoudnessMeter
from listening.common.sound_files import LengthReport
from metrics.core import wave_memory
from metrics.core.lazy_torch import torch
from metrics.core.silence import FRAME_S as LEVEL_FRAME_S
from metrics.core.silence import SILENT_DBFS

Samples = NDArray[np.float32]

FRAME_S = 0.064  # the longest stretch of which a spectrum is taken
BAND_HZ = 250.0
EDGE_DB = 60.0  # sound ends where a band stays so far below the strongest one
RARE = 0.04  # of the frames: a band is as strong as it is in so many, which a click is not
FULL_SCALE = 1 - 2.0**-14  # from here on a sample stands at full scale, in 16 bits and more


@dataclass(frozen=True)
class AudioFacts:
    """One audio file; levels are of the file's own channels and rate, full scale is 1."""

    container: str  # WAV, FLAC, MP4 …
    coding: str  # PCM_16, FLOAT, VORBIS, AAC …
    rate_hz: int
    channels: int
    bits: int | None  # of a sample; None: of no fixed number, as in MP3
    duration_s: float  # of the sound that is there
    header_s: float | None  # as the file states; None: it does not
    peak: float  # the largest magnitude; over 1 only in floating point
    clipped: float  # share of samples that stand side by side at full scale
    dc: float  # mean of the channel in which it is farthest from 0
    bandwidth_hz: float | None  # where the sound ends, in steps of 250 Hz; None: silent
    cancelled_db: float | None  # how far the channels' mean lies below them; None: one channel
    not_finite: int = 0  # samples that are NaN or infinite
    missing: str = ""  # a sentence, where the file has lost sound
    length_note: str = ""  # a sentence, where programs that trust its header read another length
    # ITU-R BS.1770-4; None: below its gate of -70 LUFS, the rate is too low, or nobody asked
    loudness_lufs: float | None = None
    rms_dbfs: float | None = None  # root mean square of all channels' samples; None: all are 0
    level_sd_db: float | None = None  # of the power of 25 ms frames within 50 dB of the loudest
    silent_channels: tuple[int, ...] = ()  # without sound (`metrics.core.silence`), counted from 1

    def plain(self) -> dict[str, Any]:
        """As stored: plain JSON values, rounded to what they are worth."""
        values = dataclasses.asdict(self)
        for name, value in values.items():
            if isinstance(value, float):
                values[name] = float(f"{value:.6g}") if math.isfinite(value) else None
            elif isinstance(value, tuple):
                values[name] = list(value)
        return values


def facts_of_wave(wave: torch.Tensor, rate_hz: int) -> AudioFacts:
    """Return the facts of the file that a wave is of; of the wave, (samples,), where none is known.

    The runner keeps a file's facts with its waves (`remember_facts`), since channels and rate are
    measured there: a wave is their mean, resampled.
    """

    def measured() -> AudioFacts:
        meter = Meter(rate_hz, 1, loudness=True)
        for part in wave_memory.parts_of(wave):
            samples = part.detach().cpu().float().numpy()
            meter.add(samples[:, None], samples)
        return meter.facts("wave", "FLOAT", 32, rate_hz, None)

    facts: AudioFacts = wave_memory.compute_once(wave, "audio facts", measured)
    return facts


def remember_facts(wave: torch.Tensor, facts: AudioFacts) -> None:
    """Keep the facts of a file with its wave, as long as the wave lives."""
    wave_memory.compute_once(wave, "audio facts", lambda: facts)


class Meter:
    """Measures a file's blocks as they come.

    ``loudness``: by BS.1770 as well, which takes longer than all the rest and needs SciPy.
    """

    def __init__(self, rate_hz: int, channels: int, loudness: bool = False) -> None:
        self.channels = channels
        self.frames = self.not_finite = self._clipped = 0
        self._peak = 0.0
        self._sums = np.zeros(channels)
        self._squares = self._mono_squares = 0.0
        self._spectrum = Spectrum(rate_hz)
        self._loudness = (
            LoudnessMeter(rate_hz, channels) if loudness and rate_hz >= LEAST_RATE_HZ else None
        )
        self._frames = Frames(rate_hz, channels)

    def add(self, block: Samples, mono: Samples) -> None:
        """One block, (frames, channels), and its channels' mean, (frames,)."""
        self.frames += len(block)
        magnitude = np.abs(block)
        peak = float(magnitude.max(initial=0.0))
        if not math.isfinite(peak):
            good = np.isfinite(block)
            self.not_finite += int(block.size - good.sum())
            block, mono = np.where(good, block, 0), np.where(np.isfinite(mono), mono, 0)
            magnitude = np.abs(block)
            peak = float(magnitude.max(initial=0.0))
        self._peak = max(self._peak, peak)
        if peak >= FULL_SCALE:
            full = (magnitude >= FULL_SCALE) & (magnitude <= 1)
            self._clipped += int((full[1:] & full[:-1] & (block[1:] * block[:-1] > 0)).sum())
        self._sums += np.einsum("ij->j", block, dtype=np.float64)
        self._squares += float(np.einsum("ij,ij->", block, block, dtype=np.float64))
        if self.channels > 1:
            self._mono_squares += float(np.einsum("i,i->", mono, mono, dtype=np.float64))
        self._spectrum.add(mono)
        if self._loudness:
            self._loudness.add(block)
        self._frames.add(block)

    def facts(
        self,
        container: str,
        coding: str,
        bits: int | None,
        rate_hz: int,
        lengths: LengthReport | None,
    ) -> AudioFacts:
        """Return all that was measured, with what a file says of its length; None: of no file."""
        means = self._sums / max(1, self.frames)
        return AudioFacts(
            container=container,
            coding=coding,
            rate_hz=rate_hz,
            channels=self.channels,
            bits=bits,
            duration_s=self.frames / rate_hz,
            header_s=lengths.stated_s if lengths else None,
            peak=self._peak,
            clipped=self._clipped / max(1, self.frames * self.channels),
            dc=float(means[np.abs(means).argmax()]),
            bandwidth_hz=self._spectrum.edge_hz(),
            cancelled_db=self._cancelled_db(),
            not_finite=self.not_finite,
            missing=lengths.missing if lengths else "",
            length_note=lengths.note if lengths else "",
            loudness_lufs=self._loudness.integrated_lufs() if self._loudness else None,
            rms_dbfs=decibels(self._squares / max(1, self.frames * self.channels)),
            level_sd_db=self._frames.level_sd_db(),
            silent_channels=self._frames.silent_channels(),
        )

    def _cancelled_db(self) -> float | None:
        if self.channels == 1 or not self._squares:
            return None
        left = self._mono_squares / (self._squares / self.channels)
        return -10 * math.log10(max(left, 1e-20))


def decibels(power: float) -> float | None:
    """Return a power in dB relative to 1; None for none."""
    return 10 * math.log10(power) if power > 0 else None


class Frames:
    """Power of each 25 ms over all channels, and each channel's loudest; an offset counts not."""

    def __init__(self, rate_hz: int, channels: int) -> None:
        self._size = max(1, round(LEVEL_FRAME_S * rate_hz))
        self._rest = np.zeros((0, channels), np.float32)
        self._powers: list[NDArray[np.float64]] = []
        self._loudest = np.zeros(channels)

    def add(self, block: Samples) -> None:
        """More samples, (frames, channels)."""
        joined = np.concatenate([self._rest, block]) if len(self._rest) else block
        used = len(joined) // self._size * self._size
        self._rest = joined[used:].copy()
        if used:
            self._measure(joined[:used].reshape(-1, self._size, joined.shape[1]))

    def _measure(self, cut: Samples) -> None:
        """Frames, (frames, samples, channels)."""
        means = np.einsum("fsc->fc", cut) / cut.shape[1]
        moving = cut - means[:, None]
        variances = np.einsum("fsc,fsc->fc", moving, moving) / cut.shape[1]
        powers = (variances + np.square(means)).mean(axis=1, dtype=np.float64)
        self._powers.append(powers)
        self._loudest = np.maximum(self._loudest, variances.max(axis=0))

    def level_sd_db(self) -> float | None:
        """Deviation (ddof 0) in dB of the power of frames within 50 dB of the loudest one."""
        powers = np.concatenate([np.zeros(0), *self._powers])
        loud = powers[powers > powers.max(initial=0.0) * 1e-5]
        return float(np.std(10 * np.log10(loud))) if len(loud) else None

    def silent_channels(self) -> tuple[int, ...]:
        """Return which channels hold no sound, counted from 1."""
        if len(self._rest):
            self._measure(self._rest[None])
            self._powers.pop()  # what is shorter than a frame counts as sound, not as a level
            self._rest = self._rest[:0]
        silent = self._loudest < 10 ** (SILENT_DBFS / 10)
        return tuple(int(channel) + 1 for channel in np.flatnonzero(silent))


class Spectrum:
    """How strong each band of 250 Hz is in the few frames in which it is strongest."""

    def __init__(self, rate_hz: int) -> None:
        self._size = max(32, 1 << int(math.log2(rate_hz * FRAME_S)))
        bin_hz = rate_hz / self._size
        self._nyquist_hz = rate_hz / 2
        per_band = max(1, round(BAND_HZ / bin_hz))
        self._band_hz = per_band * bin_hz
        self._starts = np.arange(0, self._size // 2 + 1, per_band)
        self._window = np.hanning(self._size).astype(np.float32)
        self._rest = np.zeros(0, np.float32)
        self._strongest = np.zeros(len(self._starts))
        self._any = False

    def add(self, mono: Samples) -> None:
        """More samples of one channel."""
        joined = np.concatenate([self._rest, mono]) if len(self._rest) else mono
        count = len(joined) // self._size
        used = count * self._size
        self._rest = joined[used:].copy()
        if count:
            self._measure(joined[:used].reshape(count, self._size))

    def _measure(self, frames: Samples) -> None:
        bins = np.fft.rfft(frames * self._window)
        power = np.square(bins.real, dtype=float) + np.square(bins.imag, dtype=float)
        bands = np.add.reduceat(power, self._starts, axis=1)
        rank = len(bands) - 1 - int(RARE * len(bands))
        self._strongest = np.maximum(self._strongest, np.partition(bands, rank, axis=0)[rank])
        self._any = True

    def edge_hz(self) -> float | None:
        """The upper edge of the highest band within `EDGE_DB` of the strongest.

        None of silence, and of samples so large that their power overflows.
        """
        if not self._any and len(self._rest):
            self._measure(np.pad(self._rest, (0, self._size - len(self._rest)))[None])
        # an offset is no sound: the first band tells of it, so that it is left out
        strongest = self._strongest[1:] if len(self._strongest) > 2 else self._strongest
        first = len(self._strongest) - len(strongest)
        if not strongest.any() or not np.isfinite(strongest).all():
            return None
        heard = np.flatnonzero(strongest > strongest.max() * 10 ** (-EDGE_DB / 10))
        return float(min(self._nyquist_hz, (first + heard[-1] + 1) * self._band_hz))
