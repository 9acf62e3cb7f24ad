"""How much SRMR changes within a clip: its standard deviation over windows (LFS-Bench)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics.core import wave_memory
from metrics.core.lazy_torch import torch
from metrics.core.metric import Input, Score, Sharing, check_bounds, undefined
from metrics.core.precision import Precisions
from metrics.signal import speech, srmr
from metrics.suite.srmr import SrmrParameters

AT_ONCE = 64  # windows; blocks inside `modulation` keep the memory small


@dataclass(frozen=True)
class ReverbConsistencyParameters(SrmrParameters):
    """The SRMR variant, the windows, and how much of a window may be without speech."""

    window_s: float = 3.0
    hop_s: float = 2.0
    max_non_speech: float = 0.6

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bounds(self, "window_s", math.ceil(srmr.shortest(self.variant) / 16) / 1000)
        check_bounds(self, "hop_s", 0.001)
        check_bounds(self, "max_non_speech", 0, 1)


class ReverbConsistency(speech.SpeechMetric):
    """Standard deviation (ddof 0) of SRMR over the windows with speech; lower is steadier."""

    key = "reverb_consistency"
    version = "1"
    cpu_s_per_s = 0.013
    description = "Standard deviation of SRMR over 3 s windows every 2 s; lower is steadier"
    title = "Reverb consistency"
    source = "LFS-Bench: reverb consistency; SRMR of Falk et al. (2010); silero-vad for speech"
    low = 0.0
    higher_is_better = False
    sharing = Sharing(Input.WINDOWS)
    precisions = Precisions(why="its parameter precision says float32 or float64")
    packages: tuple[str, ...] = ("torch", "numpy", "scipy", "soundfile", "silero-vad")
    parameters_type = ReverbConsistencyParameters
    parameters: ReverbConsistencyParameters

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One deviation per wave, (samples,) at 16 kHz; the windows of all waves are batched."""
        segments = speech.speech_segments([wave.float() for wave in waves], self.detector)
        starts_by_wave = [
            self.windows(len(wave), part) for wave, part in zip(waves, segments, strict=True)
        ]
        size = self.samples(self.parameters.window_s)
        cut = [
            wave[start : start + size]
            for wave, starts in zip(waves, starts_by_wave, strict=True)
            for start in starts
        ]
        values = self.window_values(cut)
        return [
            self.summary(len(wave), starts, [next(values) for _ in starts])
            for wave, starts in zip(waves, starts_by_wave, strict=True)
        ]

    def samples(self, seconds: float) -> int:
        """A duration in samples."""
        return round(seconds * self.sample_rate_hz)

    def windows(self, n_samples: int, segments: speech.Segments) -> list[int]:
        """Starts of the full windows that hold enough speech, in samples."""
        size, hop = self.samples(self.parameters.window_s), self.samples(self.parameters.hop_s)
        return [
            start
            for start in speech.window_starts(n_samples, size, hop)
            if speech.non_speech_share(segments, start, start + size)
            <= self.parameters.max_non_speech
        ]

    def window_values(self, cut: list[torch.Tensor]) -> Iterator[float | None]:
        """SRMR of each window, in order."""
        variant, precision = self.parameters.variant, self.parameters.precision
        for first in range(0, len(cut), AT_ONCE):
            batch = torch.stack(cut[first : first + AT_ONCE])
            wave_memory.release(cut[first])
            yield from (result.value for result in srmr.srmr(batch, variant, precision))

    def summary(self, n_samples: int, starts: list[int], values: list[float | None]) -> Score:
        """The score of one clip from the SRMR of its windows with speech."""
        size, hop = self.samples(self.parameters.window_s), self.samples(self.parameters.hop_s)
        n_windows = len(speech.window_starts(n_samples, size, hop))
        usable = np.array([value for value in values if value is not None])
        details: dict[str, Any] = {
            "n_windows": n_windows,
            "n_valid": len(usable),
            "window_starts_s": [start / self.sample_rate_hz for start in starts],
            "window_srmr": values,
        }
        if n_windows < 2:
            needed = self.parameters.window_s + self.parameters.hop_s
            length_s = n_samples / self.sample_rate_hz
            return undefined(f"too short: {length_s:.2f} s, two windows need {needed} s", **details)
        if len(usable) < 2:
            return undefined(
                f"too little speech: {len(usable)} of {n_windows} windows can be used", **details
            )
        details |= {"mean": float(usable.mean()), "sd_ddof1": float(usable.std(ddof=1))}
        return Score(float(usable.std()), "", details)
