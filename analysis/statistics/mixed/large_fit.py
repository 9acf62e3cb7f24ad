"""The Gaussian mixed model of millions of ratings: components by moments, means by least squares.

y = X beta + sum of Z_k u_k + e with effects of raters and of texts, as in `crossed`. The variance
components are estimated from products of two ratings that share a rater or an item, in one pass
(`Components`; Gao and Owen 2020, Statistica Sinica 30, 1741-1771). Given these, the generalised
least-squares estimate is exact: raters are eliminated in closed form, and the equations of the
texts are solved by conjugate gradients (Ghosh, Hastie and Owen 2022, Annals of Statistics 50,
560-583, section 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from analysis.statistics.clustered_variance import Components
from analysis.statistics.intervals import clustered
from analysis.statistics.mixed.crossed import Cells, Ratios, Side, cells_of, crossing, ratios_of
from analysis.statistics.mixed.linear_model import (
    ITEM,
    ORDER,
    RATER,
    RATER_CONDITION,
    STIMULUS,
    sides_of,
)
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.reml import RemlFit
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, floats

BY_MOMENTS = (
    "by moments (variances) and generalised least squares (means), as there are too many ratings "
    "for REML"
)
_NEAR = 1e-9  # of the first residual, at which the iteration ends
_MOST_STEPS = 500


def moments_fit(
    y: Floats, cell: Codes, condition: Codes, effects: Mapping[str, Codes], n_cells: int
) -> RemlFit:
    """The means of ``n_cells`` cells of scores ``y`` (n,), with effects (n,) by name.

    ``cell`` (n,) is that of each rating, ``condition`` (n,) the one that effects are nested in.
    `RemlFit.log_likelihood` is NaN. Raises NotEstimable without an effect of a text or a rater.
    """
    if RATER not in effects or not {ITEM, STIMULUS} & set(effects):
        raise NotEstimable("raters or items do not repeat", "report the clustered intervals")
    variances, spreads = _components(y, condition, effects)
    n = len(y)
    count = np.bincount(cell, minlength=n_cells).astype(np.float64)
    origin = np.bincount(cell, weights=y, minlength=n_cells) / count
    centred = y - origin[cell]
    error = variances.pop("residual")
    fixed = np.zeros((n_cells + 1, n_cells + 1))
    fixed[np.arange(n_cells), np.arange(n_cells)] = count
    fixed[:n_cells, -1] = fixed[-1, :n_cells] = np.bincount(cell, centred, minlength=n_cells)
    fixed[-1, -1] = centred @ centred
    system = _System(cell, centred, n_cells, effects, variances, error)
    del centred
    solved = system.solved()
    whole = (fixed - sum(right.T @ u for right, u in solved)) / error
    information = (whole[:n_cells, :n_cells] + whole[:n_cells, :n_cells].T) / 2
    covariance = floats(np.linalg.inv(information))
    estimate = covariance @ whole[:n_cells, -1]
    names = [name for name in ORDER if variances.get(name, 0.0) > 0]
    slopes = [covariance @ system.square(name, solved) @ covariance for name in names]
    slopes.append(_slope_of_error(covariance, slopes, [variances[n] for n in names], error))
    spread = np.array([*(spreads[name] for name in names), 2.0 * error**2 / n])
    sds = {name: float(np.sqrt(variances[name])) for name in ORDER if name in variances}
    return RemlFit(
        estimate=origin + estimate,
        covariance=covariance,
        sds={**sds, "residual": float(np.sqrt(error))},
        log_likelihood=float("nan"),
        n=n,
        parameter_covariance=np.diag(spread),
        slopes=np.array(slopes),
        notes=(BY_MOMENTS,),
    )


def _slope_of_error(
    covariance: Floats, slopes: list[Floats], variances: list[float], error: float
) -> Floats:
    """The derivative in the residual variance: the covariance is of degree 1 in all of them."""
    rest = sum((v * s for v, s in zip(variances, slopes, strict=True)), np.zeros_like(covariance))
    return (covariance - rest) / error


def _components(
    y: Floats, condition: Codes, effects: Mapping[str, Codes]
) -> tuple[dict[str, float], dict[str, float]]:
    """The variance of each effect and of the residual, and the sampling variances of the former.

    An effect that is not there is part of the residual, unless it cannot be told from a coarser or
    a finer one: raters of one condition each, and items of one stimulus each.
    """
    n_conditions = int(condition.max(initial=-1)) + 1
    text = effects[ITEM if ITEM in effects else STIMULUS]
    means = clustered(y, condition, effects[RATER], text, n_conditions)
    found = Components.from_means(means)
    variances = {
        RATER: found.rater,
        RATER_CONDITION: found.rater_condition,
        ITEM: found.item,
        STIMULUS: found.item_condition,
    }
    error = found.rest + found.pair
    if not error > 0:
        raise NotEstimable("no residual variation is left", "report the means without a model")
    if ITEM not in effects:
        variances[STIMULUS] += variances.pop(ITEM)
    rater = effects[RATER]
    rates_two = int(crossing(rater, condition).max()) > int(rater.max())  # any rater
    if RATER_CONDITION not in effects and not rates_two:
        variances[RATER] += variances.pop(RATER_CONDITION)
    for name in set(variances) - set(effects):
        error += variances.pop(name)
    n, spreads = len(y), {}
    for name in variances:
        levels = int(effects[name].max()) + 1
        spreads[name] = 2.0 * (variances[name] + error * levels / n) ** 2 / max(levels - 1, 1)
    return {**variances, "residual": error}, spreads


@dataclass(frozen=True)
class _SideBlock:
    """One side's own equations: cells nested in parents, inverted in closed form."""

    cells: Cells
    sizes: Floats
    ratios: Ratios

    @property
    def shrink(self) -> Floats:
        return 1.0 / (self.sizes + 1.0 / self.ratios.cell)

    def solve(self, right: Floats) -> Floats:
        """(Z'Z + D^-1)^-1 of columns (cells, m), in the effects of a cell and its parent summed.

        D is the covariance of the summed effects over the residual variance: its inverse by the
        formula of Sherman, Morrison and Woodbury, parent by parent.
        """
        own = right * self.shrink[:, None]
        parent, share = self.cells.parent, self.ratios.parent
        if parent is None or share == 0:
            return own
        weight = np.bincount(parent, self.sizes * self.shrink) / self.ratios.cell
        sums = _sums(parent, own, self.cells.n_parents) / self.ratios.cell
        pulled = sums / (weight + 1.0 / share)[:, None]
        back = self.shrink / self.ratios.cell
        for column in range(own.shape[1]):  # a million cells: no second array of all columns
            own[:, column] += back * pulled[parent, column]
        return own

    def parents_of(self, u: Floats) -> Floats:
        """The predicted effects of the parents (parents, m), of the summed ones (cells, m)."""
        assert self.cells.parent is not None
        total = _sums(self.cells.parent, u, self.cells.n_parents)
        count = np.bincount(self.cells.parent)
        share = self.ratios.parent / (self.ratios.cell + count * self.ratios.parent)
        return floats(total * share[:, None])


