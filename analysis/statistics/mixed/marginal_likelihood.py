"""Log-likelihoods of label counts at many parameters in one batch, and their slopes.

Both integrals are done by the trapezoid rule, which for smooth peaks converges faster than any
power of the step (Trefethen and Weideman 2014, SIAM Review 56(3), section 4): that over w for all
raters at once as a product of matrices, as cells with equal counts share it. Error of the
log-likelihood of 20,000 labels: about 1e-7 (`FINE`), 1e-5 (`FAST`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from scipy import sparse

from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, floats

_MOST_CURVED = 3.0  # a label tells at most 1/3 about its logit: the logistic's Fisher information
HERMITE = 9  # nodes
_WIDE = 0.3  # a leaning's SD, in widths of what a cell tells, that needs more than these nodes
LARGEST_SD = 25.0  # logits; beyond, all answers of a rater are alike
_CHUNK_VALUES = 300_000  # so that what is worked on stays in the processor's cache
_ALIKE = 1.3  # numbers of nodes that share a chunk: at most so much more than needed


@dataclass(frozen=True)
class Grid:
    """How fine the integrals are: ``step`` in widths of the narrowest peak, ``reach`` in SDs."""

    step: float
    reach: float


FINE = Grid(0.8, 7.0)
FAST = Grid(1.3, 5.5)


@dataclass(frozen=True)
class Points:
    """B parameters: ``beta`` (B, S), ``cut`` (B, K - 1) ascending, and two SDs (B,), in logits."""

    beta: Floats
    cut: Floats
    sd_rater: Floats
    sd_rater_condition: Floats

    def __getitem__(self, which: Codes) -> Points:
        return Points(
            self.beta[which],
            self.cut[which],
            self.sd_rater[which],
            self.sd_rater_condition[which],
        )


class MarginalLikelihood:
    """The marginal log-likelihood of label counts (R, S, K), prepared."""

    def __init__(self, counts: Floats) -> None:
        self.n_conditions, self.n_labels = counts.shape[1:]
        self.n = int(counts.sum())
        raters, conditions = np.nonzero(counts.sum(axis=2))
        keyed = np.column_stack([conditions, counts[raters, conditions]])
        kinds, place = np.unique(keyed, axis=0, return_inverse=True)
        shape = (len(counts), len(kinds))
        ones = np.ones(len(raters))
        self.member = sparse.csr_array((ones, (raters, place.reshape(-1))), shape=shape)
        self.labels = floats(kinds[:, 1:])
        self.above = self.labels[:, 1:]  # label k + 1 has cut k below it
        self.at_cut = floats(self.labels[:, :-1] + self.labels[:, 1:])
        ends = np.searchsorted(kinds[:, 0], np.arange(self.n_conditions + 1))
        self.rows = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.totals = floats(counts.sum(axis=(0, 1)))
        self.ahead = floats(counts.sum(axis=0)[:, 1:].sum(axis=1))  # labels above the lowest
        self._sizes = floats(counts.sum(axis=2))
        self._largest = float(self._sizes.max())

    def work(self, points: Points, grid: Grid) -> Codes:
        """How many numbers (B,) one evaluation goes through, whatever the machine."""
        j, x, few = self._lengths(points, grid)
        g = np.where(few, x, HERMITE * j)
        tables = self.n_conditions * (self.n_labels - 1) + 2 * len(self.labels)
        return np.asarray(g * tables + np.where(few, g * j, 0) + j * self.member.nnz)

    def values(self, points: Points, grid: Grid) -> Floats:
        """The log-likelihoods (B,) of the labels one by one (no multinomial coefficients).

        SDs above 25 are taken as impossible.
        """
        out = np.full(len(points.beta), -np.inf)
        for which, nodes in self._chunks(points, grid):
            out[which] = _Batch(self, points[which], nodes, grid).value
        return out

    def slopes(self, points: Points, grid: Grid) -> tuple[Floats, Points]:
        """The log-likelihoods (B,) and their derivatives by each parameter."""
        value = np.full(len(points.beta), -np.inf)
        flat = Points(*(np.zeros_like(x) for x in vars(points).values()))
        for which, nodes in self._chunks(points, grid):
            batch = _Batch(self, points[which], nodes, grid)
            value[which] = batch.value
            for name, derivative in vars(batch.slopes()).items():
                getattr(flat, name)[which] = derivative
        return value, flat

    def _lengths(self, points: Points, grid: Grid) -> tuple[Codes, Codes, Codes]:
        """Nodes (B,) over raters, over raters' leanings, and whether the latter are few enough."""
        sd, inner = points.sd_rater, points.sd_rater_condition
        information = self._sizes / (_MOST_CURVED + self._sizes * inner[:, None, None] ** 2)
        narrowest = (sd**-2 + information.sum(axis=2).max(axis=1)) ** -0.5
        j = 1 + np.ceil(2 * grid.reach * sd / (grid.step * narrowest)).astype(np.int64)
        narrowest = (inner**-2 + self._largest / _MOST_CURVED) ** -0.5
        wide = 2 * grid.reach * (sd + inner)
        x = 1 + np.ceil(wide / (grid.step * narrowest)).astype(np.int64)
        spread = inner * (self._largest / _MOST_CURVED) ** 0.5
        return j, x, (x <= HERMITE * j) | (spread > _WIDE)

    def _chunks(self, points: Points, grid: Grid) -> Iterator[tuple[Codes, tuple[int, int]]]:
        """Which points are done together, and with how many nodes: (J, G), G 0 for Hermite's."""
        possible = np.maximum(points.sd_rater, points.sd_rater_condition) <= LARGEST_SD
        some = np.flatnonzero(possible)
        if not len(some):
            return
        j, x, few = self._lengths(points[some], grid)
        x = np.where(few, x, 0)
        band = np.floor(np.log(np.maximum(x, 1)) / np.log(_ALIKE)).astype(np.int64)
        order = np.lexsort((j, band))
        work = self.work(points[some], grid)
        start = 0
        for i in range(1, len(order) + 1):
            mine = order[start:i]
            new = i == len(order) or (
                band[order[i]] != band[order[start]]
                or j[order[i]] > _ALIKE * j[order[start]]
                or (i + 1 - start) * work[order[i]] > _CHUNK_VALUES
            )
            if new:
                yield some[mine], (int(j[mine].max()), int(x[mine].max()))
                start = i


