"""What is heard of each clip of a set, by the factor of speech that it stands for; the registry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from listening.common.registry import Registry
from metrics.core.metric import ParameterError

if TYPE_CHECKING:
    import torch

Array = NDArray[np.float64]
# As TTSDS2 averages them: environment counts only when it is asked for
FACTORS = ("generic", "speaker", "prosody", "intelligibility", "environment")
PIECE_S = 30.0  # longer clips are heard in pieces


class Feature:
    """Numbers or vectors of a clip. A subclass registers itself by its `key`."""

    key: ClassVar[str] = ""
    factor: ClassVar[str] = ""
    source: ClassVar[str] = ""
    default_model: ClassVar[str] = ""  # as model hubs spell it; empty: there is none to choose
    rate_hz: ClassVar[int] = 16_000
    in_ttsds2: ClassVar[bool] = True  # whether TTSDS2 hears the same by the same model
    registry: ClassVar[Registry[Feature]] = Registry("feature", "metrics.distribution")

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        Feature.registry.add(cls)

    def __init__(self, model: str = "") -> None:
        if model and not self.default_model:
            raise ParameterError(f"feature {self.key} has no model to choose")
        self.model = model or self.default_model
        self.weights: dict[str, str] = {}  # file name -> SHA-256, filled by load()

    def load(self, device: str = "cpu") -> None:
        """Make ready for `device`; raises `weights.Unavailable` when weights are missing."""

    def learn(self, waves: Iterable[torch.Tensor]) -> None:
        """What has to be learnt of the recordings before any clip is heard; most learn nothing."""

    def of(self, wave: torch.Tensor) -> Array:
        """(rows, size) of a wave, (samples,) at `rate_hz`; size 1: plain numbers; may be empty."""
        raise NotImplementedError


def feature_type(key: str) -> type[Feature]:
    """The feature of the registry; a ParameterError lists what there is."""
    if key not in Feature.registry:
        raise ParameterError(f"feature is {key!r}; choose one of {', '.join(Feature.registry)}")
    return Feature.registry[key]


def pieces(wave: torch.Tensor, rate_hz: int, shortest: int) -> list[torch.Tensor]:
    """A wave, (samples,), in pieces of 30 s; a rest of fewer than `shortest` samples is dropped."""
    size = round(PIECE_S * rate_hz)
    cut = [wave[start : start + size] for start in range(0, len(wave), size)]
    return [piece for piece in cut if len(piece) >= shortest]
