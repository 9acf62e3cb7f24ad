"""Level of a clip where it is not silent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metrics.core.metric import Metric, ParameterError, Parameters, Score, undefined

if TYPE_CHECKING:
    import torch

PLUGIN_API_VERSION = 1


@dataclass(frozen=True)
class LevelParameters(Parameters):
    """Which frames count."""

    floor_dbfs: float = -50.0

    def __post_init__(self) -> None:
        if not -120 <= self.floor_dbfs < 0:
            raise ParameterError(f"floor_dbfs is {self.floor_dbfs}, but must be from -120 to 0")


class ActiveLevel(Metric):
    """Mean power of the frames of 20 ms above a floor."""

    key = "active_level_dbfs"  # stored with every score: never renamed
    version = "1"  # bumped when the numbers change
    sample_rate_hz = 16_000
    description = "Level of the frames of 20 ms that are louder than a floor, in dBFS"
    title = "Active level"  # what pages and reports call it; without one, its key
    source = "A definition of this example; after the idea of ITU-T P.56"
    unit = "dBFS"
    low, high = -120.0, 0.0
    parameters_type = LevelParameters
    parameters: LevelParameters

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        return [self.level(wave) for wave in waves]

    def level(self, wave: torch.Tensor) -> Score:
        frame = self.sample_rate_hz // 50
        power = wave.double().unfold(0, frame, frame).square().mean(1) if len(wave) >= frame else ()
        loud = [float(p) for p in power if p > 10 ** (self.parameters.floor_dbfs / 10)]
        if not loud:
            return undefined("no frame above the floor")
        value = 10 * math.log10(sum(loud) / len(loud))
        return Score(value, details={"active_share": len(loud) / len(power)})
