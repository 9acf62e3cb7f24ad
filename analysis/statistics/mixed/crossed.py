"""The Gaussian likelihood of two crossed sides, raters and texts, each with effects of two levels.

y = X beta + sum of Z_k u_k + e: rater and rater by condition on the one side, item and stimulus on
the other; the finer effect of a side is nested in the coarser. The mixed model equations (Bates et
al. 2015, J. Stat. Software 67(1), eq. 15-18) are solved exactly, in that order of elimination that
is the least work, or whole where they are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from analysis.arrays import distinct_codes
from analysis.statistics.mixed.sufficient_statistics import (
    Codes,
    Floats,
    Quadratics,
    checked_codes,
    floats,
    in_chunks,
    residuals,
)


class Ratios(NamedTuple):
    """Variances of a side's effects over that of the residual, 0 for an effect that is not there.

    ``cell`` is that of the cells, ``parent`` that of what they are nested in.
    """

    cell: float
    parent: float


@dataclass(frozen=True)
class Side:
    """The codes (N,) from 0 of a side's ``coarse`` and ``fine`` effect; None for no such effect.

    Raises ValueError where the fine effect is not nested in the coarse one.
    """

    coarse: Codes | None
    fine: Codes | None

    def __post_init__(self) -> None:
        if self.coarse is not None and self.fine is not None:
            nested_in(self.fine, self.coarse)


@dataclass(frozen=True)
class Cells:
    """The cells of a side: ``code`` (N,) of each rating, and the ``parent`` (n,) of each cell.

    ``parent`` is None where there is no coarse effect beside that of the cells.
    """

    code: Codes
    parent: Codes | None

    @property
    def n(self) -> int:
        """How many cells there are."""
        return int(self.code.max(initial=-1)) + 1

    @property
    def n_parents(self) -> int:
        """How many parents they have."""
        return 0 if self.parent is None else int(self.parent.max(initial=-1)) + 1


def cells_of(side: Side) -> Cells:
    """The cells of a side: its finest effect, below its coarse one if it has both."""
    if side.fine is None or side.coarse is None:
        only = side.fine if side.coarse is None else side.coarse
        assert only is not None
        return Cells(only, None)
    return Cells(side.fine, nested_in(side.fine, side.coarse))


def ratios_of(side: Side, coarse: float, fine: float) -> Ratios:
    """The ratios of `cells_of` a side, of the ratios of its effects."""
    if side.fine is None:
        return Ratios(coarse, 0.0)
    return Ratios(fine, 0.0 if side.coarse is None else coarse)


def cells_inside(side: Side, condition: Codes) -> Cells:
    """The cells of a side that lie in one condition each, below its coarse effect if it has one.

    Raises ValueError where a level of the fine effect occurs in two conditions.
    """
    if side.fine is not None:
        nested_in(side.fine, condition, "an effect inside conditions has a level in two conditions")
        return cells_of(side) if side.coarse is not None else Cells(side.fine, None)
    assert side.coarse is not None
    code = crossing(side.coarse, condition)
    return Cells(code, nested_in(code, side.coarse))


def crossing(first: Codes, second: Codes) -> Codes:
    """Codes (n,) from 0 without gaps of the combinations of two codes (n,)."""
    if _parents(first, second) is not None:  # the first tells the second, and nothing is sorted
        return distinct_codes(first)[1]
    return distinct_codes(first * (int(second.max(initial=0)) + 1) + second)[1]


def nested_in(fine: Codes, coarse: Codes, wrong: str = "the finer effect is not nested") -> Codes:
    """The coarse level (n,) of each level of ``fine`` (N,); ValueError where it has several."""
    parents = _parents(fine, coarse)
    if parents is None:
        raise ValueError(wrong)
    return parents


def are_one(first: Codes, second: Codes) -> bool:
    """Whether two effects (n,), codes from 0 without gaps, have the same levels."""
    return int(first.max()) == int(second.max()) and _parents(first, second) is not None


def _parents(fine: Codes, coarse: Codes) -> Codes | None:
    """The coarse level of each fine one (N,); None where one has several."""
    parents = np.zeros(int(fine.max(initial=-1)) + 1, dtype=np.int64)
    parents[fine] = coarse
    return parents if (parents[fine] == coarse).all() else None


@dataclass(frozen=True)
class Tables:
    """How A cells to be eliminated meet B cells that are kept, and F fixed columns, the last is y.

    ``joint`` (A, B + F) counts of ratings, then the sums of the fixed columns, sparse or dense;
    ``sizes`` (A,) ratings of each cell; ``kept_sizes`` (B,) and ``kept_fixed`` (B, F) likewise of
    the kept cells; ``fixed`` (F, F) the cross products of the fixed columns.
    """

    joint: Any
    sizes: Floats
    kept_sizes: Floats
    kept_fixed: Floats
    fixed: Floats


_DENSE = 200_000  # values of a table that is small enough to be dense


def tables_of(out: Codes, retained: Codes, fixed: Floats) -> Tables:
    """The tables of codes ``out`` (N,) and ``retained`` (N,) with the fixed columns (N, F)."""
    a, b = (indicators(codes) for codes in (out, retained))
    own, met = floats(a.T @ fixed), a.T @ b
    dense = met.shape[0] * met.shape[1] <= _DENSE
    joint = (
        np.hstack([met.toarray(), own])
        if dense
        else sparse.hstack([met, sparse.csr_array(own)], format="csr")
    )
    return Tables(
        joint=joint,
        sizes=floats(np.bincount(out)),
        kept_sizes=floats(np.bincount(retained)),
        kept_fixed=floats(b.T @ fixed),
        fixed=floats(fixed.T @ fixed),
    )


def indicators(codes: Codes) -> Any:
    """The sparse matrix (N, levels) with a 1 where a rating has a level."""
    n = len(codes)
    shape = (n, int(codes.max(initial=-1)) + 1)
    return sparse.csr_array((np.ones(n), (np.arange(n), codes)), shape=shape)


MOST_VALUES = 1.2e8  # held at once: 1 GB

# what a step costs, in floating-point operations of a large product of matrices
CALL, _PLACE = 1e7, 4e6  # of one evaluation, and of one condition, however small
_PAIR, _ENTRY = 300.0, 300.0  # of a pair of entries in a sparse product, of a value that is moved


class Plan(NamedTuple):
    """An order of elimination: which side goes first, condition by condition or whole.

    ``work`` is that of one evaluation of the likelihood, in floating-point operations.
    """

    work: float
    by_condition: bool
    first: int


def least(sides: Sequence[Side], condition: Codes) -> Plan:
    """The order that is the least work; infinite work where none fits into memory.

    ``sides`` are one or two, ``condition`` (N,) codes.
    """
    plans = [Plan(np.inf, by_condition=False, first=0)]
    for first, out in enumerate(sides):
        retained = sides[1 - first] if len(sides) > 1 else None
        if retained is None:
            return Plan(CALL, by_condition=False, first=first)
        plans.append(_whole(cells_of(out), cells_of(retained), first))
        inside = [cells_inside(side, condition) for side in (out, retained)]
        plans.append(_by_condition(inside[0], inside[1], condition, first))
    return min(plans)


def _whole(out: Cells, retained: Cells, first: int) -> Plan:
    n = float(retained.n)
    if 2 * n**2 >= MOST_VALUES:
        return Plan(np.inf, by_condition=False, first=first)
    pairs = _pairs(out.code, retained.code)
    if out.parent is not None:
        pairs += _pairs(out.parent[out.code], retained.code)
    products = min(_PAIR * pairs, (out.n + out.n_parents) * n**2)
    work = n**3 / 3 + _ENTRY * n**2 + products + CALL
    return Plan(work, by_condition=False, first=first)


def _by_condition(out: Cells, retained: Cells, condition: Codes, first: int) -> Plan:
    border = float(out.n_parents + retained.n_parents)
    home = np.zeros(retained.n, dtype=np.int64)
    home[retained.code] = condition
    sizes = np.bincount(home).astype(np.float64)
    held = 2 * border**2 + 3 * float(sizes.max()) ** 2
    if held >= MOST_VALUES:
        return Plan(np.inf, by_condition=True, first=first)
    each = 1.5 * sizes**3 + 3.0 * _ENTRY * sizes**2 + _PLACE
    products = min(_PAIR * _pairs(out.code, retained.code), out.n * float(sizes.max()) ** 2)
    work = border**3 / 3 + _ENTRY * border**2 + float(each.sum()) + products + CALL
    return Plan(work, by_condition=True, first=first)


def _pairs(out: Codes, retained: Codes) -> float:
    """How many pairs of kept levels meet at the same level that is eliminated."""
    joined = np.unique(out * (int(retained.max(initial=0)) + 1) + retained)
    met = np.bincount(joined // (int(retained.max(initial=0)) + 1)).astype(np.float64)
    return float((met**2).sum())


_PAIR_S, _PRODUCT_S = 8e-9, 3e-11  # of a pair of entries in a sparse product, of a dense product


def _is_sparse(matrix: Any) -> bool:
    return bool(sparse.issparse(matrix))


class Parts(NamedTuple):
    """log |V|, and the cross products [X y]' V^-1 [X y] of the fixed columns (F, F)."""

    logdet: float
    fixed: Floats


