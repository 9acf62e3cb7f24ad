"""How unsteady a voice is from period to period: jitter, shimmer, harmonics over noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from metrics.core.lazy_torch import torch
from metrics.core.metric import Input, Metric, Output, Score, Sharing, undefined
from metrics.networks.predictors.chunks import unfit
from metrics.signal import periodicity
from metrics.suite.f0 import F0Parameters

SHORTEST_S = 0.2
LEAST = 20  # periods
PERCENT = 100.0


@dataclass(frozen=True)
class JitterParameters(F0Parameters):
    """Where F0 is looked for, in Hz."""

    low_hz: float = 75.0
    least_hz: ClassVar[int] = 40


class Jitter(Metric):
    """Jitter and shimmer (local) in per cent, and the harmonics-to-noise ratio in dB."""

    key = "jitter"
    version = "1"
    cpu_s_per_s = 0.04
    description = "Jitter (local): how much neighbouring periods of the voice differ in length"
    title = "Jitter"
    source = "Boersma (1993) and the definitions of Praat's manual; no code of Praat"
    unit = "%"
    low = 0.0
    more_outputs = (
        Output(
            "shimmer",
            "Shimmer (local): how much they differ in amplitude",
            "%",
            0.0,
            title="Shimmer",
        ),
        Output(
            "hnr_db",
            "Harmonics-to-noise ratio of periodic frames (autocorrelation)",
            "dB",
            title="Harmonics-to-noise ratio",
        ),
    )
    packages = ("numpy",)
    sharing = Sharing(Input.ALONE, 0.0, "no network")
    parameters_type = JitterParameters
    parameters: JitterParameters

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One score per wave, (samples,) at 16 kHz."""
        return [unfit(wave, SHORTEST_S) or self._score(wave) for wave in waves]

    def _score(self, wave: torch.Tensor) -> Score:
        samples, rate_hz = wave.double().cpu().numpy(), self.sample_rate_hz
        parameters = self.parameters
        f0, times = periodicity.pitch_of(samples, rate_hz, parameters.low_hz, parameters.high_hz)
        marks = periodicity.marks_of(samples, rate_hz, periodicity.Pitch(f0, times))
        details = {"periods": len(marks)}
        if len(marks) < LEAST:
            return undefined(f"too little voice: {len(marks)} periods of {LEAST}", **details)
        ratios = periodicity.harmonicity_db(samples, rate_hz, parameters.low_hz)
        also = {
            "shimmer": PERCENT * periodicity.shimmer(samples, rate_hz, marks),
            "hnr_db": float(ratios.mean()) if len(ratios) else None,
        }
        return Score(PERCENT * periodicity.jitter(marks), "", details, also=also)
