"""How sure a detector of synthetic speech is that a clip is no recording of a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metrics.core.lazy_torch import torch
from metrics.core.metric import Score
from metrics.networks.predictors.classifier import ClassifierMetric, ClassifierParameters
from metrics.networks.predictors.pretrained import pretrained_model

MODEL = pretrained_model("MelodyMachine/Deepfake-audio-detection-V2")


@dataclass(frozen=True)
class SpoofParameters(ClassifierParameters):
    """The model, and the name of its label for speech that is not a person's."""

    model: str = MODEL.name
    label: str = "fake"


class Spoof(ClassifierMetric):
    """Probability of the label for synthetic speech; detectors fail on systems they never met."""

    key = "spoof"
    version = "1"
    description = "Probability that a detector takes the clip for synthetic"
    title = "Taken for synthetic"
    source = "Any audio classifier of transformers with a label for synthetic speech"
    low = 0.0
    high = 1.0
    higher_is_better = False
    published_model = MODEL
    parameters_type = SpoofParameters
    parameters: SpoofParameters

    def load(self, device: str = "cpu") -> None:
        """Load the network; a label that it does not have is named with those it has."""
        super().load(device)
        self.need_label(self.parameters.label)

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One probability per wave, (samples,) at 16 kHz."""
        return [
            each if isinstance(each, Score) else Score(each[self.parameters.label.lower()])
            for each in self.probabilities(waves)
        ]