class Whole:
    """One side eliminated, the other kept whole: for few kept cells, however many others."""

    def __init__(self, out: Cells, retained: Cells, fixed: Floats) -> None:
        retained = _by_parent(retained)
        self._tables = tables_of(out.code, retained.code, fixed)
        self._parents = None if out.parent is None else indicators(out.parent).T.tocsr()
        self._kept = None if retained.parent is None else _Blocks(retained.parent)

    def at(self, out: Ratios, retained: Ratios) -> Parts:
        """The likelihood's parts at the ratios of the eliminated and of the kept side."""
        matrix, right, left, logdet = _eliminate(self._tables, self._parents, out)
        if retained.cell == 0 and self._kept is not None:
            matrix, right = self._kept.joined(matrix), self._kept.joined_rows(right)
            retained = Ratios(retained.parent, 0.0)
        if retained.cell == 0:
            return Parts(logdet, left)
        matrix[_diagonal(matrix)] += 1.0 / retained.cell
        logdet += len(matrix) * float(np.log(retained.cell))
        if retained.parent > 0 and self._kept is not None:
            logdet += self._kept.share(matrix, retained)
        root = _root(matrix)
        half = linalg.blas.dtrsm(1.0, root, right, lower=1)
        return Parts(logdet + _logdet(root), left - half.T @ half)


