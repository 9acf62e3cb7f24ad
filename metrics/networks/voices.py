"""Windows of clips, and of each of their speakers, with the speaker embedding of each window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metrics.core import wave_memory
from metrics.core.lazy_torch import torch
from metrics.core.metric import (
    WIDE_BAND_HZ,
    Accepts,
    Input,
    Metric,
    Parameters,
    Sharing,
    check_bounds,
)
from metrics.core.published_models import PublishedModel
from metrics.networks.embeddings import embedding_type
from metrics.signal import speech

AT_ONCE = 64  # windows stacked at once


@dataclass(frozen=True)
class VoiceParameters(Parameters):
    """The embedding, the windows, and whether those without speech are left out."""

    embedding: str = "resemblyzer"
    model: str = ""  # of the embedding: a name or a folder; empty: its own
    window_s: float = 3.0
    hop_s: float = 2.0
    speech_only: bool = False
    max_non_speech: float = 0.6  # of a window, when speech_only

    def __post_init__(self) -> None:
        kind = embedding_type(self.embedding)
        kind(self.model)  # refuses a model that it cannot have
        check_bounds(self, "window_s", kind.shortest_s)
        check_bounds(self, "hop_s", 0.001)
        check_bounds(self, "max_non_speech", 0, 1)


@dataclass(frozen=True)
class VoiceWindows:
    """The windows of one wave that count, and their unit vectors [windows, dimensions]."""

    n_samples: int
    n_windows: int  # all full windows
    n_silent: int  # of them without any sound: they have no voice
    starts: list[int]  # in samples, of those that count
    vectors: NDArray[np.float64]

    def details(self, rate_hz: int) -> dict[str, Any]:
        """The counts and starts as they are stored with a score."""
        return {
            "n_windows": self.n_windows,
            "n_used": len(self.starts),
            "n_silent": self.n_silent,
            "window_starts_s": [start / rate_hz for start in self.starts],
        }


class Voices:
    """Embeds the windows of waves, all of them batched. Load it once."""

    def __init__(self, parameters: VoiceParameters) -> None:
        self.parameters = parameters
        self.embedding = embedding_type(parameters.embedding)(parameters.model)
        self.rate_hz = self.embedding.rate_hz
        self.size = round(parameters.window_s * self.rate_hz)
        self.hop = round(parameters.hop_s * self.rate_hz)
        self.weights: dict[str, str] = {}  # file name -> SHA-256, filled by load()

    @property
    def packages(self) -> tuple[str, ...]:
        """What the numbers come from."""
        detector = ("silero-vad",) if self.parameters.speech_only else ()
        return tuple(dict.fromkeys(("numpy", *self.embedding.packages, *detector)))

    def expected_cpu_s(self, clip_s: float) -> float | None:
        """CPU seconds for the windows of a clip, as `Metric.expected_cpu_s`."""
        overlap = self.parameters.window_s / self.parameters.hop_s
        cost = self.embedding.cpu_s_per_s
        return None if cost is None else cost * clip_s * overlap

    def load(self, device: str = "cpu") -> None:
        """Load the embedding, and the speech detector where windows without speech do not count."""
        self.embedding.load(device)
        self.weights = dict(self.embedding.weights)
        if self.parameters.speech_only:
            self.detector = speech.load_detector(device)
            self.weights |= speech.detector_weights()

    def windows(self, waves: Sequence[torch.Tensor]) -> list[VoiceWindows]:
        """The full windows of each wave, (samples,) at `rate_hz`; what is left is dropped."""
        starts = [list(speech.window_starts(len(wave), self.size, self.hop)) for wave in waves]
        sounding = [self._sounding(wave, own) for wave, own in zip(waves, starts, strict=True)]
        used = self._with_speech(waves, sounding)
        vectors = self._vectors(waves, used)
        return [
            VoiceWindows(len(wave), len(own), len(own) - len(heard), used_starts, own_vectors)
            for wave, own, heard, used_starts, own_vectors in zip(
                waves, starts, sounding, used, vectors, strict=True
            )
        ]

    def embed_whole(self, wave: torch.Tensor) -> NDArray[np.float64]:
        """The unit vector [dimensions] of a whole wave, (samples,) at `rate_hz`."""
        vector: NDArray[np.float64] = self.embedding.embed(wave[None])[0].cpu().numpy()
        return vector

    def _sounding(self, wave: torch.Tensor, starts: list[int]) -> list[int]:
        """The starts of the windows that are not digital silence."""
        if not starts:
            return []
        cut = wave.unfold(0, self.size, self.hop)
        sound: list[bool] = []
        for part in cut.split(AT_ONCE):  # type: ignore[no-untyped-call]
            sound += (part.amax(dim=1) > part.amin(dim=1)).tolist()
            wave_memory.release(wave)
        return [start for start, heard in zip(starts, sound, strict=True) if heard]

    def _with_speech(
        self, waves: Sequence[torch.Tensor], starts: Sequence[list[int]]
    ) -> list[list[int]]:
        if not self.parameters.speech_only or not waves:
            return list(starts)
        segments = speech.speech_segments([wave.float() for wave in waves], self.detector)
        most = self.parameters.max_non_speech
        return [
            [s for s in own if speech.non_speech_share(parts, s, s + self.size) <= most]
            for own, parts in zip(starts, segments, strict=True)
        ]

    def _vectors(
        self, waves: Sequence[torch.Tensor], starts: Sequence[list[int]]
    ) -> list[NDArray[np.float64]]:
        """The vectors of each wave's windows, computed side by side."""
        cut = [
            wave[start : start + self.size]
            for wave, own in zip(waves, starts, strict=True)
            for start in own
        ]
        if not cut:
            return [np.zeros((0, 0)) for _ in waves]
        parts = []
        for first in range(0, len(cut), AT_ONCE):
            batch = torch.stack(cut[first : first + AT_ONCE])
            parts.append(self.embedding.embed(batch).cpu().numpy())
            for wave in waves:
                wave_memory.release(wave)
        ends = np.cumsum([len(own) for own in starts])
        return np.split(np.concatenate(parts), ends[:-1])


class VoiceMetric(Metric):
    """A metric of the voices in a clip's windows; a subclass sets ``voices`` when it is made."""

    accepts = Accepts(WIDE_BAND_HZ)
    sharing = Sharing(Input.WINDOWS)
    voices: Voices

    def models(self) -> Sequence[PublishedModel]:
        """Those of the embedding."""
        return self.voices.embedding.models()

    def expected_cpu_s(self, clip_s: float) -> float | None:
        """CPU seconds of the clip's windows; unless measured, those of the embedding."""
        measured = super().expected_cpu_s(clip_s)
        return self.voices.expected_cpu_s(clip_s) if measured is None else measured

    def load(self, device: str = "cpu") -> None:
        """Load the embedding, and what finds speech where it is asked for."""
        super().load(device)
        self.voices.load(device)
        self.weights = dict(self.voices.weights)


def mean_similarities(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each unit vector, [windows, dimensions], the mean cosine with all others: [windows].

    Their mean is the mean over all distinct pairs. Computed from the sum of the vectors, without
    the table of pairs; two vectors or more.
    """
    own = np.square(vectors).sum(axis=1)
    similarities: NDArray[np.float64] = (vectors @ vectors.sum(axis=0) - own) / (len(vectors) - 1)
    return similarities
