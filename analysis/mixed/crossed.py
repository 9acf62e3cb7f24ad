"""The Gaussian likelihood with effects that cross conditions (text) beside those inside them.

y = X beta + sum of Z_i u_i + e. Effects inside conditions (rater by condition, stimulus) never
meet across conditions, so they are eliminated condition by condition; what is left is as small as
the number of raters and texts. The mixed model equations with spherical effects are those of
Bates et al. 2015, J. Stat. Software 67(1), eq. 15-18.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import linalg, sparse

from analysis.mixed.nested import Quadratics
from analysis.mixed.sufficient import Codes, Floats, checked_codes


class Crossed:
    """The likelihood of N scores with effects across and inside S conditions.

    ``y`` (N,) scores; ``design`` (N, C) of full column rank; ``condition`` (N,) codes; ``inside``
    and ``across`` list the codes (N,) of each random effect, from 0. A level of an inside effect
    occurs in one condition only. Ratios are ordered as inside, then across. ``centre`` (C,), the
    least-squares effects, is what `Quadratics.b` and ``c`` are relative to.
    """

    def __init__(
        self,
        y: Floats,
        design: Floats,
        condition: Codes,
        inside: Sequence[Codes],
        across: Sequence[Codes],
    ) -> None:
        checked_codes(y, condition, *inside, *across)
        self.n = len(y)
        self.centre = np.asarray(np.linalg.lstsq(design, y, rcond=None)[0], dtype=np.float64)
        fixed = np.column_stack([design, y - design @ self.centre])
        levels = [int(codes.max()) + 1 for codes in (*inside, *across)]
        self._effect = np.repeat(np.arange(len(levels)), levels)
        columns = [*(_indicators(codes) for codes in (*inside, *across)), sparse.csr_array(fixed)]
        everything = sparse.hstack(columns, format="csr")
        home = _homes(condition, inside, levels)
        self._n_fixed = fixed.shape[1]
        self._first = _largest(levels[: len(inside)])
        self._split(everything, home)

    def at(self, ratios: Floats) -> Quadratics:
        """The parts at ``ratios`` (B, K), variance of each effect over the residual's, from 0."""
        parts = [self._one(row) for row in ratios]
        return Quadratics(*(np.array([part[j] for part in parts]) for j in range(4)))

    def _split(self, everything: Any, home: Codes) -> None:
        """Cross products, with columns sorted: the diagonal effect, the blocks, the border."""
        random = len(self._effect)
        diagonal = np.flatnonzero(self._effect == self._first)
        blocks = [
            np.flatnonzero((home == s) & (self._effect != self._first))
            for s in range(int(home.max(initial=-1)) + 1)
        ]
        border = np.flatnonzero(home < 0)
        rest = np.concatenate([*blocks, border, np.arange(random, everything.shape[1])])
        z, others = everything[:, diagonal], everything[:, rest]
        self._sizes = np.asarray(z.sum(axis=0), dtype=np.float64).reshape(-1)
        self._reach = (z.T @ others).tocsr()
        self._products = (others.T @ others).tocsr()
        self._rest_effect = self._effect[rest[rest < random]]
        ends = np.cumsum([0, *(len(block) for block in blocks)])
        self._blocks = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self._border = int(ends[-1])

    def _one(self, ratios: Floats) -> tuple[Floats, Floats, float, float]:
        logdet = 0.0
        products = self._products
        if self._first >= 0:
            grown = 1.0 + ratios[self._first] * self._sizes
            weights = ratios[self._first] / grown
            products = products - self._reach.T @ (self._reach * weights[:, None])
            logdet += float(np.log(grown).sum())
        scale = np.ones(products.shape[0])
        scale[: len(self._rest_effect)] = np.sqrt(ratios[self._rest_effect])
        products = (sparse.diags_array(scale) @ products @ sparse.diags_array(scale)).tocsr()
        corner = products[self._border :, self._border :].toarray()
        random = len(self._rest_effect) - self._border
        corner[np.arange(random), np.arange(random)] += 1.0
        for block in self._blocks:
            root = _root(products[block, block].toarray(), len(range(*block.indices(10**9))))
            pulled = products[block, self._border :].toarray()
            half = linalg.solve_triangular(root, pulled, lower=True, check_finite=False)
            corner -= half.T @ half
            logdet += 2.0 * float(np.log(np.diag(root)).sum())
        root = _root(corner[:random, :random], 0)
        half = linalg.solve_triangular(root, corner[:random, random:], lower=True)
        logdet += 2.0 * float(np.log(np.diag(root)).sum())
        final = corner[random:, random:] - half.T @ half
        return final[:-1, :-1], final[:-1, -1], float(final[-1, -1]), logdet


def _root(matrix: Floats, add: int) -> Floats:
    """The lower Cholesky factor of matrix plus 1 on the first ``add`` of its diagonal."""
    matrix[np.arange(add), np.arange(add)] += 1.0
    return np.asarray(linalg.cholesky(matrix, lower=True, check_finite=False))


def _indicators(codes: Codes) -> Any:
    n = len(codes)
    return sparse.csr_array((np.ones(n), (np.arange(n), codes)), shape=(n, int(codes.max()) + 1))


def _homes(condition: Codes, inside: Sequence[Codes], levels: list[int]) -> Codes:
    """The condition of each random column, -1 for effects across conditions."""
    home = np.full(sum(levels), -1, dtype=np.int64)
    start = 0
    for codes, length in zip(inside, levels[: len(inside)], strict=True):
        home[start + codes] = condition
        if (home[start + codes] != condition).any():
            raise ValueError("an effect inside conditions has a level in two conditions")
        start += length
    return home


def _largest(levels: list[int]) -> int:
    return int(np.argmax(levels)) if levels else -1
