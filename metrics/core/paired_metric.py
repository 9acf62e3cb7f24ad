"""Metrics that compare a clip with a recording of the same words, and how the two are aligned."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.core import decoding, input_warnings
from metrics.core.lazy_torch import torch
from metrics.core.metric import (
    REFERENCE_AUDIO,
    Input,
    Material,
    Metric,
    ParameterError,
    Parameters,
    Score,
    Sharing,
    Take,
    undefined,
)
from metrics.core.silence import silence

Wave = NDArray[np.float64]
ALIGNMENTS = ("none", "lag")
MOST_LAG_S = 0.5
PAIRS = 32  # of waves that are held at once


@dataclass(frozen=True)
class AlignedParameters(Parameters):
    """`align`: "none", sample by sample as published; "lag", shifted by the best lag first."""

    align: str = "none"

    def __post_init__(self) -> None:
        if self.align not in ALIGNMENTS:
            raise ParameterError(f"align is {self.align!r}; choose {' or '.join(ALIGNMENTS)}")


ITSELF = "the clip is the reference audio itself"


class PairedMetric(Metric):
    """A metric of a clip beside ``reference_audio``; a subclass says how the two compare."""

    sharing = Sharing(Input.ALONE, 0.0, "pair by pair")
    needs = ("reference_audio_path",)
    shortest_s = 0.1

    def compare_all(self, pairs: Sequence[tuple[Wave, Wave]]) -> list[Score]:
        """The score of each pair; overridden by what computes them side by side."""
        return [self.compare(wave, reference) for wave, reference in pairs]

    @abstractmethod
    def compare(self, wave: Wave, reference: Wave) -> Score:
        """The score of a clip, (samples,), beside its reference, (samples,), both at the rate.

        Neither is silent or shorter than `shortest_s`; their lengths may differ.
        """

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One score per take; the reason where there is no reference or nothing to compare."""
        scores: list[Score] = []
        for first in range(0, len(takes), PAIRS):  # their waves are held in double precision
            heard = [self._pair(take) for take in takes[first : first + PAIRS]]
            pairs = [pair for pair, _ in heard if not isinstance(pair, Score)]
            compared = iter(self.compare_all(pairs))
            scores += [
                input_warnings.with_reference_warnings(
                    pair if isinstance(pair, Score) else next(compared), odd
                )
                for pair, odd in heard
            ]
        return scores

    def _pair(self, take: Take) -> tuple[tuple[Wave, Wave] | Score, dict[str, str]]:
        """A clip and its reference, or why they do not compare; and what is odd of the latter."""
        decoded = self._reference(take.material)
        if isinstance(decoded, Score):
            return decoded, {}
        reference = decoded.waves[self.sample_rate_hz].astype(np.float64)
        odd = input_warnings.reference_warning(decoded.facts, self.accepts)
        return self._fitting(take, reference, odd), odd

    def _fitting(
        self, take: Take, reference: Wave, odd: dict[str, str]
    ) -> tuple[Wave, Wave] | Score:
        """Both waves, or which of them is too short, or that the reference is silent."""
        wave = take.wave.detach().double().cpu().numpy()
        for name, samples in (("the clip", wave), ("the reference audio", reference)):
            length_s = len(samples) / self.sample_rate_hz
            if length_s < self.shortest_s:
                return undefined(f"{name} is too short: {length_s:.2f} s of {self.shortest_s} s")
        if silent := silence(torch.from_numpy(reference), self.sample_rate_hz):
            why = f" ({odd['odd_reference']})" if odd else ""
            return undefined(f"the reference audio is {silent}{why}")
        return wave, reference

    def _reference(self, material: Material) -> decoding.DecodedFile | Score:
        """The reference recording, or why there is none; one that changed is a failure."""
        path = material.reference_audio_path
        if material.is_reference_audio:
            return undefined(ITSELF)
        if not path:
            named = material.attribute(REFERENCE_AUDIO)
            if named:
                return undefined(f"reference_audio {named!r} is no stimulus or file of the study")
            return undefined("no reference audio")
        try:
            if material.reference_audio_sha256:
                decoding.check_unchanged(path, material.reference_audio_sha256)
            decoded = decoding.decode(path, (self.sample_rate_hz,))
        except decoding.AudioError as error:
            return Score(None, f"the reference audio cannot be read: {error}", failed=True)
        if decoded.facts.not_finite:
            return undefined("the reference audio holds NaN or infinity")
        return decoded


def align_waves(wave: Wave, reference: Wave, rate_hz: int, align: str) -> tuple[Wave, Wave, Lag]:
    """Both cut to equal length, (samples,) each, and how far they were apart.

    "none": from their first samples on. "lag": the later one loses its start, by the lag in
    +-0.5 s at which they correlate most. What one has beyond the other's end is left out.
    """
    lag = best_lag(wave, reference, round(MOST_LAG_S * rate_hz))
    measured_lag = Lag(lag / rate_hz, (len(wave) - len(reference)) / rate_hz)
    if align == "lag":
        wave, reference = wave[max(0, lag) :], reference[max(0, -lag) :]
    samples = min(len(wave), len(reference))
    return wave[:samples], reference[:samples], measured_lag


@dataclass(frozen=True)
class Lag:
    """How far a clip starts after its reference, and how much longer it is, in seconds."""

    lag_s: float
    longer_s: float

    def details(self) -> dict[str, Any]:
        """As stored beside a score."""
        return {"lag_s": round(self.lag_s, 6), "longer_s": round(self.longer_s, 6)}


def best_lag(wave: Wave, reference: Wave, most: int) -> int:
    """By how many samples the clip is late, in -most..most: the largest |cross-correlation|.

    Of equal ones the smallest lag. ``most`` is cut to the shorter length.
    """
    most = min(most, len(wave) - 1, len(reference) - 1)
    size = 1 << math.ceil(math.log2(len(wave) + len(reference)))
    spectrum = np.fft.rfft(wave, size) * np.fft.rfft(reference, size).conj()
    correlation = np.abs(np.fft.irfft(spectrum, size))
    lags = np.arange(-most, most + 1)
    values = correlation[lags]
    ties = lags[values >= values.max() * (1 - 1e-12)]
    return int(ties[np.argmin(np.abs(ties))])
