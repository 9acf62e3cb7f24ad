"""Two exact orders of elimination in the mixed model equations of two crossed sides.

`Whole` eliminates one side entirely, rater by rater, in closed form; what is left is as large as
the cells of the other side. `ByCondition` eliminates condition by condition what lies inside
conditions; what is left is as large as the levels of the coarse effects. Everything is in units of
the residual variance. Searle, Casella and McCulloch, Variance Components, 1992, app. M.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import linalg, sparse

from analysis.statistics.mixed.crossed_counts import Cells, Ratios, Tables, indicators, tables_of
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, floats

_PAIR_S, _PRODUCT_S = 8e-9, 3e-11  # of a pair of entries in a sparse product, of a dense product


def _is_sparse(matrix: Any) -> bool:
    return bool(sparse.issparse(matrix))


class Parts(NamedTuple):
    """log |V|, and the cross products [X y]' V^-1 [X y] of the fixed columns (F, F)."""

    logdet: float
    fixed: Floats


class Whole:
    """One side eliminated, the other kept whole: for few kept cells, however many others."""

    def __init__(self, out: Cells, kept: Cells, fixed: Floats) -> None:
        kept = _by_parent(kept)
        self._tables = tables_of(out.code, kept.code, fixed)
        self._parents = None if out.parent is None else indicators(out.parent).T.tocsr()
        self._kept = None if kept.parent is None else _Blocks(kept.parent)

    def at(self, out: Ratios, kept: Ratios) -> Parts:
        """The likelihood's parts at the ratios of the eliminated and of the kept side."""
        matrix, right, left, logdet = _left(self._tables, self._parents, out)
        if kept.cell == 0 and self._kept is not None:
            matrix, right = self._kept.joined(matrix), self._kept.joined_rows(right)
            kept = Ratios(kept.parent, 0.0)
        if kept.cell == 0:
            return Parts(logdet, left)
        matrix[_diagonal(matrix)] += 1.0 / kept.cell
        logdet += len(matrix) * float(np.log(kept.cell))
        if kept.parent > 0 and self._kept is not None:
            logdet += self._kept.share(matrix, kept)
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


def _left(tables: Tables, parents: Any, ratios: Ratios) -> tuple[Floats, Floats, Floats, float]:
    """What is left of the cross products when cells and their parents are eliminated.

    Of kept by kept cells, kept cells by fixed columns, fixed by fixed columns; and the log |V|.
    """
    shrink = 1.0 / (1.0 + ratios.cell * tables.sizes)
    logdet = -float(np.log(shrink).sum())
    rows = []
    if ratios.cell > 0:
        rows.append(_scaled(tables.joint, np.sqrt(ratios.cell * shrink)))
    if ratios.parent > 0 and parents is not None:
        weight = parents @ (shrink * tables.sizes)
        each = ratios.parent / (1.0 + ratios.parent * weight)
        rows.append(_scaled(parents @ _scaled(tables.joint, shrink), np.sqrt(each)))
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


def _scaled(matrix: Any, by: Floats) -> Any:
    """Rows of a sparse or dense matrix times factors."""
    if not _is_sparse(matrix):
        return matrix * by[:, None]
    made = matrix.copy()
    made.data *= np.repeat(by, np.diff(matrix.indptr))
    return made


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

    def __init__(self, out: Cells, kept: Cells, condition: Codes, fixed: Floats) -> None:
        kept = _by_parent(kept)
        self._sizes = kept.n_parents, out.n_parents
        self._n_fixed = fixed.shape[1]
        self._places = [
            _Place(out, kept, np.flatnonzero(condition == value), fixed)
            for value in range(int(condition.max(initial=-1)) + 1)
        ]

    def at(self, out: Ratios, kept: Ratios) -> Parts:
        """The likelihood's parts at the ratios of the eliminated and of the kept side."""
        n = sum(self._sizes)
        border = np.zeros((n + self._n_fixed,) * 2)
        logdet = sum(place.into(border, out, kept) for place in self._places)
        ratio = np.repeat([kept.parent, out.parent], self._sizes)
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

    def __init__(self, out: Cells, kept: Cells, rows: Codes, fixed: Floats) -> None:
        kept_cells, code = np.unique(kept.code[rows], return_inverse=True)
        cells, own = np.unique(out.code[rows], return_inverse=True)
        self._tables = tables_of(own, code, fixed[rows])
        parents = np.empty(0, dtype=np.int64) if out.parent is None else out.parent[cells]
        self._out = _Group(parents, out.n_parents, len(cells))
        self._kept = None if kept.parent is None else kept.parent[kept_cells]
        self._mine = np.unique(kept_cells[:0] if self._kept is None else self._kept)
        last = kept.n_parents + out.n_parents + np.arange(fixed.shape[1])
        self._others = _compact(np.concatenate([kept.n_parents + self._out.parents, last]))

    def into(self, border: Floats, out: Ratios, kept: Ratios) -> float:
        """Add what is left of this condition to the border; the log |V| of what is eliminated."""
        matrix, right, left, logdet = _left(self._tables, None, Ratios(out.cell, 0.0))
        pulled, corner = self._others_by(out, right, left)
        if kept.cell > 0:
            matrix *= kept.cell
            matrix[_diagonal(matrix)] += 1.0
            matrix, more = _inverse(matrix)
            logdet += more
            reached = pulled @ matrix
            corner -= (kept.cell * pulled) @ reached.T
            matrix *= -1.0 / kept.cell
            matrix[_diagonal(matrix)] += 1.0 / kept.cell
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
        own = self._out.sums @ _scaled(t.joint, shrink)
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