class _Batch:
    """A chunk of b parameters evaluated, with J nodes over raters and G over their leanings."""

    def __init__(
        self, model: MarginalLikelihood, p: Points, nodes: tuple[int, int], grid: Grid
    ) -> None:
        self._model, self._p = model, p
        self._zeta = np.linspace(-grid.reach, grid.reach, nodes[0])
        weight = np.exp(-0.5 * self._zeta**2)
        self._weight = floats(weight / weight.sum())
        self._inner = _convolved(p, self._zeta, nodes[1], grid)
        self._cells = [self._cell(s) for s in range(model.n_conditions)]
        tables = np.concatenate([cell.table for cell in self._cells])  # (kinds, b, J)
        with np.errstate(divide="ignore"):
            logs = model.member @ tables.reshape(len(tables), -1)
            logs = logs.reshape(-1, *tables.shape[1:]) + np.log(self._weight)
        top = logs.max(axis=2, keepdims=True)
        held = np.isfinite(top).all(axis=(0, 2))
        shares = np.exp(logs - np.where(held[:, None], top, 0.0))
        total = shares.sum(axis=2, keepdims=True)
        self._shares = np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)
        with np.errstate(divide="ignore"):
            value = (top + np.log(total)).sum(axis=(0, 2))
        self.value: Floats = np.where(held, value, -np.inf)

    def _cell(self, s: int) -> _Cell:
        """Condition s: each kind of cell's log-likelihood given the rater's effect."""
        model, p = self._model, self._p
        rows = model.rows[s]
        logit = p.beta[:, s, None] + self._inner.x
        below_cut = p.cut[:, :, None] - logit[:, None]
        below = np.minimum(below_cut, 0.0) - np.log1p(np.exp(-np.abs(below_cut)))
        logs = np.matmul(model.at_cut[rows], below)
        above = model.above[rows]
        logs += above.sum(axis=1)[:, None] * logit[:, None]
        logs += self._constants(rows, above)[:, :, None]
        top = logs.max(axis=2, keepdims=True)
        peak = np.exp(logs - top)
        integral = self._inner.forward(peak)
        with np.errstate(divide="ignore"):
            table = np.log(integral) + top
        return _Cell(np.exp(below - below_cut), peak, integral, table.swapaxes(0, 1))

    def _constants(self, rows: slice, above: Floats) -> Floats:
        """What the labels of each kind (b, n) add whatever the rater: gaps between cuts, cuts."""
        gaps = np.log(-np.expm1(-np.diff(self._p.cut)))
        return floats(gaps @ self._model.labels[rows, 1:-1].T - self._p.cut @ above.T)

    def slopes(self) -> Points:
        """The derivatives of the log-likelihoods by each parameter."""
        model, p = self._model, self._p
        turned = self._shares.reshape(len(self._shares), -1)
        pulled = (model.member.T @ turned).reshape(-1, len(p.beta), len(self._zeta))
        beta, cut = np.empty_like(p.beta), np.zeros_like(p.cut)
        inner = np.zeros(len(p.beta))
        for s, cell in enumerate(self._cells):
            rows = model.rows[s]
            mine = pulled[rows].swapaxes(0, 1)
            whole = cell.integral
            ratio = np.divide(mine, whole, out=np.zeros_like(mine), where=whole > 0)
            held = self._inner.backward(ratio) * cell.peak
            passed = (np.matmul(model.at_cut[rows].T, held) * cell.above).sum(axis=2)
            beta[:, s] = model.ahead[s] - passed.sum(axis=1)
            cut += passed
            inner += self._inner.slope(cell.peak, ratio, partial(self._rising, s))
        cut -= model.totals[1:]
        gaps = model.totals[1:-1] / np.expm1(np.diff(p.cut))
        cut[:, 1:] += gaps
        cut[:, :-1] -= gaps
        square = self._zeta**2
        spread = (self._shares @ square).sum(axis=0) - len(self._shares) * (self._weight @ square)
        return Points(beta, cut, floats(spread / p.sd_rater), inner)

    def _rising(self, s: int) -> Floats:
        """The slope of each kind's log-likelihood (b, n, G) along the logit."""
        rows = self._model.rows[s]
        all_above = self._model.above[rows].sum(axis=1)[:, None]
        return floats(all_above - np.matmul(self._model.at_cut[rows], self._cells[s].above))


