"""Ratings summed per rater and cell: all that a Gaussian model without text effects needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.arrays import Codes, Floats
from analysis.statistics.mixed.model_errors import NotEstimable

__all__ = ["Codes", "Floats", "Sums", "Truths", "checked_codes", "floats", "in_chunks", "sums"]
Truths = NDArray[np.bool_]


def floats(values: ArrayLike) -> Floats:
    """Values as an array of float64."""
    return np.asarray(values, dtype=np.float64)


_CHUNK_VALUES = 200_000  # so that what is worked on stays in the processor's cache


def in_chunks(
    function: Callable[[Floats], Iterable[Floats]], points: Floats, size: int
) -> Iterator[Floats]:
    """The arrays (B, ...) that a function of points (B, D) gives, made some points at a time.

    ``size`` is how many numbers it works on for one of them.
    """
    step = max(1, _CHUNK_VALUES // size)
    parts = [function(points[i : i + step]) for i in range(0, len(points), step)]
    return (np.concatenate(each) for each in zip(*parts, strict=True))


@dataclass(frozen=True)
class Sums:
    """Counts and centred sums of N scores by R raters in C cells of S conditions.

    ``count`` (R, C) ratings per rater and cell, 0 where there are none; ``total`` (R, C) their
    summed scores after ``centre`` (C,), the mean of each cell's ratings, is taken away; ``within``
    the sum of squares around the mean of each rater and cell; ``condition`` (C,) int, the condition
    that each cell belongs to. Cells are what gets a mean of its own (by default the conditions
    themselves); a rater's leaning to a condition is shared by the cells of that condition.
    """

    count: Floats
    total: Floats
    centre: Floats
    within: float
    condition: Codes

    @property
    def n(self) -> int:
        """N, the number of ratings."""
        return int(self.count.sum())

    @property
    def n_conditions(self) -> int:
        """S, the number of conditions."""
        return int(self.condition.max()) + 1

    @property
    def simple(self) -> bool:
        """Whether cells and conditions are the same thing."""
        return bool(np.array_equal(self.condition, np.arange(len(self.condition))))

    def by_condition(self, values: Floats) -> Floats:
        """Values (R, C) summed over the cells of each condition: (R, S)."""
        if self.simple:
            return values
        member = self.condition[:, None] == np.arange(self.n_conditions)
        return np.asarray(values @ member.astype(np.float64))


_ROUNDING = 1e-12  # of the largest score


def residuals(y: Floats, fitted: Floats) -> Floats:
    """``y`` (n,) less ``fitted`` (n,), exactly 0 where they differ by no more than rounding.

    Scores that leave nothing to explain are known by it: their residuals are all 0.
    """
    left = y - fitted
    left[np.abs(left) <= _ROUNDING * np.abs(y).max(initial=0.0)] = 0.0
    return floats(left)


def checked_codes(y: Floats, *codes: Codes) -> None:
    """Raise ValueError unless all arrays are (n,), scores finite, codes whole numbers from 0."""
    for code in codes:
        if code.shape != y.shape:
            raise ValueError(f"{len(y)} scores but {len(code)} codes; give one of each per rating")
        if not np.issubdtype(code.dtype, np.integer) or (len(code) and code.min() < 0):
            raise ValueError("codes must be whole numbers from 0")
    if not np.isfinite(y).all():
        raise ValueError("a score is missing or infinite; leave such ratings out")
    if len(y) == 0:
        raise NotEstimable("there are no ratings", "collect some first")


def sums(y: Floats, rater: Codes, cell: Codes, condition: Codes | None = None) -> Sums:
    """The sums of scores ``y`` (n,) by codes ``rater`` (n,) and ``cell`` (n,), all from 0.

    ``condition`` (C,) gives each cell's condition; None makes every cell a condition. Raises
    ValueError for arrays that do not fit, NotEstimable for no ratings or a cell without any.
    """
    checked_codes(y, rater, cell)
    n_raters, n_cells = int(rater.max()) + 1, int(cell.max()) + 1
    owner = np.arange(n_cells) if condition is None else np.asarray(condition, dtype=np.int64)
    if len(owner) != n_cells:
        raise ValueError(f"{n_cells} cells but {len(owner)} conditions for them")
    sizes = np.bincount(cell, minlength=n_cells)
    if (sizes == 0).any():
        raise NotEstimable(f"cell {int(np.argmin(sizes))} has no ratings", "leave it out")
    centre = floats(np.bincount(cell, weights=y, minlength=n_cells) / sizes)
    place = rater * n_cells + cell
    length = n_raters * n_cells
    deviation = residuals(y, centre[cell])
    count = floats(np.bincount(place, minlength=length))
    total = floats(np.bincount(place, weights=deviation, minlength=length))
    mean = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    within = float(np.sum((deviation - mean[place]) ** 2))
    shape = (n_raters, n_cells)
    return Sums(count.reshape(shape), total.reshape(shape), centre, within, owner)


@dataclass(frozen=True)
class Quadratics:
    """The likelihood's parts at B pairs of variance ratios, of y centred as `Sums.centre` says.

    ``a`` (B, C, C) = X' V^-1 X; ``b`` (B, C) = X' V^-1 y; ``c`` (B,) = y' V^-1 y; ``logdet`` (B,) =
    log |V|; V is the covariance divided by the residual variance.
    """

    a: Floats
    b: Floats
    c: Floats
    logdet: Floats


class Nested:
    """The closed form, prepared for one set of sums."""

    def __init__(self, sums: Sums) -> None:
        self.sums = sums
        self._n = sums.by_condition(sums.count)
        self._t = sums.by_condition(sums.total)
        sizes, multiplicity = np.unique(self._n, return_counts=True)
        self._sizes, self._multiplicity = sizes, multiplicity.astype(np.float64)
        filled = sums.count > 0
        squares = np.divide(sums.total**2, sums.count, out=np.zeros_like(sums.total), where=filled)
        self._squares = sums.within + float(squares.sum())

    def at(self, ratios: Floats) -> Quadratics:
        """The parts at ``ratios`` (B, 2): rater and rater-by-condition variance over residual.

        Both are 0 or more; 0 leaves the effect out.
        """
        return Quadratics(*in_chunks(self._chunk, ratios, self._n.size))

    def _chunk(self, ratios: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        u, w = ratios[:, 0, None], ratios[:, 1, None]
        n, t = self._n, self._t
        d = 1.0 / (1.0 + n * w[:, :, None])  # (B, R, S)
        precision = np.einsum("brs,rs->br", d, n)
        reached = np.einsum("brs,rs->br", d, t)
        k = u / (1.0 + u * precision)
        q = d * n if self.sums.simple else self.sums.count * d[:, :, self.sums.condition]
        a = self._within_conditions(d, q, w) - np.matmul((k[:, :, None] * q).swapaxes(1, 2), q)
        b = self._residual_sums(d, w) - np.einsum("br,brc->bc", k * reached, q)
        shrunk = np.einsum("brs,rs->b", d, t * t) * w[:, 0]
        c = self._squares - shrunk - np.sum(k * reached**2, axis=1)
        logs = np.log1p(self._sizes * w) @ self._multiplicity
        return a, b, c, logs + np.log1p(u * precision).sum(axis=1)

    def _within_conditions(self, d: Floats, q: Floats, w: Floats) -> Floats:
        cells = len(self.sums.condition)
        here = np.arange(cells)
        a = np.zeros((len(d), cells, cells))
        if self.sums.simple:
            a[:, here, here] = q.sum(axis=1)
            return a
        same = self.sums.condition[:, None] == self.sums.condition
        a -= w[:, :, None] * same * np.matmul(q.swapaxes(1, 2), self.sums.count)
        a[:, here, here] += self.sums.count.sum(axis=0)
        return a

    def _residual_sums(self, d: Floats, w: Floats) -> Floats:
        sums = self.sums
        if sums.simple:
            return floats(np.einsum("brs,rs->bs", d, sums.total))
        pulled = sums.count * self._t[:, sums.condition]
        return np.asarray(
            sums.total.sum(axis=0) - w * np.einsum("brc,rc->bc", d[:, :, sums.condition], pulled)
        )
