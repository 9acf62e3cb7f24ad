"""WavLM-large under ECAPA-TDNN, fine-tuned for speakers: the SIM of many synthesis papers."""

from __future__ import annotations

from collections.abc import Sequence

from metrics.core import weights
from metrics.core.devices import kind
from metrics.core.lazy_torch import functional, torch
from metrics.core.metric import SIMILAR
from metrics.core.published_models import UNISPEECH_LICENCE, PublishedModel
from metrics.networks.embeddings.ecapa import UNISPEECH, Ecapa
from metrics.networks.embeddings.speaker_embedding import SpeakerEmbedding
from metrics.networks.predictors.wavlm_original import frames_of, layers_of, wavlm_of

INSIDE = "feature_extract.model."  # where WavLM's weights are
TINY = 1e-6  # added to features by the authors
EPS = 1e-5  # of both normalisations
AT_ONCE_S = {"cpu": 30.0, "cuda": 240.0}


class WavlmLarge(SpeakerEmbedding):
    """The vector of UniSpeech's speaker verification: all layers of WavLM, weighed, ECAPA-TDNN."""

    key = "wavlm_large"
    source = "UniSpeech speaker verification; Chen et al. (2022), WavLM; wavlm_large_finetune.pth"
    published_model = PublishedModel(
        "wavlm_large_finetune.pth",
        licence=UNISPEECH_LICENCE,
        size=1_200_000_000,
        page="https://github.com/microsoft/UniSpeech/tree/main/downstreams/speaker_verification",
    )
    packages = ("torch", "transformers")
    cpu_s_per_s = 0.35

    def load(self, device: str = "cpu") -> None:
        """Read the checkpoint of the folder of models onto `device`."""
        path = weights.locate(*self.models())
        try:
            stored = torch.load(path, map_location=device, weights_only=True)["model"]
            self.shares = stored["feature_weight"].softmax(dim=0)
        except Exception as error:
            raise weights.Unavailable(f"{path} is no such checkpoint: {error}") from error
        inside = {k.removeprefix(INSIDE): v for k, v in stored.items() if k.startswith(INSIDE)}
        self.wavlm = wavlm_of(inside, device)
        self.at_once_s = AT_ONCE_S[kind(device)]
        self.similar = SIMILAR[kind(device)]
        self.network = Ecapa(
            {k: v for k, v in stored.items() if not k.startswith(INSIDE)}, UNISPEECH
        )
        self.weights = weights.hashes([path])

    def _embed(self, waves: Sequence[torch.Tensor]) -> torch.Tensor:
        levelled = [functional.layer_norm(wave, wave.shape, eps=EPS) for wave in waves]
        filled = torch.nn.utils.rnn.pad_sequence(levelled, batch_first=True)
        frames = [frames_of(self.wavlm, len(wave)) for wave in waves]
        layers = layers_of(self.wavlm, filled, frames if len(set(frames)) > 1 else None)
        features = sum(share * layer for share, layer in zip(self.shares, layers, strict=True))
        assert isinstance(features, torch.Tensor)
        vectors = []
        for heard, count in zip(features, frames, strict=True):  # norms and pooling take no mask
            own = heard[None, :count].transpose(1, 2) + TINY
            vectors.append(self.network.embed(functional.instance_norm(own))[0])
        return torch.stack(vectors)
