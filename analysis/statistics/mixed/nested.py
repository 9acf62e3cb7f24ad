"""The Gaussian likelihood with rater and rater-by-condition effects, in closed form, in batches.

y = beta[cell] + u[rater] + w[rater, condition] + e with u ~ N(0, ratio_u s2), w ~ N(0, ratio_w s2),
e ~ N(0, s2). Everything here is for s2 = 1. Inverting the covariance of one rater's ratings twice
by Sherman, Morrison and Woodbury leaves sums over raters and cells (Searle, Casella and McCulloch,
Variance Components, 1992, ch. 6 and app. M).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics.mixed.sufficient_statistics import Floats, Sums, floats, in_chunks


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
