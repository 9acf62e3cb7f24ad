"""What Whisper's encoder says of a clip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from metrics.distribution.feature import PIECE_S, Array, Feature, pieces
from metrics.distribution.hidden_states import SHORTEST, network_of
from metrics.networks.predictors.inference import exact

if TYPE_CHECKING:
    import torch


class WhisperEncoder(Feature):
    """The mean over channels and layers in each of the 1,500 frames of 30 s.

    That is what the code of TTSDS2 computes: a course over time. What is shorter is filled up.
    """

    key = "whisper_encoder"
    factor = "intelligibility"
    source = "Radford et al. (2023), Whisper small.en; mean of all layers, as in TTSDS2"
    default_model = "openai/whisper-small.en"

    def load(self, device: str = "cpu") -> None:
        """Load the network of a folder, or of a hub, onto `device`."""
        import transformers

        self.device = device
        network, self.weights = network_of(self.model, "WhisperModel", device)
        self.encoder = network.encoder
        config = network.config
        self.features: Any = transformers.WhisperFeatureExtractor(
            feature_size=config.num_mel_bins,
            chunk_length=round(config.max_source_positions * PIECE_S / 1500),
        )

    def of(self, wave: torch.Tensor) -> Array:
        """A row of 1,500 for each 30 s."""
        rows = []
        for piece in pieces(wave, self.rate_hz, SHORTEST):
            given = self.features(
                piece.float().cpu().numpy(), sampling_rate=self.rate_hz, return_tensors="pt"
            )
            with exact():
                heard = self.encoder(
                    given["input_features"].to(self.device), output_hidden_states=True
                )
            layers = [layer[0].mean(dim=1).double().cpu().numpy() for layer in heard.hidden_states]
            rows.append(np.mean(layers, axis=0))
        return np.stack(rows) if rows else np.empty((0, 1))