class _Blocks:
    """Kept cells sorted by parent: which lie together."""

    def __init__(self, parent: Codes) -> None:
        self._starts = np.searchsorted(parent, np.arange(int(parent[-1]) + 1))
        self._sizes = np.bincount(parent).astype(np.int64)
        members = self._sizes[parent]
        self._rows = np.repeat(np.arange(len(parent)), members)
        within = np.arange(len(self._rows)) - np.repeat(np.cumsum(members) - members, members)
        self._columns = np.repeat(self._starts[parent], members) + within
        self._owner = np.repeat(parent, members)

    def share(self, matrix: Floats, ratios: Ratios) -> float:
        """Take off the inverse prior what the common parent adds; the change of log |prior|."""
        whole = ratios.cell + self._sizes * ratios.parent
        matrix[self._rows, self._columns] -= (ratios.parent / (ratios.cell * whole))[self._owner]
        return float(np.log(whole / ratios.cell).sum())

    def joined(self, matrix: Floats) -> Floats:
        """A matrix of cells summed to one of parents."""
        return floats(np.add.reduceat(self.joined_rows(matrix), self._starts, axis=1))

    def joined_rows(self, matrix: Floats) -> Floats:
        """Rows of cells summed to rows of parents."""
        return floats(np.add.reduceat(matrix, self._starts, axis=0))