class _System:
    """The mixed model equations of both sides, for columns X (one per cell) and y."""

    def __init__(
        self,
        cell: Codes,
        y: Floats,
        n_cells: int,
        effects: Mapping[str, Codes],
        variances: Mapping[str, float],
        error: float,
    ) -> None:
        self._blocks, self._right, codes = [], [], []
        for side in sides_of({name: effects[name] for name in variances}):
            block = _block(side, effects, variances, error)
            code = block.cells.code
            right = np.zeros((block.cells.n, n_cells + 1))
            both = np.bincount(code * n_cells + cell, minlength=block.cells.n * n_cells)
            right[:, :-1] = both.reshape(block.cells.n, n_cells)
            right[:, -1] = np.bincount(code, y, minlength=block.cells.n)
            self._blocks.append(block)
            self._right.append(right)
            codes.append(code)
        shape = (self._blocks[0].cells.n, self._blocks[1].cells.n)
        rows, columns = (code.astype(np.int32) for code in codes)
        ones = np.ones(len(rows))
        self._met: Any = sparse.csr_array((ones, (rows, columns)), shape=shape)
        self._variances, self._n_cells = variances, n_cells

    def solved(self) -> list[tuple[Floats, Floats]]:
        """Of each side, Z' [X y] and the solution of its columns (cells, m)."""
        raters, texts = self._blocks
        of_raters, of_texts = self._right
        right = of_texts - self._met.T @ raters.solve(of_raters)
        u = _conjugate_gradients(self._reduced, right, texts.solve)
        v = raters.solve(of_raters - self._met @ u)
        return [(of_raters, v), (of_texts, u)]

    def _reduced(self, u: Floats) -> Floats:
        """What is left of the texts' equations (cells, m) without the raters."""
        raters, texts = self._blocks
        own = _precision_times(texts, u) + texts.sizes[:, None] * u
        return floats(own - self._met.T @ raters.solve(self._met @ u))

    def square(self, name: str, solved: list[tuple[Floats, Floats]]) -> Floats:
        """X' V^-1 Z_k Z_k' V^-1 X of an effect."""
        place = 0 if name in (RATER, RATER_CONDITION) else 1
        block, u = self._blocks[place], solved[place][1][:, : self._n_cells]
        coarse = block.cells.parent is not None and name in (RATER, ITEM)
        own = block.parents_of(u) if coarse else u
        if not coarse and block.cells.parent is not None and block.ratios.parent > 0:
            own = u - block.parents_of(u)[block.cells.parent]
        pulled = own / self._variances[name]
        return floats(pulled.T @ pulled)


