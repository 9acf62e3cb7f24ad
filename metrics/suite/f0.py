"""How high a voice is and how it moves: F0 over the voiced frames of a clip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metrics.core.lazy_torch import torch
from metrics.core.metric import (
    Input,
    Metric,
    Output,
    ParameterError,
    Parameters,
    Score,
    Sharing,
    undefined,
)
from metrics.networks.predictors.chunks import unfit
from metrics.signal.world import FRAME_S, f0_of

SHORTEST_S = 0.2
LEAST_FRAMES = 20  # 0.1 s of voice
SEMITONES = 12.0


@dataclass(frozen=True)
class F0Parameters(Parameters):
    """Where F0 is looked for, in Hz."""

    low_hz: float = 60.0
    high_hz: float = 600.0
    least_hz: ClassVar[int] = 20  # that ``low_hz`` may be

    def __post_init__(self) -> None:
        for name in ("low_hz", "high_hz"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if not self.least_hz <= self.low_hz < self.high_hz <= 2000:
            bounds = f"in {self.least_hz}..2000, the first one lower"
            raise ParameterError(f"low_hz and high_hz must be {bounds}")


class F0(Metric):
    """Median F0 in Hz, its spread and range in semitones, its change, and how much is voiced."""

    key = "f0_median_hz"
    version = "1"
    cpu_s_per_s = 0.2
    description = "Median F0 of the voiced frames"
    title = "Median F0"
    source = "Morise (2017), Harvest with StoneMask (pyworld), frames of 5 ms"
    unit = "Hz"
    low = 0.0
    more_outputs = (
        Output(
            "f0_sd_semitones",
            "Deviation of F0 over voiced frames",
            "semitones",
            0.0,
            title="Deviation of F0",
        ),
        Output(
            "f0_range_semitones",
            "From the 5th to the 95th percentile of F0",
            "semitones",
            0.0,
            title="Range of F0",
        ),
        Output(
            "f0_change",
            "Median speed of F0 within voiced stretches",
            "semitones/s",
            0.0,
            title="Speed of F0",
        ),
        Output(
            "voiced_share", "Share of frames that are voiced", "", 0.0, 1.0, title="Voiced share"
        ),
    )
    sharing = Sharing(Input.ALONE, 0.0, "no network")
    packages = ("pyworld-prebuilt", "numpy")
    parameters_type = F0Parameters
    parameters: F0Parameters

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One score per wave, (samples,) at 16 kHz."""
        return [unfit(wave, SHORTEST_S) or self._score(wave) for wave in waves]

    def _score(self, wave: torch.Tensor) -> Score:
        samples = wave.double().cpu().numpy()
        parameters = self.parameters
        f0, _ = f0_of(samples, self.sample_rate_hz, parameters.low_hz, parameters.high_hz)
        voiced = f0 > 0
        if voiced.sum() < LEAST_FRAMES:
            return undefined("too little voice: under 0.1 s", voiced_share=float(voiced.mean()))
        tones = np.full(len(f0), np.nan)
        tones[voiced] = SEMITONES * np.log2(f0[voiced])
        steps = np.abs(np.diff(tones))
        steps = steps[np.isfinite(steps)]
        low, high = np.percentile(tones[voiced], [5, 95])
        also = {
            "f0_sd_semitones": float(tones[voiced].std()),
            "f0_range_semitones": float(high - low),
            "f0_change": float(np.median(steps)) / FRAME_S if len(steps) else None,
            "voiced_share": float(voiced.mean()),
        }
        return Score(float(np.median(f0[voiced])), also=also)
