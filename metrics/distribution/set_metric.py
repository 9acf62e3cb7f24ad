"""How far one set of clips is from another, with the interval: vectors, neighbours, the base."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from listening.common.registry import Registered, Registry
from metrics.core import decoding
from metrics.core.lazy_torch import torch
from metrics.core.silence import silence
from metrics.networks.embeddings import SpeakerEmbedding
from metrics.signal.speech import window_starts

Array = NDArray[np.float64]
Vectors = Sequence[Array]  # of each clip: (windows, dimensions)
NORMAL = 1.959964  # of 95 %
LEAST_CLIPS = 3


class SetMetric(Registered):
    """A distance of two sets of embeddings. A subclass registers itself by its `key`."""

    key: ClassVar[str] = ""
    description: ClassVar[str] = ""
    source: ClassVar[str] = ""
    low: ClassVar[float] = -math.inf  # intervals end where values do
    high: ClassVar[float] = math.inf
    registry: ClassVar[Registry[SetMetric]] = Registry("set metric", "metrics.distribution")

    def distance(self, ours: Array, theirs: Array) -> float:
        """The distance of two sets of vectors, (n, dimensions) and (m, dimensions)."""
        raise NotImplementedError

    @staticmethod
    def few_vectors_warning(ours: Array, theirs: Array) -> str:
        """Why the number is not to be trusted with so few vectors; empty when it is."""
        return ""


@dataclass(frozen=True)
class Distance:
    """A distance with its interval over clips (95 %), the sizes of both sets, a warning."""

    metric: str
    value: float | None
    low: float | None
    high: float | None
    clips: int
    vectors: int
    reference_clips: int
    reference_vectors: int
    warning: str = ""


def distances(metric: SetMetric, ours: Vectors, theirs: Vectors) -> Distance:
    """The distance of two sets of clips and its interval at 95 %, by leaving out clips in turn.

    ``ours``, ``theirs``: a clip's vectors each, (windows, dimensions). Clips are left out, not
    windows: windows of one clip are alike. No bootstrap: a clip drawn twice makes a set look
    narrower, which pushes both distances up. The interval says nothing of FAD's bias in small sets.
    """
    sizes = (len(ours), sum(map(len, ours)), len(theirs), sum(map(len, theirs)))
    if min(len(ours), len(theirs)) < LEAST_CLIPS:
        return Distance(metric.key, None, None, None, *sizes, "too few clips: 3 of each are needed")
    one, other = np.concatenate(ours), np.concatenate(theirs)
    value = metric.distance(one, other)
    if not math.isfinite(value):
        return Distance(metric.key, None, None, None, *sizes, "too few vectors, or all alike")
    variance = jackknife(ours, lambda left: metric.distance(left, other))
    variance += jackknife(theirs, lambda left: metric.distance(one, left))
    warning = metric.few_vectors_warning(one, other)
    if not math.isfinite(variance):
        return Distance(metric.key, value, None, None, *sizes, warning or "too few for an interval")
    margin = NORMAL * math.sqrt(variance)
    low, high = max(value - margin, metric.low), min(value + margin, metric.high)
    return Distance(metric.key, value, low, high, *sizes, warning)


def jackknife(vectors: Vectors, distance: Callable[[Array], float]) -> float:
    """The variance of a distance by leaving out each clip in turn. Source: Tukey (1958)."""
    n = len(vectors)
    left = [
        distance(np.concatenate([part for i, part in enumerate(vectors) if i != out]))
        for out in range(n)
    ]
    return float((n - 1) * np.var(left))


def too_few_for_covariance(ours: Array, theirs: Array) -> str:
    """Why the smaller of two sets, (n, dimensions) each, has too few vectors; empty if enough."""
    least, wanted = min(len(ours), len(theirs)), 2 * ours.shape[1]
    if least >= wanted:
        return ""
    return f"{least} vectors for {ours.shape[1]} dimensions: {wanted} or more are needed"


def clip_vectors(
    path: Path | str, embedding: SpeakerEmbedding, window_s: float, hop_s: float
) -> Array:
    """Unit vectors, (windows, dimensions), of a clip's windows that are not silent.

    A clip shorter than a window is one window, if the embedding takes it; else (0, 0). Raises
    audio.AudioError for a file that cannot be read.
    """
    rate_hz = embedding.rate_hz
    wave = torch.from_numpy(decoding.load_wave(path, rate_hz))
    size, hop = round(window_s * rate_hz), round(hop_s * rate_hz)
    starts: Iterable[int] = window_starts(len(wave), size, hop) or [0]
    windows = [wave[start : start + size] for start in starts]
    least = embedding.shortest_s * rate_hz
    windows = [each for each in windows if len(each) >= least and not silence(each, rate_hz)]
    if not windows:
        return np.empty((0, 0))
    vectors: Array = embedding.embed(torch.stack(windows)).cpu().numpy()
    return vectors


NEAREST = 5  # neighbours: the authors' choice for density and coverage


def pairwise_distances(one: Array, other: Array) -> Array:
    """The Euclidean distance of each pair of vectors, (n, m)."""
    squares = (one**2).sum(1)[:, None] + (other**2).sum(1) - 2 * one @ other.T
    distances: Array = np.sqrt(np.clip(squares, 0, None))
    return distances


def radii(vectors: Array, nearest: int = NEAREST) -> Array:
    """How far each vector's so-many-th nearest neighbour in its own set is, (n,)."""
    own = pairwise_distances(vectors, vectors)
    np.fill_diagonal(own, np.inf)
    nearest = min(nearest, len(vectors) - 1)
    away: Array = np.partition(own, nearest - 1, axis=1)[:, nearest - 1]
    return away


def few_vectors_warning(ours: Array, theirs: Array) -> str:
    """A neighbourhood of five wants more than a handful of vectors."""
    least, wanted = min(len(ours), len(theirs)), 10 * NEAREST
    return "" if least >= wanted else f"{least} vectors: {wanted} or more are needed"
