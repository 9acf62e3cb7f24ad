"""The conditional logit: choices among alternatives whose log odds are linear in features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analysis.arrays import Codes, Floats
from analysis.statistics.pairs.ability_fit import jeffreys_penalty


class ConditionalLogit:
    """McFadden's (1974) model over distinct trials: P(j) = exp(x_j b) / sum of exp(x b) offered.

    ``x`` (trials, alternatives, p) are features and ``offered`` (trials, alternatives) says which
    alternatives a trial has, by default all. Observation i of n is of trial ``cell`` (n,) and chose
    ``shares[outcome[i]]``, a row of ``shares`` (outcomes, alternatives) that sums to 1: a tie may
    be half of each. ``bias_reduced`` adds the penalty of Jeffreys' prior (Firth 1993).
    """

    def __init__(
        self,
        x: Floats,
        cell: Codes,
        outcome: Codes,
        shares: Floats,
        offered: NDArray[np.bool_] | None = None,
        bias_reduced: bool = False,
    ) -> None:
        self.x, self.cell, self.outcome, self.shares = x, cell, outcome, shares
        self.bias_reduced = bias_reduced
        self.closed = None if offered is None else ~offered
        counts = np.zeros((len(x), len(shares)))
        np.add.at(counts, (cell, outcome), 1.0)
        self.chosen: Floats = counts @ shares
        self.total: Floats = self.chosen.sum(axis=1)

    def objective(self, at: Floats) -> tuple[float, Floats, Floats]:
        """The penalised log-likelihood at ``at`` (p,), its gradient (p,) and information (p, p)."""
        p = self._chances(at)
        gradient = np.einsum("cj,cjp->p", self.chosen - self.total[:, None] * p, self.x)
        centred = self.x - np.einsum("cj,cjp->cp", p, self.x)[:, None, :]
        expected = self.total[:, None] * p
        information = np.einsum("cj,cjp,cjq->pq", expected, centred, centred, optimize=True)
        value = self.likelihood(at)
        if self.bias_reduced:
            penalty, inverse = jeffreys_penalty(information)
            value += penalty
            spread = np.einsum("cjp,pq,cjq->cj", centred, inverse, centred, optimize=True)
            gradient = gradient + 0.5 * np.einsum("cj,cjp->p", expected * spread, centred)
        return value, gradient, information

    def likelihood(self, at: Floats) -> float:
        """The log-likelihood without penalties."""
        eta = self._log_odds(at)
        log_p = eta - special.logsumexp(eta, axis=1, keepdims=True)
        return float(np.sum(self.chosen * np.where(self.chosen > 0, log_p, 0.0)))

    def scores(self, at: Floats) -> Floats:
        """Each observation's gradient of the log-likelihood (n, p)."""
        p = self._chances(at)
        kinds, kind = np.unique(
            np.column_stack([self.cell, self.outcome]), axis=0, return_inverse=True
        )
        away = self.shares[kinds[:, 1]] - p[kinds[:, 0]]
        of_kind = np.einsum("uj,ujp->up", away, self.x[kinds[:, 0]])
        return np.asarray(of_kind[kind.reshape(-1)], dtype=np.float64)

    def _log_odds(self, at: Floats) -> Floats:
        eta = self.x @ at
        return eta if self.closed is None else np.where(self.closed, -np.inf, eta)

    def _chances(self, at: Floats) -> Floats:
        return np.asarray(special.softmax(self._log_odds(at), axis=1), dtype=np.float64)
