"""Whether a clip sounds like the emotion that was asked for, by emotion2vec's nine classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metrics.core import weights
from metrics.core.metric import (
    WIDE_BAND_HZ,
    Accepts,
    Input,
    Metric,
    Score,
    Sharing,
    Take,
    undefined,
)
from metrics.networks.predictors import chunks
from metrics.networks.predictors.emotion2vec import Emotion2vecNetwork

AT_ONCE_S = 60.0


@dataclass(frozen=True)
class Emotion2vecParameters(chunks.ChunkRule):
    """The model, a folder or a hub's name; longer clips are cut, and probabilities averaged."""

    chunk_s: float = 30.0
    model: str = "emotion2vec/emotion2vec_plus_base"


class Emotion2vec(Metric):
    """Probability of the label in the column ``emotion``; all probabilities are in the details."""

    key = "emotion2vec"
    version = "1"
    description = "Probability that emotion2vec+ gives to the emotion asked for, of nine classes"
    title = "emotion2vec+"
    source = "Ma et al. (2024), emotion2vec; emotion2vec_plus_base, or others by `model`"
    low = 0.0
    high = 1.0
    higher_is_better = True
    needs = ("attributes.emotion",)
    accepts = Accepts(WIDE_BAND_HZ, chunks.SHORTEST_S)
    packages = ("torch", "PyYAML")
    sharing = Sharing(Input.EQUAL, why="convolutions of positions would hear what is filled up")
    parameters_type = Emotion2vecParameters
    parameters: Emotion2vecParameters

    def load(self, device: str = "cpu") -> None:
        """Load the network of a folder, or of a hub, onto `device`."""
        super().load(device)
        model = self.parameters.model
        self.network = Emotion2vecNetwork(model, device)
        self.weights = self.network.weights
        if not self.network.classes:
            raise weights.Unavailable(f"{model} has no classes: take emotion2vec_plus_base")

    def score_takes(self, takes: Sequence[Take]) -> list[Score]:
        """One probability per take that says an emotion which the model has."""
        averages = chunks.averaged(
            [take.wave for take in takes],
            self.parameters,
            AT_ONCE_S,
            self.network.probabilities,
        )
        return [
            self._score(take.material.attribute("emotion").lower(), each)
            for take, each in zip(takes, averages, strict=True)
        ]

    def _score(self, wanted: str, average: chunks.Averaged) -> Score:
        if average.values is None:
            return average.undefined or undefined("silent")
        classes = list(self.network.classes)
        found = dict(zip(classes, map(float, average.values), strict=True))
        heard = max(found, key=lambda label: found[label])
        details = {"heard": heard, "probabilities": found, **average.details}
        if not wanted:
            return undefined("no emotion was asked for", **details)
        if wanted not in found:
            return undefined(f"the model knows no {wanted!r}: {', '.join(classes)}", **details)
        return Score(found[wanted], "", details)
