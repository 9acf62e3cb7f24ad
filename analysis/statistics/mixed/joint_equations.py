"""The mixed model equations of a small design solved whole, for many variance ratios at once.

(I + L Z'Z L) b = L Z'[X y], L the roots of the ratios (Bates et al. 2015, J. Stat. Software 67(1),
eq. 15-18). In units of the residual variance, as `elimination`, whose orders are for designs where
one value of the likelihood takes longer than the call.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.statistics.mixed.crossed_counts import indicators
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, floats, in_chunks

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


def n_levels(codes: Sequence[Codes]) -> int:
    """How many levels all effects have together."""
    return sum(int(code.max(initial=-1)) + 1 for code in codes)
