"""Frames of wav2vec 2.0."""

from __future__ import annotations

from metrics.distribution.hidden_states import HiddenStates


class Wav2vec2(HiddenStates):
    """Layer 8 of wav2vec 2.0 base."""

    key = "wav2vec2"
    factor = "generic"
    source = "Baevski et al. (2020), wav2vec 2.0; layer 8, as in TTSDS2"
    default_model = "facebook/wav2vec2-base"
    kind = "Wav2Vec2Model"
    layer = 8
