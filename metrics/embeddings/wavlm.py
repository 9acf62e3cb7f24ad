"""WavLM x-vectors (transformers), the speaker embedding of LFS-Bench."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from metrics import weights
from metrics.embeddings.speaker_embedding import SpeakerEmbedding

if TYPE_CHECKING:
    import torch

FILES = ("config.json", "preprocessor_config.json", "model.safetensors", "pytorch_model.bin")


class WavlmXvector(SpeakerEmbedding):
    """The x-vector head over WavLM; the preprocessor's own normalisation of each window."""

    key = "wavlm"
    source = "transformers WavLMForXVector; Chen et al. (2022), WavLM"
    default_model = "microsoft/wavlm-base-plus-sv"
    packages = ("torch", "transformers")

    def load(self, device: str = "cpu") -> None:
        """Load model and preprocessor of a folder, or of a hub's model, onto `device`."""
        from transformers import Wav2Vec2FeatureExtractor, WavLMForXVector

        place = weights.model_files(self.model, FILES, "of the last two one is enough")
        with weights.silent_transformers():
            try:
                self.features = Wav2Vec2FeatureExtractor.from_pretrained(place)
                network: Any = WavLMForXVector.from_pretrained(place)
            except OSError as error:
                raise weights.Unavailable(f"no weights: {place} is incomplete ({error})") from error
        self.network = network.to(device).eval()
        self.weights = weights.hashes(weight_files(place))

    def _embed(self, windows: torch.Tensor) -> torch.Tensor:
        ready = self.features(
            list(windows.cpu().numpy()), sampling_rate=self.rate_hz, return_tensors="pt"
        )
        values = ready["input_values"].to(windows.device)
        vectors: torch.Tensor = self.network(values).embeddings
        return vectors


def weight_files(place: Path) -> list[Path]:
    """The file of weights that is loaded: safetensors where both are there."""
    paths = [place / name for name in FILES[2:] if (place / name).is_file()]
    return paths[:1]
