"""Audiobox Aesthetics: production quality, with enjoyment, usefulness and complexity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from metrics.core.devices import kind
from metrics.core.metric import (
    WIDE_BAND_HZ,
    Accepts,
    Input,
    Metric,
    Output,
    ParameterError,
    Score,
    Sharing,
)
from metrics.core.precision import Precisions
from metrics.networks.predictors import chunks
from metrics.networks.predictors.audiobox import AXES, WINDOW_S, AudioboxNetwork

if TYPE_CHECKING:
    import torch

AT_ONCE_S = {"cpu": WINDOW_S, "cuda": 240.0}
SIMILAR = {"cpu": 1.0, "cuda": math.inf}  # all are filled up: on a processor nothing is gained


@dataclass(frozen=True)
class AudioboxParameters(chunks.ChunkRule):
    """The model, a folder or a hub's name; how long clips are cut, 10 s at most."""

    rest_s: float = 0.5
    model: str = "facebook/audiobox-aesthetics"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.chunk_s <= WINDOW_S:
            raise ParameterError(f"chunk_s is {self.chunk_s}; it must be in 1..{WINDOW_S:g}")


class Audiobox(Metric):
    """What a network predicts that people say of any sound, 1 to 10, in four respects."""

    key = "audiobox_pq"
    version = "1"
    description = "Audiobox Aesthetics: production quality (clear, faithful, without flaws)"
    title = "Audiobox PQ"
    source = "Tjandra et al. (2025), Meta Audiobox Aesthetics; facebook/audiobox-aesthetics"
    unit = "points"
    higher_is_better = True
    accepts = Accepts(WIDE_BAND_HZ, chunks.SHORTEST_S)
    more_outputs = (
        Output(
            "audiobox_ce",
            "Audiobox: content enjoyment",
            "points",
            higher_is_better=True,
            title="Audiobox CE",
        ),
        Output(
            "audiobox_cu",
            "Audiobox: content usefulness",
            "points",
            higher_is_better=True,
            title="Audiobox CU",
        ),
        Output(
            "audiobox_pc",
            "Audiobox: production complexity (how much goes on)",
            "points",
            title="Audiobox PC",
        ),
    )
    packages = ("torch", "transformers", "safetensors")
    sharing = Sharing(Input.WINDOWS, why="of 10 s, to which every chunk is filled up")
    precisions = Precisions(0.002, 0.02, 0.001, "small random weights")
    parameters_type = AudioboxParameters
    parameters: AudioboxParameters

    def load(self, device: str = "cpu") -> None:
        """Load the network of a folder, or of a hub, onto `device`."""
        super().load(device)
        self.network = AudioboxNetwork(self.parameters.model, device)
        self.weights = self.network.weights

    def compilable(self) -> Sequence[tuple[Any, str]]:
        """The network, whose input has one length."""
        return [(self.network, "wavlm")]

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One score per wave, (samples,) at 16 kHz; equally long chunks go through together."""
        window = round(WINDOW_S * self.sample_rate_hz)
        averages = chunks.averaged(
            waves,
            self.parameters,
            AT_ONCE_S[kind(self.device)],
            lambda batch: self.network.predict(batch, window),
            similar=SIMILAR[kind(self.device)],
        )
        return [each.undefined or self._named(each) for each in averages]

    def _named(self, average: chunks.Averaged) -> Score:
        assert average.values is not None
        named = {
            f"audiobox_{axis.lower()}": float(value)
            for axis, value in zip(AXES, average.values, strict=True)
        }
        return Score(named.pop(self.key), also=named, details=average.details)
