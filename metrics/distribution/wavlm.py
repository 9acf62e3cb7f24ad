"""Frames of WavLM."""

from __future__ import annotations

from metrics.distribution.hidden_states import HiddenStates


class Wavlm(HiddenStates):
    """Layer 11 of WavLM base+."""

    key = "wavlm"
    factor = "generic"
    source = "Chen et al. (2022), WavLM; layer 11, as in TTSDS2"
    default_model = "microsoft/wavlm-base-plus"
    kind = "WavLMModel"
    layer = 11
