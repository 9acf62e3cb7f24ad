"""Best-worst scaling: strengths of systems of which raters chose the best and the worst.

`max_diff` is the maxdiff model (Marley and Louviere 2005; Flynn and Marley 2014): of all ordered
pairs of a screen's clips, the pair (best, worst) is chosen. In balanced designs its strengths are
in the order of the counts best - worst, which are sufficient for it. `sequential_best_worst` is the
exploded logit: the best is chosen first, then the worst of the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Codes, Floats
from analysis.statistics.comparisons.pairwise_contrasts import pair_contrasts
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.ability_fit import AbilityFit, maximise, summarise_fit
from analysis.statistics.pairs.conditional_logit import ConditionalLogit

MAX_DIFF_SCALE = "log odds of being chosen as the best, the worst given"
SEQUENTIAL_SCALE = "log odds of being chosen as the best"
NONE_YET = "no screens with a best and a worst of two systems or more yet"


@dataclass(frozen=True)
class BestWorstChoices:
    """n screens of some of k systems: which were ``shown`` (n, k), the best and the worst.

    ``best``, ``worst``, ``rater`` and ``item`` (n,) are codes; the best is not the worst.
    """

    names: tuple[str, ...]
    shown: NDArray[np.bool_]
    best: Codes
    worst: Codes
    rater: Codes
    item: Codes

    def among(self, names: Sequence[str]) -> BestWorstChoices:
        """The screens whose best and worst are among some systems, which alone are named."""
        chosen = [code for code, name in enumerate(self.names) if name in set(names)]
        place = np.full(len(self.names), -1, dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        best, worst = place[self.best], place[self.worst]
        use = (best >= 0) & (worst >= 0)
        return BestWorstChoices(
            tuple(self.names[code] for code in chosen),
            self.shown[use][:, chosen],
            best[use],
            worst[use],
            self.rater[use],
            self.item[use],
        )


def max_diff(choices: BestWorstChoices, bias_reduced: bool = False) -> AbilityFit:
    """P(a best, b worst) = exp(θ_a - θ_b) / sum over ordered pairs i, j of exp(θ_i - θ_j).

    The maxdiff model of Marley and Louviere (2005). Of two clips, the log odds are twice the
    difference of strengths. ``bias_reduced`` adds the penalty of Jeffreys' prior: estimates are
    finite whoever was chosen. Raises Undefined without screens, and where no estimate is finite.
    """
    _require_choices(choices)
    k = len(choices.names)
    sets, cell = _distinct(choices.shown)
    pairs = [list(permutations(np.flatnonzero(shown).tolist(), 2)) for shown in sets]
    x, offered = _padded([pair_contrasts(own, k)[:, 1:] for own in pairs])  # the first has 0
    places = [{pair: place for place, pair in enumerate(own)} for own in pairs]
    chosen = zip(cell.tolist(), choices.best.tolist(), choices.worst.tolist(), strict=True)
    outcome = np.array([places[c][best, worst] for c, best, worst in chosen], dtype=np.int64)
    model = ConditionalLogit(
        x, cell, outcome, np.eye(x.shape[1]), offered, bias_reduced=bias_reduced
    )
    at, information, _ = maximise(model.objective, np.zeros(k - 1))
    name = "maxdiff" + ", bias-reduced" * bias_reduced
    scores, value = model.scores(at), model.likelihood(at)
    return summarise_fit(choices, name, MAX_DIFF_SCALE, at, information, scores, {}, value)


def sequential_best_worst(choices: BestWorstChoices, bias_reduced: bool = False) -> AbilityFit:
    """The best of a screen is chosen by exp(θ), then the worst of the rest by exp(-θ).

    The exploded logit of best, then worst (Flynn and Marley 2014). Of two clips it is Bradley and
    Terry's model. Other arguments and errors as in `max_diff`.
    """
    _require_choices(choices)
    k, n = len(choices.names), len(choices.best)
    rest = choices.shown.copy()
    rest[np.arange(n), choices.best] = False
    stages = [(choices.shown, choices.best, 1.0), (rest, choices.worst, -1.0)]
    rows, cells, outcomes, before = [], [], [], 0
    for shown, chosen, sign in stages:
        sets, cell = _distinct(shown)
        rows += [sign * np.eye(k)[own][:, 1:] for own in sets]
        cells.append(cell + before)
        outcomes.append(np.cumsum(shown, axis=1)[np.arange(n), chosen] - 1)
        before += len(sets)
    x, offered = _padded(rows)
    model = ConditionalLogit(
        x,
        np.concatenate(cells),
        np.concatenate(outcomes).astype(np.int64),
        np.eye(x.shape[1]),
        offered,
        bias_reduced=bias_reduced,
    )
    at, information, _ = maximise(model.objective, np.zeros(k - 1))
    both = model.scores(at)
    name = "best, then worst" + ", bias-reduced" * bias_reduced
    return summarise_fit(
        choices,
        name,
        SEQUENTIAL_SCALE,
        at,
        information,
        both[:n] + both[n:],
        {},
        model.likelihood(at),
    )


def _require_choices(choices: BestWorstChoices) -> None:
    if len(choices.names) < 2 or not len(choices.best):
        raise Undefined(NONE_YET)


def _distinct(shown: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], Codes]:
    """The distinct sets of systems (sets, k), and each screen's place among them (n,)."""
    sets, place = np.unique(shown, axis=0, return_inverse=True)
    return sets, place.reshape(-1).astype(np.int64)


def _padded(rows: Sequence[Floats]) -> tuple[Floats, NDArray[np.bool_]]:
    """Features of trials with different numbers of alternatives, and which there are."""
    most = max(map(len, rows))
    x = np.zeros((len(rows), most, rows[0].shape[1]))
    offered = np.zeros((len(rows), most), dtype=bool)
    for place, own in enumerate(rows):
        x[place, : len(own)] = own
        offered[place, : len(own)] = True
    return x, offered