class _Kernel:
    """The integral over a rater's leaning as a product of matrices: G nodes, the same for all u."""

    def __init__(self, p: Points, zeta: Floats, length: int, grid: Grid) -> None:
        sd = p.sd_rater_condition[:, None]
        half = grid.reach * (p.sd_rater[:, None] + sd)
        self.x = floats(half * np.linspace(-1.0, 1.0, length))
        apart = (self.x[:, :, None] - p.sd_rater[:, None, None] * zeta) / sd[:, None]
        self._square, self._sd = floats(apart**2), sd[:, 0]
        height = 2.0 * half / (length - 1) / (sd * np.sqrt(2.0 * np.pi))
        self._kernel = floats(np.exp(-0.5 * self._square) * height[:, None])

    def forward(self, peak: Floats) -> Floats:
        """Values (b, n, G) along the logit integrated: (b, n, J)."""
        return np.asarray(np.matmul(peak, self._kernel))

    def backward(self, ratio: Floats) -> Floats:
        """How much each value (b, n, G) counts in integrals (b, n, J) of these weights."""
        return np.asarray(np.matmul(ratio, self._kernel.swapaxes(1, 2)))

    def slope(self, peak: Floats, ratio: Floats, rising: Callable[[], Floats]) -> Floats:
        """The derivative (b,) of the weighted logs of integrals by the SD."""
        held = np.matmul(peak.swapaxes(1, 2), ratio) * self._kernel
        return floats((held * (self._square - 1.0)).sum(axis=(1, 2)) / self._sd)


class _Hermite:
    """The same by Gauss and Hermite's nodes around each u: next to no variance, a few nodes do."""

    def __init__(self, p: Points, zeta: Floats) -> None:
        z, weight = np.polynomial.hermite_e.hermegauss(HERMITE)
        u = p.sd_rater[:, None, None] * zeta
        x = u + p.sd_rater_condition[:, None, None] * z[:, None]
        self.x = floats(x.reshape(len(x), -1))
        self._moves = np.repeat(z, len(zeta))
        self._weight = floats(weight / weight.sum())

    def forward(self, peak: Floats) -> Floats:
        """As `_Kernel.forward`."""
        parts = peak.reshape(*peak.shape[:2], len(self._weight), -1)
        return np.asarray(np.einsum("bnhj,h->bnj", parts, self._weight))

    def backward(self, ratio: Floats) -> Floats:
        """As `_Kernel.backward`."""
        return floats((ratio[:, :, None] * self._weight[:, None]).reshape(*ratio.shape[:2], -1))

    def slope(self, peak: Floats, ratio: Floats, rising: Callable[[], Floats]) -> Floats:
        """As `_Kernel.slope`; ``rising`` gives the slope of the logs along the logit."""
        return floats((self.backward(ratio) * peak * rising()).sum(axis=1) @ self._moves)


def _convolved(p: Points, zeta: Floats, length: int, grid: Grid) -> _Kernel | _Hermite:
    return _Kernel(p, zeta, length, grid) if length else _Hermite(p, zeta)


@dataclass(frozen=True)
class _Cell:
    """P(label above each cut) (b, K - 1, G), likelihood (b, n, G), its integral and log."""

    above: Floats
    peak: Floats
    integral: Floats
    table: Floats
