"""Frames of HuBERT."""

from __future__ import annotations

from metrics.distribution.hidden_states import HiddenStates


class Hubert(HiddenStates):
    """Layer 7 of HuBERT base."""

    key = "hubert"
    factor = "generic"
    source = "Hsu et al. (2021), HuBERT; layer 7, as in TTSDS2"
    default_model = "facebook/hubert-base-ls960"
    kind = "HubertModel"
    layer = 7
