"""How alike a clip's voice is to a reference voice: mean cosine of its windows with a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from metrics.core import decoding, input_warnings
from metrics.core.lazy_torch import torch
from metrics.core.metric import Material, Score, Take, check_bounds, undefined
from metrics.core.precision import RECURRENT, Precisions
from metrics.core.silence import silence
from metrics.networks.voices import VoiceMetric, VoiceParameters, Voices, VoiceWindows
from metrics.signal import turns

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEPT = 1024  # vectors of reference voices held in memory


@dataclass(frozen=True)
class TimbreSimilarityParameters(VoiceParameters):
    """The windows and their embedding; and how much of a long reference recording is taken."""

    reference_s: float = 60.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bounds(self, "reference_s", 1)


class TimbreSimilarity(VoiceMetric):
    """Mean over the windows of the cosine with the embedding of the whole reference recording."""

    key = "timbre_similarity"
    version = "1"
    description = "Mean cosine of the speaker embeddings of 3 s windows with a reference voice"
    title = "Timbre similarity"
    source = "LFS-Bench: timbre similarity; the embedding is a parameter (resemblyzer 0.1.4)"
    low = -1.0
    high = 1.0
    higher_is_better = True
    precisions = Precisions(0.002, 0.02, None, "Resemblyzer's weights", RECURRENT)
    needs = ("reference_path", "turns")
    parameters_type = TimbreSimilarityParameters
    parameters: TimbreSimilarityParameters

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        self.voices = Voices(self.parameters)
        self.packages = (*self.voices.packages, "soundfile")
        self._references: dict[str, NDArray[np.float64] | Score] = {}
        self._odd: dict[str, dict[str, str]] = {}  # warnings about the same recordings

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One value per take with a reference; the windows of all takes are batched."""
        references = [self.reference(take.material) for take in takes]
        waves = [
            take.wave
            for take, reference in zip(takes, references, strict=True)
            if not isinstance(reference, Score)
        ]
        windows = iter(self.voices.windows(waves))
        scores = [
            reference if isinstance(reference, Score) else self.summary(next(windows), reference)
            for reference in references
        ]
        return self.beside_odd_voices(scores, takes)

    def beside_odd_voices(self, scores: Sequence[Score], takes: Sequence[Take]) -> list[Score]:
        """The scores with what is odd about the recordings of their reference voices."""
        return [
            input_warnings.with_reference_warnings(score, self._odd.get(_name(take.material), {}))
            for score, take in zip(scores, takes, strict=True)
        ]

    def reference(self, material: Material) -> NDArray[np.float64] | Score:
        """The vector of the clip's reference voice, or the score that says why there is none.

        A file that cannot be read, or has changed, is a failure: it is tried again.
        """
        if not material.reference_path:
            return undefined("no reference voice")
        if len(turns.speakers_of(material.turns)) > 1:
            return undefined("several speakers, one reference voice")
        name = _name(material)
        if name not in self._references:
            if len(self._references) >= KEPT:
                self._references.clear()
                self._odd.clear()
            try:
                self._references[name] = self._embed_reference(material)
            except decoding.AudioError as error:
                reason = f"the reference voice cannot be read: {error}"
                return Score(None, reason, failed=True)
        return self._references[name]

    def _embed_reference(self, material: Material) -> NDArray[np.float64] | Score:
        if material.reference_sha256:
            decoding.check_unchanged(material.reference_path, material.reference_sha256)
        decoded = decoding.decode(material.reference_path, (self.sample_rate_hz,))
        self._odd[_name(material)] = input_warnings.reference_warning(decoded.facts, self.accepts)
        wave = decoded.waves[self.sample_rate_hz]
        taken = torch.from_numpy(wave[: round(self.parameters.reference_s * self.sample_rate_hz)])
        if len(taken) < self.voices.embedding.shortest_s * self.sample_rate_hz:
            return undefined("the reference voice is too short")
        if not bool(torch.isfinite(taken).all()):
            return undefined("the reference voice holds NaN or infinity")
        if why := silence(taken, self.sample_rate_hz):
            return undefined(f"the reference voice is {why}")
        return self.voices.embed_whole(taken.to(self.device))

    def summary(self, windows: VoiceWindows, reference: NDArray[np.float64]) -> Score:
        """The mean over the windows, with each window's cosine beside it."""
        details = windows.details(self.sample_rate_hz)
        if not windows.n_windows:
            length_s = windows.n_samples / self.sample_rate_hz
            needed_s = self.parameters.window_s
            return undefined(f"too short: {length_s:.2f} s, a window needs {needed_s} s", **details)
        if windows.n_windows == windows.n_silent:
            return undefined("silent", **details)
        if not windows.starts:
            return undefined(f"too little speech: 0 of {windows.n_windows} windows", **details)
        similarities = windows.vectors @ reference
        details["window_similarities"] = similarities.tolist()
        return Score(float(similarities.mean()), "", details)


def _name(material: Material) -> str:
    return material.reference_sha256 or material.reference_path
