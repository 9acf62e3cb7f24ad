"""Other ways to make the same comparison from the same ratings, each by its name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.arrays import Codes, Floats
from analysis.ratings.breakdowns import Cell
from analysis.statistics.agreement.rater_bias import subject_model
from analysis.statistics.intervals import Clustered, clustered, rater_weights

MOST_FOR_P910 = 200_000  # ratings; above, the subject model takes too long
LEAST_STEPS = 5  # different scores; with fewer, who always says the same would weigh most
ROUNDS = 300  # of the subject model
LEAST_WEIGHT = 1e-3
EVERY_RATER = "every rater weighs the same"
RANKS = "ranks in place of scores"
OWN_SCALE = "each rater's scores as z of their own"
P910 = "rater bias taken out, steadier raters weigh more (P.910)"


@dataclass(frozen=True)
class Way:
    """One way: its name, its means, and whether they are on the scale of the scores."""

    name: str
    means: Clustered
    same_scale: bool


def ways_of(cell: Cell) -> Iterator[Way]:
    """All ways that these ratings allow; each keeps raters and items as clusters."""
    n = len(cell.names)
    codes = cell.condition, cell.rater, cell.item, n
    weights = rater_weights(cell.condition, cell.rater, n)
    yield Way(EVERY_RATER, clustered(cell.y, *codes, weights), True)
    steps = len(np.unique(cell.y))
    if len(cell.y) <= MOST_FOR_P910 and steps >= LEAST_STEPS:
        y, weights = _p910(cell)
        yield Way(P910, clustered(y, *codes, weights), True)
    if steps > 2:
        ranks = np.asarray(stats.rankdata(cell.y), dtype=np.float64)
        yield Way(RANKS, clustered(ranks, *codes), False)
    yield Way(OWN_SCALE, clustered(_own_scale(cell.y, cell.rater), *codes), False)


def weighted_within(weight: Floats, condition: Codes, n_conditions: int) -> Floats:
    """Weights (n,) that sum to 1 within each condition."""
    total = np.bincount(condition, weights=weight, minlength=n_conditions)
    return np.asarray(weight / total[condition], dtype=np.float64)


def _own_scale(y: Floats, rater: Codes) -> Floats:
    """z within each rater (n,); 0 of who always gave the same."""
    n = np.maximum(np.bincount(rater), 1)
    mean = np.bincount(rater, weights=y) / n
    around = y - mean[rater]
    sd = np.sqrt(np.bincount(rater, weights=around**2) / n)[rater]
    return np.divide(around, sd, out=np.zeros_like(around), where=sd > 1e-12)


def _p910(cell: Cell) -> tuple[Floats, Floats]:
    """Scores less their rater's bias, and weights by 1 / inconsistency^2, of the subject model."""
    width = int(cell.item.max(initial=0)) + 1
    unit = np.char.mod("%d", cell.condition * width + cell.item)
    rater = np.char.mod("%d", cell.rater)
    model = subject_model(unit, rater, cell.y, unbiased=True, rounds=ROUNDS)
    known = {int(each.rater): each for each in model.raters}
    raters = int(cell.rater.max(initial=-1)) + 1
    bias, weight = np.zeros(raters), np.ones(raters)
    for code, each in known.items():
        bias[code] = each.bias or 0.0
        weight[code] = max(each.weight or 1.0, LEAST_WEIGHT)
    weights = weighted_within(weight[cell.rater], cell.condition, len(cell.names))
    return cell.y - bias[cell.rater], weights
