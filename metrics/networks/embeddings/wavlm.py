"""WavLM x-vectors (transformers), the speaker embedding of LFS-Bench."""

from __future__ import annotations

from collections.abc import Sequence

from metrics.core.lazy_torch import torch
from metrics.core.published_models import UNISPEECH_LICENCE
from metrics.networks.embeddings.speaker_embedding import SpeakerEmbedding
from metrics.networks.predictors.pretrained import load_pretrained, pretrained_model


class WavlmXvector(SpeakerEmbedding):
    """The x-vector head over WavLM; the preprocessor's own normalisation of each window."""

    key = "wavlm"
    source = "transformers WavLMForXVector; Chen et al. (2022), WavLM"
    published_model = pretrained_model(
        "microsoft/wavlm-base-plus-sv", UNISPEECH_LICENCE, size=400_000_000
    )
    packages = ("torch", "transformers")
    cpu_s_per_s = 0.11

    def load(self, device: str = "cpu") -> None:
        """Load model and preprocessor of a folder, or of a hub's model, onto `device`."""
        self.loaded = load_pretrained(
            self.models()[0], "WavLMForXVector", device, "Wav2Vec2FeatureExtractor"
        )
        self.weights = self.loaded.weights
        self.similar = self.loaded.similar

    def _embed(self, waves: Sequence[torch.Tensor]) -> torch.Tensor:
        heard = self.loaded.network_outputs([wave.cpu().numpy() for wave in waves], self.rate_hz)
        vectors: torch.Tensor = heard.embeddings
        return vectors
