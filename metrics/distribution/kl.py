"""Kullback-Leibler divergence of two sets as normal distributions."""

from __future__ import annotations

import math

import numpy as np

from metrics.distribution.set_metric import Array, SetMetric, too_few_for_covariance

LEAST = 3  # vectors: of two the shrinkage cannot be told


class Kl(SetMetric):
    """How many nats it costs to take the reference's normal distribution for ours.

    Embeddings vary in far fewer directions than they have, so both covariances are shrunk towards
    spheres by Ledoit and Wolf's rule. Source: Kullback and Leibler (1951); Ledoit and Wolf (2004).
    """

    key = "kl"
    description = "Kullback-Leibler divergence from the reference (as normal distributions), nats"
    source = "Kullback and Leibler (1951); covariances shrunk after Ledoit and Wolf (2004)"
    low = 0.0
    few_vectors_warning = staticmethod(too_few_for_covariance)

    def distance(self, ours: Array, theirs: Array) -> float:
        """(tr(C2^-1 C1) - d + m C2^-1 m + ln |C2| - ln |C1|) / 2; NaN of fewer than 3 vectors."""
        if min(len(ours), len(theirs)) < LEAST:
            return math.nan
        one, other = shrunk(ours), shrunk(theirs)
        if not (one.any() and other.any()):
            return math.nan  # all vectors of a set are alike
        apart = theirs.mean(0) - ours.mean(0)
        solved = np.linalg.solve(other, np.column_stack([one, apart]))
        logs = np.linalg.slogdet(other)[1] - np.linalg.slogdet(one)[1]
        traced = np.trace(solved[:, :-1]) - len(apart)
        return float((traced + apart @ solved[:, -1] + logs) / 2)


def shrunk(vectors: Array) -> Array:
    """The covariance of vectors, (n, dimensions), mixed with a sphere of the same mean variance.

    The share of the sphere is the one of least expected squared error.
    """
    n, size = vectors.shape
    centred = vectors - vectors.mean(0)
    covariance = centred.T @ centred / n
    sphere = np.trace(covariance) / size
    far = (covariance**2).sum() / size - sphere**2
    if far <= 0:
        even: Array = sphere * np.eye(size)
        return even
    noise = (((centred**2).sum(1) ** 2).sum() / n - (covariance**2).sum()) / n / size
    share = min(noise / far, 1.0)
    mixed: Array = (1 - share) * covariance + share * sphere * np.eye(size)
    return mixed
