"""Kernel distance: maximum mean discrepancy with a polynomial kernel."""

from __future__ import annotations

from metrics.distribution.set_metric import Array, SetMetric


class Kid(SetMetric):
    """Unbiased squared maximum mean discrepancy; it may be below nought for equal sets.

    Source: Binkowski et al. (2018), Demystifying MMD GANs, for images: (x y / d + 1)^3.
    """

    key = "kid"
    description = "Kernel distance (cubic polynomial) of embeddings; lower is nearer; unbiased"
    source = "Binkowski et al. (2018), Demystifying MMD GANs"

    def distance(self, ours: Array, theirs: Array) -> float:
        """Mean kernel within each set, without the diagonal, less twice that between them."""
        within = sum(mean_off_diagonal(kernel(each, each)) for each in (ours, theirs))
        return float(within - 2 * kernel(ours, theirs).mean())


def kernel(one: Array, other: Array) -> Array:
    """(x y / dimensions + 1)^3 of each pair, (n, m)."""
    cubes: Array = (one @ other.T / one.shape[1] + 1) ** 3
    return cubes


def mean_off_diagonal(square: Array) -> float:
    """The mean over all pairs of two different vectors."""
    n = len(square)
    return float((square.sum() - square.trace()) / (n * (n - 1)))
