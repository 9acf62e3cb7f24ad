"""Frechet audio distance: two sets as normal distributions."""

from __future__ import annotations

import numpy as np

from metrics.distribution.set_metric import Array, SetMetric, too_few_for_covariance


class Fad(SetMetric):
    """Squared distance of the means, and of the covariances, of two sets of embeddings.

    Source: Kilgour et al. (2019), Frechet audio distance; Dowson and Landau (1982). The embedding
    is a choice, not VGGish as in the paper: name it with the number.
    """

    key = "fad"
    description = "Frechet distance of embeddings; lower is nearer; biased upwards in small sets"
    source = "Kilgour et al. (2019), Frechet audio distance"
    few_vectors_warning = staticmethod(too_few_for_covariance)

    def distance(self, ours: Array, theirs: Array) -> float:
        """|m1 - m2|^2 + tr(C1 + C2 - 2 (C1 C2)^(1/2)); covariances divide by n - 1."""
        apart = ours.mean(0) - theirs.mean(0)
        one, other = root(np.cov(ours, rowvar=False)), np.cov(theirs, rowvar=False)
        # The trace of (C1 C2)^(1/2) is that of (R1 C2 R1)^(1/2), which is symmetric
        shared = np.linalg.eigvalsh(one @ other @ one)
        both = np.sqrt(np.clip(shared, 0, None)).sum()
        return float(apart @ apart + np.trace(one @ one) + np.trace(other) - 2 * both)


def root(matrix: Array) -> Array:
    """The symmetric square root of a covariance; small negative eigenvalues count as nought."""
    values, vectors = np.linalg.eigh(matrix)
    spread: Array = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
    return spread
