"""Whose voice it is, window by window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metrics.distribution.feature import Array, Feature
from metrics.networks.embeddings import embedding_type

if TYPE_CHECKING:
    import torch

WINDOW_S, HOP_S = 1.0, 0.5  # as in TTSDS2
LEAST = 0.5  # of a window, at a clip's end


class Voice(Feature):
    """Resemblyzer's vectors; TTSDS2 takes another d-vector and WeSpeaker's network."""

    key = "voice"
    factor = "speaker"
    source = "Wan et al. (2018), GE2E; Resemblyzer's weights; windows of TTSDS2"
    in_ttsds2 = False

    def load(self, device: str = "cpu") -> None:
        """Load the embedding; its weights come with the installation."""
        self.embedding = embedding_type("resemblyzer")()
        self.embedding.load(device)
        self.weights = self.embedding.weights

    def of(self, wave: torch.Tensor) -> Array:
        """A vector for each window of 1 s every 0.5 s; what gives no vector is left out."""
        size, hop = round(WINDOW_S * self.rate_hz), round(HOP_S * self.rate_hz)
        windows = [wave[start : start + size] for start in range(0, len(wave), hop)]
        windows = [window for window in windows if len(window) > LEAST * size]
        if not windows:
            return np.empty((0, 1))
        vectors: Array = self.embedding.embed(windows).cpu().numpy()
        return vectors[np.isfinite(vectors).all(axis=1)]
