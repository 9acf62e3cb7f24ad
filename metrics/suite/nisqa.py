"""NISQA: overall quality with noisiness, coloration, discontinuity and loudness."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metrics.core import weights
from metrics.core.devices import kind
from metrics.core.metric import (
    WIDE_BAND_HZ,
    Accepts,
    Input,
    Metric,
    Output,
    ParameterError,
    Score,
    Sharing,
)
from metrics.core.precision import ANY_LENGTH, Precisions
from metrics.networks.predictors import chunks
from metrics.networks.predictors.nisqa import NisqaNetwork

if TYPE_CHECKING:
    import torch

FILE = "nisqa/nisqa.tar"
LONGEST_S = 52.0  # the network was trained on 1,300 windows at most, one every 40 ms
AT_ONCE_S = {"cpu": 20.0, "cuda": 240.0}
SIMILAR = {"cpu": 1.0, "cuda": math.inf}  # on a processor large batches gain nothing
ORDER = ("noisiness", "discontinuity", "coloration", "loudness")  # after the overall quality


@dataclass(frozen=True)
class NisqaParameters(chunks.ChunkRule):
    """The checkpoint: a path, or a name in the folder of models; how long clips are cut."""

    chunk_s: float = 50.0
    model: str = FILE

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.chunk_s <= LONGEST_S:
            raise ParameterError(f"chunk_s is {self.chunk_s}; it must be in 1..{LONGEST_S:g}")


class Nisqa(Metric):
    """A predicted MOS of transmitted speech, and why it is what it is."""

    key = "nisqa"
    version = "1"
    description = "NISQA v2: predicted overall quality"
    title = "NISQA"
    source = "Mittag et al. (2021), NISQA; its checkpoint nisqa.tar"
    unit = "MOS"
    higher_is_better = True
    sample_rate_hz = 48_000
    accepts = Accepts(WIDE_BAND_HZ, chunks.SHORTEST_S)
    more_outputs = tuple(
        Output(
            f"nisqa_{name}",
            f"NISQA: {name} (5: best)",
            "MOS",
            higher_is_better=True,
            title=f"NISQA {name}",
        )
        for name in ORDER
    )
    packages = ("torch", "numpy")
    sharing = Sharing(Input.WINDOWS, why="in its convolutions; nothing is filled up")
    precisions = Precisions(0.005, 0.05, None, "small random weights", ANY_LENGTH)
    parameters_type = NisqaParameters
    parameters: NisqaParameters

    def load(self, device: str = "cpu") -> None:
        """Read the checkpoint of the folder of models onto `device`."""
        super().load(device)
        path = weights.model_file(self.parameters.model)
        self.network = NisqaNetwork(path, self.sample_rate_hz, device)
        self.weights = weights.hashes([path])

    def score(self, waves: Sequence[torch.Tensor]) -> list[Score]:
        """One score per wave, (samples,) at 48 kHz; equally long chunks go through together."""
        averages = chunks.averaged(
            waves,
            self.parameters,
            AT_ONCE_S[kind(self.device)],
            self.network.predict,
            self.sample_rate_hz,
            SIMILAR[kind(self.device)],
        )
        return [each.undefined or self._named(each) for each in averages]

    def _named(self, average: chunks.Averaged) -> Score:
        assert average.values is not None
        first, *others = (float(value) for value in average.values)
        also = {f"nisqa_{name}": value for name, value in zip(ORDER, others, strict=False)}
        return Score(first, also=also, details=average.details)

    def by_output(self, score: Score) -> dict[str, Score]:
        """A clip's score by output; a checkpoint of one value has no dimensions."""
        named = super().by_output(score)
        if score.value is not None and not score.also:
            reason = f"{self.parameters.model} gives the overall quality only"
            named |= {output.key: Score(None, reason) for output in self.more_outputs}
        return named
