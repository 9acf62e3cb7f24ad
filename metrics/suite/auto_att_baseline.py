"""Predicted human-likeness of a clip by a ridge regression on frozen features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from listening.common.command_name import command
from metrics.core import weights
from metrics.core.lazy_torch import torch
from metrics.core.metric import Input, Metric, Parameters, Score, Sharing


@dataclass(frozen=True)
class BaselineParameters(Parameters):
    """Where the baseline lies."""

    checkpoint: str = ""  # the folder that `auto_att baseline` wrote
    file_sha256: str = ""  # how it begins; filled in, so that training again is another metric


class AutoAttBaseline(Metric):
    """A linear prediction from a voice embedding and other metrics, trained on a study's labels."""

    key = "auto_att_baseline"
    version = "1"
    description = "Human-likeness by a linear model trained on raters' labels; 1 is human"
    title = "Auto-ATT baseline"
    source = "Definition: ridge regression (Hoerl and Kennard 1970) on frozen features"
    low = 0.0
    high = 1.0
    higher_is_better = True
    asked_only = True
    sharing = Sharing(Input.WINDOWS, why="each of its features in its own way")
    parameters_type = BaselineParameters
    parameters: BaselineParameters

    def _check_parameters(self, parameters: dict[str, Any]) -> BaselineParameters:
        checked = cast(BaselineParameters, super()._check_parameters(parameters))
        if not checked.checkpoint or checked.file_sha256:
            return checked
        file = file_of(checked.checkpoint)
        return replace(checked, file_sha256=weights.short_sha256(file) if file.is_file() else "")

    def load(self, device: str = "cpu") -> None:
        """Load the baseline and what gives its features; Unavailable when one is missing."""
        from metrics.auto_att import baseline

        super().load(device)
        if not self.parameters.checkpoint:
            raise weights.Unavailable(
                "no weights: auto_att_baseline has no checkpoint; make one with "
                f"`{command('auto_att baseline')}` and name its folder in the parameter checkpoint"
            )
        self.ridge = baseline.read(self.parameters.checkpoint)
        self.features = baseline.Features(baseline.feature_keys(self.ridge))
        self.features.load(device)
        own = file_of(self.parameters.checkpoint)
        sha256 = weights.check_mark(own, self.parameters.file_sha256)
        self.weights = {**self.features.weights, own.name: sha256}

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """The predicted score of each wave, in [0, 1]."""
        from metrics.auto_att.baseline import score_waves

        return score_waves(self.ridge, self.features, waves)


def file_of(checkpoint: str) -> Path:
    """The file of a trained baseline, given as itself or as its folder."""
    from metrics.auto_att import baseline

    path = Path(checkpoint)
    return path / baseline.FILE if path.is_dir() else path
