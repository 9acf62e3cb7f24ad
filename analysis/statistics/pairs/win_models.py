"""Who beats whom: Bradley and Terry's model, and Davidson's with ties, both with an order term."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analysis.arrays import Codes, Floats
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.ability_fit import (
    AbilityFit,
    centring,
    differences,
    maximise,
    summarised,
)
from analysis.statistics.pairs.comparison_graph import Connection, Separated, require_common_scale
from analysis.statistics.pairs.pair_ratings import PairRatings

ORDER, LOG_NU = "second_advantage", "log_nu"
LOG_ODDS = "log odds of winning"
NO_ORDER = "the order is unknown or never varied: no order term"


def bradley_terry(
    ratings: PairRatings,
    ties: str = "half",
    order: bool = False,
    prior_sd: float | None = None,
) -> AbilityFit:
    """Bradley and Terry (1952): P(a beats b) = 1 / (1 + exp(θ_b - θ_a)), abilities in log odds.

    ``ties`` count half a win to each ("half") or are dropped ("drop"); Davidson's model keeps them
    as what they are. ``order`` adds ``second_advantage`` to the ability of the clip heard second
    (Davidson and Beaver 1977). ``prior_sd`` is the SD of a normal prior on abilities (the mode is
    given). Raises Disconnected, Separated (Ford 1957), Undefined where no estimate is finite.
    """
    use = ratings if ties != "drop" else ratings.kept(ratings.y != 0)
    if not len(use.y):
        raise Undefined("only ties: nothing is left once they are dropped")
    graph = require_common_scale(use, ties)
    shares = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    name = "Bradley-Terry, ties as halves" if ties == "half" else "Bradley-Terry, ties dropped"
    return _fitted(use, name, shares, order, prior_sd, graph)


def davidson(
    ratings: PairRatings, order: bool = False, prior_sd: float | None = None
) -> AbilityFit:
    """Davidson (1970): odds of a win, a loss and a tie are e^θ_a : e^θ_b : ν √(e^θ_a e^θ_b).

    Term ``log_nu`` is log ν; ``order`` and ``prior_sd`` as in `bradley_terry`. Raises Undefined
    without ties (ν is 0: use Bradley-Terry) and with ties only (ν is infinite).
    """
    graph = require_common_scale(ratings)
    tied = int(np.sum(ratings.y == 0))
    if not tied:
        raise Undefined("no ties: Davidson's model is Bradley and Terry's here; use that")
    if tied == len(ratings.y):
        raise Undefined("only ties: all abilities are equal and the chance of a tie is 1")
    return _fitted(ratings, "Davidson, ties as ties", np.eye(3), order, prior_sd, graph)


def _fitted(
    ratings: PairRatings,
    model: str,
    shares: Floats,
    order: bool,
    prior_sd: float | None,
    graph: Connection,
) -> AbilityFit:
    """The fit of a choice among a, b, and a tie; ``shares`` (outcomes, alternatives)."""
    if not graph.estimable and prior_sd is None:
        raise Separated(graph)
    with_order = order and ratings.orders_known
    choice = _Choice(ratings, shares, with_order, prior_sd)
    at, information, _ = maximise(choice.objective, np.zeros(choice.size))
    return summarised(
        ratings,
        model + " (order term)" * with_order,
        LOG_ODDS,
        at,
        information,
        choice.scores(at),
        choice.terms,
        choice.likelihood(at),
        fit_note(graph, order and not with_order, prior_sd),
    )


class _Choice:
    """A conditional logit over distinct trials: features (cells, alternatives, p), counts."""

    def __init__(
        self, ratings: PairRatings, shares: Floats, with_order: bool, prior_sd: float | None
    ) -> None:
        k, alternatives = len(ratings.names), shares.shape[1]
        order = ratings.order if with_order else np.zeros_like(ratings.order)
        cells, self.cell = distinct_trials(ratings.a, ratings.b, order)
        self.outcome, self.shares = ratings.outcome, shares
        self.terms = {}
        if alternatives == 3:
            self.terms[LOG_NU] = k - 1
        if with_order:
            self.terms[ORDER] = k - 1 + len(self.terms)
        self.size = k - 1 + len(self.terms)
        self.x = np.zeros((len(cells), alternatives, self.size))
        ability = differences(cells[:, 0], cells[:, 1], k) / 2
        self.x[:, 0, : k - 1], self.x[:, 1, : k - 1] = ability, -ability
        if alternatives == 3:
            self.x[:, 2, self.terms[LOG_NU]] = 1.0
        if with_order:
            self.x[:, 0, self.terms[ORDER]] = cells[:, 2] / 2
            self.x[:, 1, self.terms[ORDER]] = -cells[:, 2] / 2
        counts = np.zeros((len(cells), len(shares)))
        np.add.at(counts, (self.cell, self.outcome), 1.0)
        self.chosen: Floats = counts @ shares
        self.total: Floats = self.chosen.sum(axis=1)
        self.penalty = prior_information(k, self.size, prior_sd)

    def objective(self, at: Floats) -> tuple[float, Floats, Floats]:
        p = self._chances(at)
        mean = np.einsum("cj,cjp->cp", p, self.x)
        gradient = np.einsum("cj,cjp->p", self.chosen - self.total[:, None] * p, self.x)
        second = np.einsum("c,cj,cjp,cjq->pq", self.total, p, self.x, self.x, optimize=True)
        information = second - np.einsum("c,cp,cq->pq", self.total, mean, mean, optimize=True)
        value = self.likelihood(at) - 0.5 * float(at @ self.penalty @ at)
        return value, gradient - self.penalty @ at, information + self.penalty

    def likelihood(self, at: Floats) -> float:
        eta = self.x @ at
        log_p = eta - special.logsumexp(eta, axis=1, keepdims=True)
        return float(np.sum(self.chosen * log_p))

    def scores(self, at: Floats) -> Floats:
        """Each rating's gradient of the log-likelihood (n, p)."""
        p = self._chances(at)
        away = self.shares[None, :, :] - p[:, None, :]
        table = np.einsum("coj,cjp->cop", away, self.x)
        return np.asarray(table[self.cell, self.outcome], dtype=np.float64)

    def _chances(self, at: Floats) -> Floats:
        return np.asarray(special.softmax(self.x @ at, axis=1), dtype=np.float64)


def distinct_trials(a: Codes, b: Codes, order: Floats) -> tuple[NDArray[Any], Codes]:
    """The distinct rows of a, b and order (cells, 3), and each trial's place among them (n,)."""
    stacked = np.column_stack([a, b, order.astype(np.int64)])
    cells, place = np.unique(stacked, axis=0, return_inverse=True)
    return cells, place.reshape(-1).astype(np.int64)


def prior_information(k: int, size: int, prior_sd: float | None) -> Floats:
    """The information (size, size) of a normal prior on k centred abilities; 0 without one."""
    penalty = np.zeros((size, size))
    if prior_sd is not None:
        if not prior_sd > 0:
            raise Undefined(f"the SD of a prior is above 0, not {prior_sd!r}")
        centre = centring(k)
        penalty[: k - 1, : k - 1] = centre.T @ centre / prior_sd**2
    return penalty


def fit_note(graph: Connection, lacks_order: bool, prior_sd: float | None) -> str:
    """What to beware of in a fit: who was never beaten, no order term, a prior."""
    notes = [graph.words, NO_ORDER * lacks_order]
    if prior_sd is not None:
        notes.append(f"regularised: a normal prior of SD {prior_sd:g} pulls the abilities together")
    return "; ".join(filter(None, notes))
