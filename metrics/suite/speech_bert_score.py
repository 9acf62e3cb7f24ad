"""SpeechBERTScore: how well frames of a clip find their like among those of a reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from metrics import weights
from metrics.metric import Output, ParameterError, Parameters, Score
from metrics.pairs import PairedMetric, Wave
from metrics.predictors.inference import exact
from metrics.predictors.pretrained import pretrained

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class SpeechBertScoreParameters(Parameters):
    """The model of speech, and which of its layers is compared (0: before the first one)."""

    model: str = "microsoft/wavlm-large"
    layer: int = 14

    def __post_init__(self) -> None:
        if self.layer < 0:
            raise ParameterError(f"layer is {self.layer}; it must be 0 or more")


class SpeechBertScore(PairedMetric):
    """Mean over the clip's frames of the best cosine with a frame of the reference (precision).

    Recall goes the other way round, and F1 is their harmonic mean. Lengths may differ.
    """

    key = "speech_bert_score"
    version = "1"
    description = "SpeechBERTScore (precision) beside the reference audio"
    title = "SpeechBERTScore"
    source = "Saeki et al. (2024), SpeechBERTScore; WavLM-large, layer 14 (transformers)"
    low = -1.0
    high = 1.0
    higher_is_better = True
    more_outputs = (
        Output(
            "speech_bert_recall",
            "SpeechBERTScore, recall",
            "",
            -1.0,
            1.0,
            True,
            title="SpeechBERTScore recall",
        ),
        Output(
            "speech_bert_f1",
            "SpeechBERTScore, F1",
            "",
            -1.0,
            1.0,
            True,
            title="SpeechBERTScore F1",
        ),
    )
    packages = ("torch", "transformers")
    parameters_type = SpeechBertScoreParameters
    parameters: SpeechBertScoreParameters

    def load(self, device: str = "cpu") -> None:
        """Load the model of a folder, or of a hub, onto `device`."""
        super().load(device)
        self.loaded = pretrained(self.parameters.model, "AutoModel", device)
        layers = self.loaded.network.config.num_hidden_layers
        if self.parameters.layer > layers:
            asked = self.parameters.layer
            raise weights.Unavailable(f"layer is {asked}; {self.parameters.model} has {layers}")
        self.weights = self.loaded.weights

    def compare(self, wave: Wave, reference: Wave) -> Score:
        """The value of two waves, (samples,) at 16 kHz; the clip's frames are rows."""
        cosines = self.frames(wave) @ self.frames(reference).T
        best, best_back = cosines.amax(dim=1), cosines.amax(dim=0)
        precision, recall = float(best.mean()), float(best_back.mean())
        both = precision + recall
        also = {
            "speech_bert_recall": recall,
            "speech_bert_f1": 2 * precision * recall / both if both > 0 else None,
        }
        return Score(precision, details={"frames": list(cosines.shape)}, also=also)

    def frames(self, wave: Wave) -> torch.Tensor:
        """Unit vectors of a wave's frames of 20 ms, (frames, dimensions), float64."""
        import torch

        values = self.loaded.values([wave], self.sample_rate_hz)
        with exact():
            layers = self.loaded.network(values, output_hidden_states=True).hidden_states
        return torch.nn.functional.normalize(layers[self.parameters.layer][0].double(), dim=1)
