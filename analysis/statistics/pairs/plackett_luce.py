"""Plackett and Luce's model of rankings: strengths of systems that raters put in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.ability_fit import (
    AbilityFit,
    jeffreys_penalty,
    maximise,
    summarise_fit,
)

SCALE = "log odds of being placed first"


@dataclass(frozen=True)
class Rankings:
    """n rankings of k systems: ``place`` (n, k), 1 the best, NaN where a system was not ranked.

    Equal places are ties. ``rater`` and ``item`` (n,) are codes.
    """

    names: tuple[str, ...]
    place: Floats
    rater: Codes
    item: Codes

    def among(self, names: Sequence[str]) -> Rankings:
        """The rankings of some systems only; those of fewer than two are left out."""
        chosen = [code for code, name in enumerate(self.names) if name in set(names)]
        place = self.place[:, chosen]
        use = np.isfinite(place).sum(axis=1) > 1
        remaining = tuple(self.names[code] for code in chosen)
        return Rankings(remaining, place[use], self.rater[use], self.item[use])


def plackett_luce(rankings: Rankings, bias_reduced: bool = False) -> AbilityFit:
    """Plackett (1975), Luce (1959): the best is chosen, then the best of the rest, and so on.

    The chance that a is chosen among a set is e^θ_a over the sum of e^θ. Systems that share a
    place are taken as placed in an order that nobody knows, after Efron (1977). ``bias_reduced``
    adds the penalty of Jeffreys' prior (Firth 1993): estimates are finite whoever won. Raises
    Undefined with fewer than two systems or no ranking, and where no estimate is finite.
    """
    k = len(rankings.names)
    if k < 2 or not len(rankings.place):
        raise Undefined("no rankings of two systems or more yet")
    stages = _Stages(rankings, bias_reduced)
    at, information, _ = maximise(stages.objective, np.zeros(k - 1))
    return summarise_fit(
        rankings,
        "Plackett-Luce, ties by Efron" + ", bias-reduced" * bias_reduced,
        SCALE,
        at,
        information,
        stages.scores(at),
        {},
        stages.likelihood(at),
    )


class _Stages:
    """Choices of the best among the rest: (s, k) weights in the set, and shares chosen."""

    def __init__(self, rankings: Rankings, bias_reduced: bool) -> None:
        self.bias_reduced, self.n = bias_reduced, len(rankings.place)
        sets, chosen, ranking = [], [], []
        for row, place in enumerate(rankings.place):
            known = np.isfinite(place)
            for each in np.unique(place[known]):
                tied, rest = place == each, known & (place >= each)
                size = int(tied.sum())
                for step in range(size if rest.sum() > 1 else 0):
                    sets.append(np.where(tied, 1 - step / size, rest.astype(np.float64)))
                    chosen.append(tied / size)
                    ranking.append(row)
        if not sets:
            raise Undefined("no rankings of two systems or more yet")
        self.sets, self.chosen = np.array(sets), np.array(chosen)
        self.ranking = np.array(ranking, dtype=np.int64)

    def objective(self, at: Floats) -> tuple[float, Floats, Floats]:
        p = self._chances(at)
        gradient = (self.chosen - p).sum(axis=0)
        information = np.diag(p.sum(axis=0)) - p.T @ p
        value, inner = self.likelihood(at), information[1:, 1:]
        if self.bias_reduced:
            penalty, inverse = jeffreys_penalty(inner)
            value, inverse = value + penalty, np.pad(inverse, ((1, 0), (1, 0)))
            towards = p @ inverse
            own = np.diag(inverse) - 2 * towards + np.sum(towards * p, axis=1)[:, None]
            spread = p * own
            gradient = gradient + 0.5 * (spread - p * spread.sum(axis=1)[:, None]).sum(axis=0)
        return value, gradient[1:], inner

    def likelihood(self, at: Floats) -> float:
        theta = np.concatenate([[0.0], at])
        return float(np.sum(self.chosen @ theta - np.log(self.sets @ np.exp(theta))))

    def scores(self, at: Floats) -> Floats:
        """Each ranking's gradient of the log-likelihood (n, k - 1)."""
        results = np.zeros((self.n, len(at)))
        np.add.at(results, self.ranking, (self.chosen - self._chances(at))[:, 1:])
        return results

    def _chances(self, at: Floats) -> Floats:
        weight = self.sets * np.exp(np.concatenate([[0.0], at]))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True), dtype=np.float64)
