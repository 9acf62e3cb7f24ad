"""What is learnt and asked of an audio language model, as one network: inputs in, logits out."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any


def label_logits(model: Any, token_ids: Sequence[int]) -> Any:
    """A network that calls the model and gives some tokens' logits at the last position.

    (clips, tokens) float32; other positions' are not computed: over a real vocabulary they would
    take gigabytes. One network from inputs to logits is what can be sharded: a call that went past
    its root would find parts of parameters where whole ones are needed.
    """
    return _network_type()(model, list(token_ids))


def core_of(model: Any) -> Any:
    """The model itself, whether an adapter is on it or not; adapted layers are inside it."""
    return model.get_base_model() if hasattr(model, "peft_config") else model


@functools.cache
def _network_type() -> Any:
    import torch

    class LabelLogits(torch.nn.Module):
        """Has what accelerate asks a model of transformers for."""

        def __init__(self, model: Any, token_ids: list[int]) -> None:
            super().__init__()
            self.model, self.token_ids = model, token_ids

        def get_input_embeddings(self) -> Any:
            return core_of(self.model).get_input_embeddings()

        def get_output_embeddings(self) -> Any:
            return core_of(self.model).get_output_embeddings()

        def tie_weights(self) -> None:
            core_of(self.model).tie_weights()

        def forward(self, **inputs: Any) -> torch.Tensor:
            core = core_of(self.model)
            backbone = getattr(core, core.base_model_prefix)
            hidden = backbone(**inputs, use_cache=False).last_hidden_state[:, -1]
            logits: torch.Tensor = core.get_output_embeddings()(hidden)[:, self.token_ids]
            return logits.float()

    return LabelLogits