def _by_parent(cells: Cells) -> Cells:
    """The same cells, renumbered in the order of their parents."""
    if cells.parent is None:
        return cells
    order = np.argsort(cells.parent, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Cells(place[cells.code], cells.parent[order])


def _eliminate(
    tables: Tables, parents: Any, ratios: Ratios
) -> tuple[Floats, Floats, Floats, float]:
    """What is left of the cross products when cells and their parents are eliminated.

    Of kept by kept cells, kept cells by fixed columns, fixed by fixed columns; and the log |V|.
    """
    shrink = 1.0 / (1.0 + ratios.cell * tables.sizes)
    logdet = -float(np.log(shrink).sum())
    rows = []
    if ratios.cell > 0:
        rows.append(_scale_rows(tables.joint, np.sqrt(ratios.cell * shrink)))
    if ratios.parent > 0 and parents is not None:
        weight = parents @ (shrink * tables.sizes)
        each = ratios.parent / (1.0 + ratios.parent * weight)
        rows.append(_scale_rows(parents @ _scale_rows(tables.joint, shrink), np.sqrt(each)))
        logdet += float(np.log1p(ratios.parent * weight).sum())
    taken = _gram(rows) if rows else np.zeros((tables.joint.shape[1],) * 2)
    n = len(tables.kept_sizes)
    left, right = tables.fixed - taken[n:, n:], tables.kept_fixed - taken[:n, n:]
    matrix = np.negative(taken[:n, :n])
    matrix[_diagonal(matrix)] += tables.kept_sizes
    return matrix, right, left, logdet


def _diagonal(matrix: Floats) -> tuple[Codes, Codes]:
    here = np.arange(len(matrix))
    return here, here


def _gram(rows: list[Any]) -> Floats:
    """The cross products of the columns of stacked rows."""
    if not _is_sparse(rows[0]):
        stacked = np.concatenate(rows)
        return floats(stacked.T @ stacked)
    joined = sparse.vstack(rows, format="csr")
    pairs = float((np.diff(joined.indptr).astype(np.float64) ** 2).sum())
    if pairs * _PAIR_S < float(joined.shape[0]) * joined.shape[1] ** 2 * _PRODUCT_S:
        return floats((joined.T @ joined).toarray())
    return floats(sum(_dense_gram(joined, i) for i in range(0, joined.shape[0], _ROWS)))


_ROWS = 2000  # of a sparse matrix that are dense at a time


def _dense_gram(matrix: Any, start: int) -> Floats:
    part = matrix[start : start + _ROWS].toarray()
    return floats(part.T @ part)


def _scale_rows(matrix: Any, by: Floats) -> Any:
    """Rows of a sparse or dense matrix times factors."""
    if not _is_sparse(matrix):
        return matrix * by[:, None]
    scaled = matrix.copy()
    scaled.data *= np.repeat(by, np.diff(matrix.indptr))
    return scaled


def _root(matrix: Floats) -> Floats:
    """The lower Cholesky factor of a symmetric matrix, in its place; the upper half is not used."""
    root, info = linalg.lapack.dpotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
    if info:
        raise np.linalg.LinAlgError("the mixed model equations are singular")
    return floats(root)


def _logdet(root: Floats) -> float:
    return 2.0 * float(np.log(np.diag(root)).sum())


def _inverse(matrix: Floats) -> tuple[Floats, float]:
    """The inverse of a symmetric matrix and the logarithm of its determinant, in its place."""
    root, info = linalg.lapack.dpotrf(matrix.T, lower=1, overwrite_a=1, clean=1)
    if info:
        raise np.linalg.LinAlgError("the mixed model equations are singular")
    logdet = _logdet(root)
    lower, _ = linalg.lapack.dpotri(root, lower=1, overwrite_c=1)
    inverse = lower + lower.T
    inverse[_diagonal(inverse)] /= 2.0
    return floats(inverse), logdet


class ByCondition:
    """What lies inside conditions eliminated first: for many conditions, or sides of like size."""

    def __init__(self, out: Cells, retained: Cells, condition: Codes, fixed: Floats) -> None:
        retained = _by_parent(retained)
        self._sizes = retained.n_parents, out.n_parents
        self._n_fixed = fixed.shape[1]
        self._places = [
            _Place(out, retained, np.flatnonzero(condition == value), fixed)
            for value in range(int(condition.max(initial=-1)) + 1)
        ]

    def at(self, out: Ratios, retained: Ratios) -> Parts:
        """The likelihood's parts at the ratios of the eliminated and of the kept side."""
        n = sum(self._sizes)
        border = np.zeros((n + self._n_fixed,) * 2)
        logdet = sum(place.into(border, out, retained) for place in self._places)
        ratio = np.repeat([retained.parent, out.parent], self._sizes)
        used, left = np.flatnonzero(ratio > 0), border[n:, n:]
        if not len(used):
            return Parts(logdet, left)
        scale = np.sqrt(ratio[used])
        matrix = border[:n, :n] if len(used) == n else border[np.ix_(used, used)]
        matrix = matrix * scale[:, None]
        matrix *= scale
        matrix[_diagonal(matrix)] += 1.0
        root = _root(matrix)
        half = linalg.blas.dtrsm(1.0, root, border[used, n:] * scale[:, None], lower=1)
        return Parts(logdet + _logdet(root), left - half.T @ half)


class _Place:
    """One condition: how its cells of both sides meet, and which parents they have.

    The columns of the border are the parents of the kept side, those of the other, the fixed ones.
    Of what is symmetric the upper triangle is enough.
    """

    def __init__(self, out: Cells, retained: Cells, rows: Codes, fixed: Floats) -> None:
        kept_cells, code = np.unique(retained.code[rows], return_inverse=True)
        cells, own = np.unique(out.code[rows], return_inverse=True)
        self._tables = tables_of(own, code, fixed[rows])
        parents = np.empty(0, dtype=np.int64) if out.parent is None else out.parent[cells]
        self._out = _Group(parents, out.n_parents, len(cells))
        self._kept = None if retained.parent is None else retained.parent[kept_cells]
        self._mine = np.unique(kept_cells[:0] if self._kept is None else self._kept)
        last = retained.n_parents + out.n_parents + np.arange(fixed.shape[1])
        self._others = _compact(np.concatenate([retained.n_parents + self._out.parents, last]))

    def into(self, border: Floats, out: Ratios, retained: Ratios) -> float:
        """Add what is left of this condition to the border; the log |V| of what is eliminated."""
        matrix, right, left, logdet = _eliminate(self._tables, None, Ratios(out.cell, 0.0))
        pulled, corner = self._others_by(out, right, left)
        if retained.cell > 0:
            matrix *= retained.cell
            matrix[_diagonal(matrix)] += 1.0
            matrix, more = _inverse(matrix)
            logdet += more
            reached = pulled @ matrix
            corner -= (retained.cell * pulled) @ reached.T
            matrix *= -1.0 / retained.cell
            matrix[_diagonal(matrix)] += 1.0 / retained.cell
        else:
            reached = pulled.toarray() if _is_sparse(pulled) else pulled
        _add(border, self._others, self._others, corner)
        if self._kept is not None:
            mine = _compact(self._mine)
            _add(border, mine, mine, self._summed(self._summed(matrix).T))
            _add(border, mine, self._others, self._summed(reached).T)
        return logdet

    def _others_by(self, out: Ratios, right: Floats, left: Floats) -> tuple[Any, Floats]:
        """Products of the other side's parents and the fixed columns: by kept cells, by themselves.

        ``right`` and ``left`` are those of the fixed columns.
        """
        t = self._tables
        n = len(t.kept_sizes)
        shrink = 1.0 / (1.0 + out.cell * t.sizes)
        own = self._out.sums @ _scale_rows(t.joint, shrink)
        size = len(self._out.parents)
        fixed = own[:, n:].toarray() if _is_sparse(own) else own[:, n:]
        corner = np.zeros((size + len(left),) * 2)
        corner[np.arange(size), np.arange(size)] = self._out.sums @ (shrink * t.sizes)
        corner[:size, size:], corner[size:, :size], corner[size:, size:] = fixed, fixed.T, left
        if not _is_sparse(own):
            return np.concatenate([own[:, :n], right.T]), corner
        pulled: Any = sparse.vstack([own[:, :n], sparse.csr_array(right.T)], format="csr")
        return pulled, corner

    def _summed(self, matrix: Floats) -> Floats:
        """Columns of kept cells, sorted by parent, summed to columns of parents."""
        if self._kept is None or len(self._kept) == len(self._mine):
            return matrix
        return floats(np.add.reduceat(matrix, np.searchsorted(self._kept, self._mine), axis=1))


class _Group:
    """The parents of some cells, and ``sums`` (parents, cells) over those of each.

    Where most parents have a cell, those without are there too: then their columns lie together.
    """

    def __init__(self, parent: Codes, n_parents: int, n_cells: int) -> None:
        self.parents, code = np.unique(parent, return_inverse=True)
        if len(self.parents) / max(1, n_parents) > _MOST:
            self.parents, code = np.arange(n_parents), parent
        ones, shape = np.ones(len(parent)), (len(self.parents), n_cells)
        self.sums: Any = sparse.csr_array((ones, (code, np.arange(len(parent)))), shape=shape)


_MOST = 0.7  # of the parents


def _compact(places: Codes) -> Codes | slice:
    """Places in ascending order as a slice, where they lie together."""
    together = len(places) and len(places) == places[-1] - places[0] + 1
    return slice(int(places[0]), int(places[-1]) + 1) if together else places


def _add(border: Floats, rows: Codes | slice, columns: Codes | slice, values: Floats) -> None:
    """Add values to the border where these rows and columns meet."""
    if isinstance(rows, slice) and isinstance(columns, slice):
        border[rows, columns] += values
        return
    every = np.arange(len(border))
    border[np.ix_(every[rows], every[columns])] += values


MOST_LEVELS = 40  # of all effects together: up to here this is several times quicker


class Joint:
    """The likelihood of effects with ``codes``, each (N,) from 0, and fixed columns (N, F)."""

    def __init__(self, codes: Sequence[Codes], fixed: Floats) -> None:
        columns = [indicators(code).toarray() for code in codes]
        z = np.hstack(columns)
        self._effect = np.repeat(np.arange(len(codes)), [each.shape[1] for each in columns])
        self._cross, self._right, self._fixed = z.T @ z, z.T @ fixed, fixed.T @ fixed

    def at(self, ratios: Floats) -> tuple[Floats, Floats]:
        """log |V| (B,) and the cross products [X y]' V^-1 [X y] (B, F, F) at ratios (B, K)."""
        logdet, fixed = in_chunks(self._chunk, ratios, self._cross.size)
        return floats(logdet), floats(fixed)

    def _chunk(self, ratios: Floats) -> tuple[Floats, Floats]:
        scale = np.sqrt(ratios)[:, self._effect]
        matrix = scale[:, :, None] * self._cross * scale[:, None, :]
        matrix += np.eye(len(self._cross))
        root = np.linalg.cholesky(matrix)
        half = np.linalg.solve(root, scale[:, :, None] * self._right)
        logdet = 2.0 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        return logdet, self._fixed - np.matmul(half.swapaxes(1, 2), half)


class Crossed:
    """The likelihood of N scores with the effects of one or two sides.

    ``y`` (N,) scores; ``design`` (N, C) of full column rank; ``condition`` (N,) codes, in one of
    which every level of a fine effect must lie. Ratios are ordered by side, the coarse effect
    before the fine one, without those that are not there. ``centre`` (C,), the least-squares
    effects, is what `Quadratics.b` and ``c`` are relative to; ``rank`` is that of the design.
    ``plan`` is the order of elimination, by default the one that is the least work; with at most
    `MOST_LEVELS` levels there is by default none, and all are solved for at once.
    """

    def __init__(
        self,
        y: Floats,
        design: Floats,
        condition: Codes,
        sides: Sequence[Side],
        plan: Plan | None = None,
    ) -> None:
        codes = [x for side in sides for x in (side.coarse, side.fine) if x is not None]
        checked_codes(y, condition, *codes)
        inside = [cells_inside(side, condition) for side in sides]
        solution = np.linalg.lstsq(design, y, rcond=None)
        self.centre, self.rank = np.asarray(solution[0], dtype=np.float64), int(solution[2])
        fixed = np.column_stack([design, residuals(y, design @ self.centre)])
        self._sides = sides
        self._joint: Joint | None = None
        n_levels = sum(int(code.max(initial=-1)) + 1 for code in codes)
        if plan is None and n_levels <= MOST_LEVELS:
            self.plan = Plan(CALL / 5, by_condition=False, first=0)
            self._joint = Joint(codes, fixed)
            return
        self.plan = plan or least(sides, condition)
        cells = inside if self.plan.by_condition else [cells_of(side) for side in sides]
        out = cells[self.plan.first]
        retained = (
            cells[1 - self.plan.first] if len(cells) > 1 else Cells(np.zeros_like(condition), None)
        )
        self._model = (
            ByCondition(out, retained, condition, fixed)
            if self.plan.by_condition
            else Whole(out, retained, fixed)
        )

    def at(self, ratios: Floats) -> Quadratics:
        """The parts at ``ratios`` (B, K), variance of each effect over the residual's, from 0."""
        if self._joint is not None:
            logdet, fixed = self._joint.at(ratios)
        else:
            parts = [self._one(row) for row in ratios]
            fixed = np.array([part.fixed for part in parts])
            logdet = np.array([part.logdet for part in parts])
        return Quadratics(fixed[:, :-1, :-1], fixed[:, :-1, -1], fixed[:, -1, -1], logdet)

    def _one(self, row: Floats) -> Parts:
        remaining, ratios = iter(row.tolist()), []
        for side in self._sides:
            coarse = 0.0 if side.coarse is None else next(remaining)
            fine = 0.0 if side.fine is None else next(remaining)
            whole = not self.plan.by_condition
            ratios.append(ratios_of(side, coarse, fine) if whole else Ratios(fine, coarse))
        out = ratios[self.plan.first]
        retained = ratios[1 - self.plan.first] if len(ratios) > 1 else Ratios(0.0, 0.0)
        return self._model.at(out, retained)
