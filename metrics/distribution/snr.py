"""How far speech stands out of what is heard between it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metrics.distribution.feature import Array, Feature

if TYPE_CHECKING:
    import torch


class Snr(Feature):
    """Our `snr_db`; TTSDS (and TTSDS2 on request) takes WADA-SNR and VoiceRestore."""

    key = "snr"
    factor = "environment"
    source = "snr_db: power in silero-vad's segments over power outside them"
    in_ttsds2 = False

    def load(self, device: str = "cpu") -> None:
        """Load the metric with its speech detector."""
        from metrics.suite.snr import SpeechToNoise

        self.metric = SpeechToNoise()
        self.metric.load(device)
        self.weights = self.metric.weights

    def of(self, wave: torch.Tensor) -> Array:
        """One number in dB, (1, 1), or none where the clip has no value."""
        (score,) = self.metric.measure([wave])
        return np.empty((0, 1)) if score.value is None else np.array([[score.value]])
