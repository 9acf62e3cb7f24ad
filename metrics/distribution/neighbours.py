"""How far vectors are from each other, and from their nearest neighbours."""

from __future__ import annotations

import numpy as np

from metrics.distribution.set_metric import Array

NEAREST = 5  # neighbours: the authors' choice for density and coverage


def apart(one: Array, other: Array) -> Array:
    """The Euclidean distance of each pair of vectors, (n, m)."""
    squares = (one**2).sum(1)[:, None] + (other**2).sum(1) - 2 * one @ other.T
    distances: Array = np.sqrt(np.clip(squares, 0, None))
    return distances


def radii(vectors: Array, nearest: int = NEAREST) -> Array:
    """How far each vector's so-many-th nearest neighbour in its own set is, (n,)."""
    own = apart(vectors, vectors)
    np.fill_diagonal(own, np.inf)
    nearest = min(nearest, len(vectors) - 1)
    away: Array = np.partition(own, nearest - 1, axis=1)[:, nearest - 1]
    return away


def too_few(ours: Array, theirs: Array) -> str:
    """A neighbourhood of five wants more than a handful of vectors."""
    least, wanted = min(len(ours), len(theirs)), 10 * NEAREST
    return "" if least >= wanted else f"{least} vectors: {wanted} or more are needed"
