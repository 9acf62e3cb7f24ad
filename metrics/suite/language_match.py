"""Whether a clip is spoken in the language that it should be in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import Input, Metric, Parameters, Score, Sharing, Take, undefined
from metrics.core.precision import Precisions
from metrics.core.published_models import PublishedModel
from metrics.networks.predictors.chunks import unfit
from metrics.networks.recognisers.faster_whisper import published
from metrics.networks.recognisers.recogniser import whisper_code

SHORTEST_S = 0.5


@dataclass(frozen=True)
class LanguageMatchParameters(Parameters):
    """The Whisper model, one of several languages: a name, a hub's name or a folder."""

    model: str = "large-v3"


class LanguageMatch(Metric):
    """Whisper's probability of the language stated, from the first 30 s of the clip."""

    key = "language_match"
    version = "1"
    description = "Probability of the stated language among those that Whisper tells apart"
    title = "Language match"
    source = "Radford et al. (2023), Whisper; faster-whisper's detect_language"
    low = 0.0
    high = 1.0
    higher_is_better = True
    sharing = Sharing(Input.ALONE, 0.0, "the package asks about one clip at a time")
    precisions = Precisions(why="faster-whisper computes in float32")
    needs = ("language",)
    packages = ("faster-whisper", "ctranslate2")
    parameters_type = LanguageMatchParameters
    parameters: LanguageMatchParameters
    network: Any = None

    def models(self) -> list[PublishedModel]:
        """The folder of the network."""
        return [published(self.parameters.model)]

    def load(self, device: str = "cpu") -> None:
        """Load the network; a model of one language cannot tell it from others."""
        super().load(device)
        weights.need_package("faster_whisper", "faster-whisper")
        import faster_whisper

        folder = weights.locate(*self.models())
        self.weights = weights.model_hashes(folder, ["model.bin"])
        kind, _, number = device.partition(":")
        self.network = faster_whisper.WhisperModel(
            str(folder),
            device=kind,
            device_index=int(number or 0),
            compute_type="float32",
            cpu_threads=torch.get_num_threads(),
        )
        if not self.network.model.is_multilingual:
            raise weights.Unavailable(f"{self.parameters.model} knows one language only")

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One probability per take that has a language."""
        return [unfit(take.wave, SHORTEST_S) or self._score(take) for take in takes]

    def _score(self, take: Take) -> Score:
        if not take.material.language:
            return undefined("no language")
        wanted = whisper_code(take.material.language)
        wave = take.wave[: 30 * self.sample_rate_hz].float().cpu().numpy().astype(np.float32)
        heard, probability, everything = self.network.detect_language(wave)
        probabilities = dict(everything)
        details = {"heard": heard, "heard_probability": float(probability)}
        if wanted not in probabilities:
            return undefined(f"Whisper does not tell {wanted} from others", **details)
        return Score(float(probabilities[wanted]), "", details)
