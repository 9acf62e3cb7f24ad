"""What is kept of a set: numbers, or mean and covariance of vectors; and how far two are apart."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metrics.distribution.feature import Array


@dataclass(frozen=True)
class Numbers:
    """Plain numbers, (n,)."""

    values: Array

    @property
    def size(self) -> int:
        """How many dimensions they have."""
        return 1

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.values)

    def apart(self, other: Numbers) -> float:
        """The 2-Wasserstein distance of two sets of numbers, in their unit."""
        return wasserstein(self.values, other.values)


@dataclass(frozen=True)
class Vectors:
    """So many vectors, their sum, (size,), and the sum of their outer products, (size, size)."""

    count: int
    total: Array
    products: Array

    @property
    def size(self) -> int:
        """How many dimensions they have."""
        return len(self.total)

    @functools.cached_property
    def mean(self) -> Array:
        """(size,)."""
        average: Array = self.total / self.count
        return average

    @functools.cached_property
    def covariance(self) -> Array:
        """(size, size); divides by n - 1, and is 0 of a single vector."""
        centred = self.products - self.count * np.outer(self.mean, self.mean)
        spread: Array = centred / max(self.count - 1, 1)
        return spread

    @functools.cached_property
    def root(self) -> Array:
        """The symmetric square root of the covariance."""
        values, vectors = np.linalg.eigh(self.covariance)
        matrix: Array = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
        return matrix

    def apart(self, other: Vectors) -> float:
        """The *squared* 2-Wasserstein distance of both as normal distributions (Fréchet's)."""
        away = self.mean - other.mean
        # The trace of (C1 C2)^(1/2) is that of (R2 C1 R2)^(1/2), which is symmetric
        shared = np.linalg.eigvalsh(other.root @ self.covariance @ other.root)
        both = np.sqrt(np.clip(shared, 0, None)).sum()
        traces = np.trace(self.covariance) + np.trace(other.covariance)
        return max(float(away @ away + traces - 2 * both), 0.0)


Spread = Numbers | Vectors


def spread_of(rows: Array) -> Spread:
    """What is kept of rows, (n, size); of one column, the numbers themselves."""
    if rows.shape[1] == 1:
        return Numbers(rows[:, 0])
    return Vectors(len(rows), rows.sum(axis=0), rows.T @ rows)


def pooled(parts: Sequence[Spread]) -> Spread | None:
    """Several as one; None where there is nothing."""
    numbers = [part for part in parts if isinstance(part, Numbers)]
    vectors = [part for part in parts if isinstance(part, Vectors)]
    if vectors:
        total = np.sum([each.total for each in vectors], axis=0)
        products = np.sum([each.products for each in vectors], axis=0)
        return Vectors(sum(each.count for each in vectors), total, products)
    if numbers:
        return Numbers(np.concatenate([each.values for each in numbers]))
    return None


def wasserstein(ours: Array, theirs: Array) -> float:
    """The 2-Wasserstein distance of two sets of numbers, (n,) and (m,), exact for unequal sizes.

    The mean over all shares of the squared difference of both quantiles, and its root. Where sizes
    differ TTSDS2 draws as many of the larger set. Source: Villani (2003), section 2.2.
    """
    one, other = np.sort(ours), np.sort(theirs)
    n, m = len(one), len(other)
    edges = np.unique(np.concatenate([np.arange(1, n + 1) * m, np.arange(1, m + 1) * n]))
    shares = np.diff(edges, prepend=0) / (n * m)
    middles = edges - 1  # in units of 1 / (n m), just before each edge
    away = one[middles // m] - other[middles // n]
    return math.sqrt(float(shares @ away**2))
