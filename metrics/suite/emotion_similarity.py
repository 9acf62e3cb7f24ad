"""Whether a clip sounds as the same words do in a recording, by vectors of emotion2vec."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import WIDE_BAND_HZ, Accepts, Score
from metrics.core.paired_metric import PairedMetric, Wave
from metrics.networks.predictors import chunks
from metrics.suite.emotion2vec import MODEL as CLASSIFIER
from metrics.suite.emotion2vec import Emotion2vecNetwork

AT_ONCE_S = 60.0
MODEL = replace(CLASSIFIER, name="emotion2vec/emotion2vec_base")


@dataclass(frozen=True)
class EmotionSimilarityParameters(chunks.ChunkRule):
    """The model, a folder or a hub's name; longer recordings are cut, and vectors averaged."""

    chunk_s: float = 30.0
    model: str = MODEL.name


class EmotionSimilarity(PairedMetric):
    """The cosine of the mean vectors of a clip and of the recording of the same words."""

    key = "emotion_similarity"
    version = "1"
    description = "Cosine of emotion2vec's vectors of the clip and of the reference audio"
    title = "Emotion similarity"
    source = "Ma et al. (2024), emotion2vec; emotion2vec_base, or others by `model`"
    low = -1.0
    high = 1.0
    higher_is_better = True
    packages = ("torch", "PyYAML")
    published_model = MODEL
    parameters_type = EmotionSimilarityParameters
    parameters: EmotionSimilarityParameters
    shortest_s = chunks.SHORTEST_S
    accepts = Accepts(WIDE_BAND_HZ)

    def load(self, device: str = "cpu") -> None:
        """Load the network of a folder, or of a hub, onto `device`."""
        super().load(device)
        self.network = Emotion2vecNetwork(weights.locate(*self.models()), device)
        self.weights = self.network.weights

    def compare(self, wave: Wave, reference: Wave) -> Score:
        """The cosine of two waves, (samples,) at 16 kHz."""
        tensors = [torch.from_numpy(each).to(self.device) for each in (wave, reference)]
        ours, theirs = chunks.average_chunks(
            tensors,
            self.parameters,
            AT_ONCE_S,
            lambda batch: self.network.frames(batch).mean(dim=1),
        )
        if ours.values is None or theirs.values is None:
            return ours.undefined or theirs.undefined or Score(None, "silent")
        lengths = np.linalg.norm(ours.values) * np.linalg.norm(theirs.values)
        cosine = float(ours.values @ theirs.values / lengths)
        return Score(min(max(cosine, -1.0), 1.0), "", ours.details)
