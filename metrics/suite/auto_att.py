"""Predicted human-likeness of a clip by a fine-tuned audio language model (Auto-ATT)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from listening.common.command_name import command
from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import Input, Metric, Parameters, Score, Sharing
from metrics.core.precision import Precisions
from metrics.core.published_models import PublishedModel


@dataclass(frozen=True)
class AutoAttParameters(Parameters):
    """Where the adapter and its model lie."""

    checkpoint: str = ""  # the folder of a run of `auto_att train`, or one of its checkpoints
    model: str = ""  # where the base model lies here; empty: as named when it was trained
    adapter_sha256: str = ""  # how it begins; filled in, so that training again is another metric


class AutoAtt(Metric):
    """P(Human) + 0.5 P(Unclear) of a model that was fine-tuned on a study's labels."""

    key = "auto_att"
    version = "1"
    description = "Human-likeness that a model trained on raters' labels predicts; 1 is human"
    title = "Auto-ATT"
    source = "Wang et al. (2025), Audio Turing Test, section 3.5; own implementation"
    low = 0.0
    high = 1.0
    higher_is_better = True
    asked_only = True
    costs = "a large model: a GPU is wanted"
    sharing = Sharing(Input.WINDOWS, why="the model hears 30 s of each, filled up and masked")
    precisions = Precisions(why="it computes as it was trained: bfloat16 on a GPU")
    packages = ("torch", "transformers", "peft", "numpy")
    parameters_type = AutoAttParameters
    parameters: AutoAttParameters

    def _check_parameters(self, parameters: dict[str, Any]) -> AutoAttParameters:
        checked = cast(AutoAttParameters, super()._check_parameters(parameters))
        if not checked.checkpoint or checked.adapter_sha256:
            return checked
        from metrics.auto_att import checkpoints

        try:
            file = checkpoints.resolve_adapter(checked.checkpoint) / checkpoints.ADAPTER
        except weights.Unavailable:
            return checked  # load() says what is missing
        return replace(checked, adapter_sha256=weights.short_sha256(file))

    def models(self) -> list[PublishedModel]:
        """The base model."""
        from metrics.auto_att.model import BASE

        return [BASE.renamed(self.parameters.model)]

    def load(self, device: str = "cpu") -> None:
        """Load model and adapter; Unavailable unless a checkpoint is set and its model is here."""
        from metrics.auto_att import checkpoints, model

        super().load(device)
        if not self.parameters.checkpoint:
            raise weights.Unavailable(
                "no weights: auto_att has no checkpoint; train one with "
                f"`{command('auto_att train')}` "
                "and name its folder in the parameter checkpoint"
            )
        adapter = checkpoints.resolve_adapter(self.parameters.checkpoint)
        sha256 = weights.check_mark(adapter / checkpoints.ADAPTER, self.parameters.adapter_sha256)
        self.weights = {checkpoints.ADAPTER: sha256}
        plan = checkpoints.model_plan(checkpoints.read_plan(adapter), self.parameters.model)
        self.listener = model.load(plan, device, adapter)
        if self.listener.rate_hz != self.sample_rate_hz:
            raise weights.Unavailable(
                f"{plan.name} listens at {self.listener.rate_hz} Hz, not {self.sample_rate_hz}"
            )
        folder = weights.locate(model.BASE.renamed(plan.name))
        self.weights |= weights.hashes(sorted(folder.glob("*.safetensors")))

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """The predicted score of each wave; only the first 30 s are heard (Qwen2-Audio)."""
        from metrics.auto_att.predict import score_waves

        return score_waves(self.listener, waves)
