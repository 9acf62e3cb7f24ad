"""What says how far one set of clips is from another, and the interval of that distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from listening.registry import Registry

Array = NDArray[np.float64]
Vectors = Sequence[Array]  # of each clip: (windows, dimensions)
LEVEL = 0.95
LEAST_CLIPS = 2


class SetMetric:
    """A distance of two sets of embeddings. A subclass registers itself by its `key`."""

    key: ClassVar[str] = ""
    description: ClassVar[str] = ""
    source: ClassVar[str] = ""
    registry: ClassVar[Registry[SetMetric]] = Registry("set metric", "metrics.sets")

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        SetMetric.registry.add(cls)

    def distance(self, ours: Array, theirs: Array) -> float:
        """The distance of two sets of vectors, (n, dimensions) and (m, dimensions)."""
        raise NotImplementedError

    def too_few(self, ours: Array, theirs: Array) -> str:
        """Why the number is not to be trusted with so few vectors; empty when it is."""
        return ""


@dataclass(frozen=True)
class Distance:
    """A distance with its percentile interval over clips, the sizes of both sets, a warning."""

    metric: str
    value: float | None
    low: float | None
    high: float | None
    clips: int
    vectors: int
    reference_clips: int
    reference_vectors: int
    warning: str = ""


def distances(
    metric: SetMetric, ours: Vectors, theirs: Vectors, resamples: int = 200, seed: int = 0
) -> Distance:
    """The distance of two sets of clips and its bootstrap interval at 95 %.

    ``ours``, ``theirs``: a clip's vectors each, (windows, dimensions). Clips are drawn, not
    windows, from both sets: windows of one clip are alike. The interval is that of the spread over
    clips; where sets are small the distance itself is biased upwards (FAD), and so is the interval.
    """
    sizes = (len(ours), sum(map(len, ours)), len(theirs), sum(map(len, theirs)))
    if min(len(ours), len(theirs)) < LEAST_CLIPS:
        return Distance(metric.key, None, None, None, *sizes, "too few clips: 2 of each are needed")
    one, other = np.concatenate(ours), np.concatenate(theirs)
    rng = np.random.default_rng(seed)
    drawn = [
        metric.distance(resampled(ours, rng), resampled(theirs, rng)) for _ in range(resamples)
    ]
    tail = (1 - LEVEL) / 2 * 100
    low, high = np.percentile(drawn, [tail, 100 - tail]) if drawn else (None, None)
    value = metric.distance(one, other)
    return Distance(
        metric.key,
        value,
        None if low is None else float(low),
        None if high is None else float(high),
        *sizes,
        metric.too_few(one, other),
    )


def resampled(vectors: Vectors, rng: np.random.Generator) -> Array:
    """The vectors of as many clips as there are, drawn with replacement."""
    return np.concatenate([vectors[i] for i in rng.integers(len(vectors), size=len(vectors))])