def _block(
    side: Side, effects: Mapping[str, Codes], variances: Mapping[str, float], error: float
) -> _SideBlock:
    """A side's equations; a finer effect without variance is left out."""
    names = {id(codes): name for name, codes in effects.items()}
    coarse = 0.0 if side.coarse is None else variances[names[id(side.coarse)]] / error
    fine = 0.0 if side.fine is None else variances[names[id(side.fine)]] / error
    if not fine:
        side = Side(side.coarse, None)
    cells, ratios = cells_of(side), ratios_of(side, max(coarse, _LEAST), fine)
    return _SideBlock(cells, np.bincount(cells.code, minlength=cells.n).astype(np.float64), ratios)


_LEAST = 1e-9  # a ratio in place of 0


def _precision_times(block: _SideBlock, u: Floats) -> Floats:
    """D^-1 u of summed effects (cells, m)."""
    own = u / block.ratios.cell
    if block.cells.parent is None or block.ratios.parent == 0:
        return own
    return floats(own - block.parents_of(u)[block.cells.parent] / block.ratios.cell)


def _sums(codes: Codes, values: Floats, n: int) -> Floats:
    """Sums (n, m) of rows (k, m) by code (k,)."""
    columns = [np.bincount(codes, column, minlength=n) for column in values.T]
    return floats(np.column_stack(columns))


def _conjugate_gradients(matrix: Any, right: Floats, precondition: Any) -> Floats:
    """The solution (k, m) of a symmetric system for each column, by preconditioned gradients."""
    u = precondition(right)
    left = right - matrix(u)
    pushed = precondition(left)
    way, size = pushed.copy(), (left * pushed).sum(axis=0)
    least = _NEAR**2 * np.maximum((right * precondition(right)).sum(axis=0), np.finfo(float).tiny)
    for _ in range(_MOST_STEPS):
        if (size <= least).all():
            return floats(u)
        reached = matrix(way)
        curve = (way * reached).sum(axis=0)
        step = np.divide(size, curve, out=np.zeros_like(size), where=curve > 0)
        u = u + step * way
        left = left - step * reached
        pushed = precondition(left)
        new = (left * pushed).sum(axis=0)
        way = pushed + np.divide(new, size, out=np.zeros_like(new), where=size > 0) * way
        size = new
    raise NotEstimable(
        f"the equations of the mixed model did not converge in {_MOST_STEPS} steps",
        "report the clustered intervals",
    )
