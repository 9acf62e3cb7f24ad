"""What predicts one opinion score of speech, of any maker, and the registry."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import ClassVar

from listening.common.registry import Registered, Registry
from metrics.core import precision
from metrics.core.lazy_torch import torch
from metrics.core.metric import ParameterError
from metrics.core.published_models import HUB, PublishedModel

LAYOUTS = ("batch_time", "batch_channel_time")


class Predictor(Registered):
    """An adapter to a predictor. A subclass registers itself by its `key`."""

    key: ClassVar[str] = ""  # stored in the parameters of metrics: never renamed
    source: ClassVar[str] = ""
    published_model: ClassVar[PublishedModel | None] = None  # None: the model must be named
    packages: ClassVar[tuple[str, ...]] = ()
    at_once_s: ClassVar[dict[str, float]] = {"cpu": 10.0, "cuda": 120.0}
    registry: ClassVar[Registry[Predictor]] = Registry("predictor", "metrics.networks.predictors")

    def __init__(
        self, model: str = "", layout: str = "batch_channel_time", gives_rate: bool = False
    ) -> None:
        if not (model or self.published_model):
            raise ParameterError(f"predictor {self.key} needs a model: the name of its file")
        if layout not in LAYOUTS:
            raise ParameterError(f"layout is {layout!r}; choose {' or '.join(LAYOUTS)}")
        hub_file = PublishedModel("", source=HUB)
        self.file = (self.published_model or hub_file).renamed(model)  # what `load` locates
        self.layout, self.gives_rate = layout, gives_rate
        self.device = "cpu"
        self.weights: dict[str, str] = {}  # file name -> SHA-256, filled by load()
        self.device_notes: dict[str, str] = {}  # as `Metric.device_notes`

    def load(self, device: str = "cpu") -> None:
        """Make ready for `device`; raises `weights.Unavailable` when something is missing."""
        self.device = device

    def predict(self, waves: torch.Tensor) -> torch.Tensor:
        """One score per wave, (waves,), of equally long waves (waves, samples) at 16 kHz."""
        raise NotImplementedError

    def laid_out(self, waves: torch.Tensor) -> torch.Tensor:
        """The waves with the axes that the model wants."""
        return waves[:, None] if self.layout == "batch_channel_time" else waves


def predictor_type(key: str) -> type[Predictor]:
    """The predictor of the registry; a ParameterError lists what there is."""
    if key not in Predictor.registry:
        raise ParameterError(f"predictor is {key!r}; choose one of {', '.join(Predictor.registry)}")
    return Predictor.registry[key]


@contextlib.contextmanager
def exact_inference() -> Iterator[None]:
    """Inference with deterministic algorithms, in float32 unless the run asks for less.

    Without TF32 in convolutions, which torch allows by default (`metrics.core.precision`).
    """
    flags = torch.backends.cudnn.flags(
        enabled=True, deterministic=True, allow_tf32=precision.tf32_now()
    )
    with torch.inference_mode(), flags, precision.autocast():
        yield
