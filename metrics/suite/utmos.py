"""Opinion scores predicted by networks of the UTMOS kind, whichever is at hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metrics.core.lazy_torch import torch
from metrics.core.metric import Input, Sharing
from metrics.core.precision import Precisions
from metrics.core.published_models import PublishedModel
from metrics.networks.predictors import chunks
from metrics.networks.predictors.predictor import predictor_type


@dataclass(frozen=True)
class UtmosParameters(chunks.ChunkRule):
    """The predictor, its model, how the model is called, and how long clips are cut."""

    chunk_s: float = 30.0
    predictor: str = "torchscript"
    model: str = ""  # empty: the predictor's own
    layout: str = "batch_channel_time"
    gives_rate: bool = False  # the model is also told the rate, 16000

    def __post_init__(self) -> None:
        super().__post_init__()
        predictor_type(self.predictor)(self.model, self.layout, self.gives_rate)


class Utmos(chunks.ChunkedMetric):
    """A predicted naturalness MOS; which network gave it is a parameter."""

    key = "utmos"
    version = "1"
    cpu_s_per_s = 0.19
    description = "Naturalness MOS predicted by a network of the UTMOS kind, by default UTMOS22"
    title = "UTMOS"
    source = "Saeki et al. (2022), UTMOS (strong learner); others by the parameter predictor"
    unit = "MOS"
    higher_is_better = True
    sharing = Sharing(Input.EQUAL, why="a scripted or exported network has no mask")
    precisions = Precisions(why="a scripted or exported network stays as it was made")
    parameters_type = UtmosParameters
    parameters: UtmosParameters

    def __init__(self, **parameters: Any) -> None:
        super().__init__(**parameters)
        settings = self.parameters
        kind = predictor_type(settings.predictor)
        self.predictor = kind(settings.model, settings.layout, settings.gives_rate)
        self.at_once_s = self.predictor.at_once_s
        self.packages = tuple(dict.fromkeys(("torch", "numpy", *kind.packages)))

    def models(self) -> list[PublishedModel]:
        """That of the predictor."""
        return [self.predictor.file]

    def load(self, device: str = "cpu") -> None:
        """Load the predictor; `weights.Unavailable` says what is missing and where to put it."""
        super().load(device)
        self.predictor.load(device)
        self.weights = self.predictor.weights
        self.device_notes = self.predictor.device_notes

    def predict(self, batch: Sequence[torch.Tensor]) -> torch.Tensor:
        """The predictor's scores, (waves, 1)."""
        return self.predictor.predict(torch.stack(list(batch)))[:, None]
