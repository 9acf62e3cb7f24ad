"""Two crossed sides of the same ratings, raters and texts, as counts of how often cells meet.

A side has a coarse effect (rater, item), a fine one nested in it (rater by condition, stimulus), or
both. Its cells are its finest levels; a cell's parent is the coarse level that it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, floats


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
    joined = first * (int(second.max(initial=0)) + 1) + second
    codes: Codes = np.unique(joined, return_inverse=True)[1].astype(np.int64)
    return codes


def nested_in(fine: Codes, coarse: Codes, wrong: str = "the finer effect is not nested") -> Codes:
    """The coarse level (n,) of each level of ``fine`` (N,); ValueError where it has several."""
    parent = np.zeros(int(fine.max(initial=-1)) + 1, dtype=np.int64)
    parent[fine] = coarse
    if (parent[fine] != coarse).any():
        raise ValueError(wrong)
    return parent


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


def tables_of(out: Codes, kept: Codes, fixed: Floats) -> Tables:
    """The tables of codes ``out`` (N,) and ``kept`` (N,) with the fixed columns (N, F)."""
    a, b = (indicators(codes) for codes in (out, kept))
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
        kept_sizes=floats(np.bincount(kept)),
        kept_fixed=floats(b.T @ fixed),
        fixed=floats(fixed.T @ fixed),
    )


def indicators(codes: Codes) -> Any:
    """The sparse matrix (N, levels) with a 1 where a rating has a level."""
    n = len(codes)
    shape = (n, int(codes.max(initial=-1)) + 1)
    return sparse.csr_array((np.ones(n), (np.arange(n), codes)), shape=shape)
