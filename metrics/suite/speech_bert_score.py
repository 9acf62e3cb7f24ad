"""SpeechBERTScore: how well frames of a clip find their like among those of a reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import (
    WIDE_BAND_HZ,
    Accepts,
    Input,
    Output,
    Parameters,
    Score,
    Sharing,
    buckets,
    check_bounds,
)
from metrics.core.paired_metric import PairedMetric, Wave
from metrics.core.precision import ANY_LENGTH, Precisions
from metrics.core.published_models import UNISPEECH_LICENCE
from metrics.networks.predictors.predictor import exact_inference
from metrics.networks.predictors.pretrained import keep_layers, load_pretrained, pretrained_model

MODEL = pretrained_model("microsoft/wavlm-large", UNISPEECH_LICENCE, size=1_300_000_000)
AT_ONCE_S = 60.0  # seconds of audio that the network hears at once


@dataclass(frozen=True)
class SpeechBertScoreParameters(Parameters):
    """The model of speech, and which of its layers is compared (0: before the first one)."""

    model: str = MODEL.name
    layer: int = 14

    def __post_init__(self) -> None:
        check_bounds(self, "layer", 0)


class SpeechBertScore(PairedMetric):
    """Mean over the clip's frames of the best cosine with a frame of the reference (precision).

    Recall goes the other way round, and F1 is their harmonic mean. Lengths may differ.
    """

    key = "speech_bert_score"
    version = "1"
    cpu_s_per_s = 0.48
    description = "SpeechBERTScore (precision) against the reference audio"
    title = "SpeechBERTScore"
    source = "Saeki et al. (2024), SpeechBERTScore; WavLM-large, layer 14 (transformers)"
    low = -1.0
    high = 1.0
    higher_is_better = True
    accepts = Accepts(WIDE_BAND_HZ)
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
    sharing = Sharing(Input.MASKED, why="networks that do not mask: equal lengths")
    precisions = Precisions(0.002, 0.02, None, "small random weights", ANY_LENGTH)
    packages = ("torch", "transformers")
    published_model = MODEL
    parameters_type = SpeechBertScoreParameters
    parameters: SpeechBertScoreParameters

    def load(self, device: str = "cpu") -> None:
        """Load the model of a folder, or of a hub, onto `device`."""
        super().load(device)
        self.loaded = load_pretrained(self.models()[0], "AutoModel", device)
        layers = self.loaded.network.config.num_hidden_layers
        if self.parameters.layer > layers:
            layer = self.parameters.layer
            raise weights.Unavailable(f"layer is {layer}; {self.parameters.model} has {layers}")
        self.weights = self.loaded.weights
        keep_layers(self.loaded.network, self.parameters.layer)

    def compare_all(self, pairs: Sequence[tuple[Wave, Wave]]) -> list[Score]:
        """The value of each pair of waves, (samples,) at 16 kHz, all of them side by side."""
        frames = iter(self.frames([wave for pair in pairs for wave in pair]))
        return [self.score_frames(next(frames), next(frames)) for _ in pairs]

    def compare(self, wave: Wave, reference: Wave) -> Score:
        """The value of two waves, (samples,) at 16 kHz."""
        return self.compare_all([(wave, reference)])[0]

    def score_frames(self, own: torch.Tensor, others: torch.Tensor) -> Score:
        """The value of two clips' frames, (frames, dimensions); the clip's are rows."""
        cosines = own @ others.T
        best, best_back = cosines.amax(dim=1), cosines.amax(dim=0)
        precision, recall = float(best.mean()), float(best_back.mean())
        both = precision + recall
        also = {
            "speech_bert_recall": recall,
            "speech_bert_f1": 2 * precision * recall / both if both > 0 else None,
        }
        return Score(precision, details={"frames": list(cosines.shape)}, also=also)

    def frames(self, waves: Sequence[Wave]) -> list[torch.Tensor]:
        """Unit vectors of each wave's frames of 20 ms, (frames, dimensions), float64."""
        by_place: dict[int, torch.Tensor] = {}
        sizes = [len(wave) for wave in waves]
        most = round(AT_ONCE_S * self.sample_rate_hz)
        for places in buckets(sizes, most, self.loaded.similar):
            own = [waves[place] for place in places]
            with exact_inference():
                heard = self.loaded.network_outputs(
                    own, self.sample_rate_hz, output_hidden_states=True
                )
            layer = heard.hidden_states[self.parameters.layer]
            for place, row in zip(places, layer, strict=True):
                frames = row[: self.loaded.masked.frames(sizes[place])]
                by_place[place] = torch.nn.functional.normalize(frames.double(), dim=1)
        return [by_place[place] for place in range(len(waves))]
