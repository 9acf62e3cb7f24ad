"""What wav2vec 2.0, trained to recognise words, says of a clip on average."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metrics.distribution.feature import Array
from metrics.distribution.hidden_states import HiddenStates

if TYPE_CHECKING:
    import torch


class Wav2vec2Asr(HiddenStates):
    """The mean over a clip's frames of what leaves the last layer."""

    key = "wav2vec2_asr"
    factor = "intelligibility"
    source = "Baevski et al. (2020), wav2vec 2.0 of 960 h; mean of the last layer, as in TTSDS2"
    default_model = "facebook/wav2vec2-base-960h"
    kind = "Wav2Vec2Model"

    def of(self, wave: torch.Tensor) -> Array:
        """One vector, (1, size)."""
        frames = self.frames(wave)
        return frames.mean(axis=0, keepdims=True) if len(frames) else frames
