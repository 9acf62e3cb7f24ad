"""WavLM-large under ECAPA-TDNN, fine-tuned for speakers: the SIM of many synthesis papers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metrics import weights
from metrics.embeddings.ecapa_network import UNISPEECH, Ecapa
from metrics.embeddings.speaker_embedding import SpeakerEmbedding
from metrics.predictors.wavlm_original import layers_of, wavlm_of

if TYPE_CHECKING:
    import torch

INSIDE = "feature_extract.model."  # where WavLM's weights are
TINY = 1e-6  # added to features by the authors
EPS = 1e-5  # of both normalisations


class WavlmLarge(SpeakerEmbedding):
    """The vector of UniSpeech's speaker verification: all layers of WavLM, weighed, ECAPA-TDNN."""

    key = "wavlm_large"
    source = "UniSpeech speaker verification; Chen et al. (2022), WavLM; wavlm_large_finetune.pth"
    default_model = "wavlm_large_finetune.pth"
    packages = ("torch", "transformers")
    at_once_s = 30.0

    def load(self, device: str = "cpu") -> None:
        """Read the checkpoint of the folder of models onto `device`."""
        import torch

        path = weights.model_file(self.model)
        try:
            stored = torch.load(path, map_location=device, weights_only=True)["model"]
            self.shares = stored["feature_weight"].softmax(dim=0)
        except Exception as error:
            raise weights.Unavailable(f"{path} is no such checkpoint: {error}") from error
        inside = {k.removeprefix(INSIDE): v for k, v in stored.items() if k.startswith(INSIDE)}
        self.wavlm = wavlm_of(inside, device)
        self.network = Ecapa(
            {k: v for k, v in stored.items() if not k.startswith(INSIDE)}, UNISPEECH
        )
        self.weights = weights.hashes([path])

    def _embed(self, waves: Sequence[torch.Tensor]) -> torch.Tensor:
        import torch
        from torch.nn import functional

        windows = torch.stack(list(waves))
        levelled = functional.layer_norm(windows, windows.shape[1:], eps=EPS)
        layers = layers_of(self.wavlm, levelled)
        features = sum(share * layer for share, layer in zip(self.shares, layers, strict=True))
        assert isinstance(features, torch.Tensor)
        return self.network.embed(functional.instance_norm(features.transpose(1, 2) + TINY))
