"""Networks of transformers that say which of their labels a clip fits, by name or folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import WIDE_BAND_HZ, Accepts, Input, Metric, Score, Sharing
from metrics.core.precision import ANY_LENGTH, Precisions
from metrics.networks.predictors import chunks
from metrics.networks.predictors.pretrained import load_pretrained


@dataclass(frozen=True)
class ClassifierParameters(chunks.ChunkRule):
    """The model: a folder or a hub's name; long clips are cut, and probabilities averaged."""

    model: str = ""


class ClassifierMetric(Metric):
    """A metric by the probabilities of labels; a subclass says which label counts."""

    sharing = Sharing(Input.MASKED, why="networks that do not mask: equal lengths")
    precisions = Precisions(0.002, 0.02, None, "small random weights", ANY_LENGTH)
    packages = ("torch", "transformers")
    accepts = Accepts(WIDE_BAND_HZ)
    parameters: ClassifierParameters

    def load(self, device: str = "cpu") -> None:
        """Load the network of a folder, or of a hub, onto `device`."""
        super().load(device)
        kind = "AutoModelForAudioClassification"
        self.loaded = load_pretrained(self.models()[0], kind, device)
        named = self.loaded.network.config.id2label
        self.labels = [str(named[index]).lower() for index in range(len(named))]
        self.weights = self.loaded.weights

    def need_label(self, label: str) -> None:
        """Unavailable, with the labels that there are, when the model has no such one."""
        if label.lower() not in self.labels:
            known = ", ".join(self.labels)
            raise weights.Unavailable(f"{self.parameters.model} has no label {label}: {known}")

    def probabilities(self, waves: Sequence[torch.Tensor]) -> list[dict[str, float] | Score]:
        """Of each wave, (samples,) at 16 kHz, every label's probability; or why there is none."""
        averages = chunks.average_chunks(
            waves, self.parameters, 60.0, self._predict, similar=self.loaded.similar
        )
        return [
            each.undefined or Score(None, "silent")
            if each.values is None
            else dict(zip(self.labels, map(float, each.values), strict=True))
            for each in averages
        ]

    def _predict(self, batch: Sequence[torch.Tensor]) -> torch.Tensor:
        heard = self.loaded.network_outputs(
            [wave.cpu().numpy() for wave in batch], self.sample_rate_hz
        )
        probabilities: torch.Tensor = heard.logits.softmax(dim=-1)
        return probabilities
