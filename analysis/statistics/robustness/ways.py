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
from analysis.statistics.rater_models import dawid_skene, severity

MOST_FOR_P910 = 200_000  # ratings; above, the subject model takes too long
LEAST_STEPS = 5  # different scores; with fewer, who always says the same would weigh most
ROUNDS = 300  # of the subject model
LEAST_WEIGHT = 1e-3
FEW_SWEEPS = 450  # of the Bayesian model: weights need no more
PSEUDO = 0.5  # of confusion matrices, for raters with few labels
EVERY_RATER = "every rater weighs the same"
RANKS = "ranks in place of scores"
OWN_SCALE = "each rater's scores as z of their own"
SEVERITY = "rater severity taken out, steadier raters weigh more (Bayesian)"
DAWID_SKENE = "raters weigh by informedness (Dawid and Skene)"
MOST_FOR_GIBBS, MOST_LABELS = 50_000, 7
LEAST_COMPETENCE = 0.05
P910 = "rater bias taken out, steadier raters weigh more (P.910)"


@dataclass(frozen=True)
class Way:
    """One way: its name, its means, and whether they are on the scale of the scores."""

    name: str
    means: Clustered
    same_scale: bool


def ways_of(cell: Cell, models: bool = False) -> Iterator[Way]:
    """All ways that these ratings allow; each keeps raters and items as clusters.

    ``models``: also those that take seconds.
    """
    n = len(cell.names)
    codes = cell.condition, cell.rater, cell.item, n
    weights = rater_weights(cell.condition, cell.rater, n)
    yield Way(EVERY_RATER, clustered(cell.y, *codes, weights, cell.ends), True)
    steps = len(np.unique(cell.y))
    if len(cell.y) <= MOST_FOR_P910 and steps >= LEAST_STEPS:
        y, weights = _p910(cell)
        yield Way(P910, clustered(y, *codes, weights), True)
    if models and len(cell.y) <= MOST_FOR_GIBBS and steps >= LEAST_STEPS:
        y, weights = _severity(cell)
        yield Way(SEVERITY, clustered(y, *codes, weights), True)
    labels = sorted(set(cell.labels))
    if steps < LEAST_STEPS and 2 <= len(labels) <= MOST_LABELS:
        for name, weight in _of_labels(cell, labels):
            shares = weighted_within(weight[cell.rater], cell.condition, n)
            yield Way(name, clustered(cell.y, *codes, shares, cell.ends), True)
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


def unit_of(cell: Cell) -> Codes:
    """Codes (n,) of what was rated: a condition's clip of an item."""
    width = int(cell.item.max(initial=0)) + 1
    return np.asarray(np.unique(cell.condition * width + cell.item, return_inverse=True)[1])


def _severity(cell: Cell) -> tuple[Floats, Floats]:
    model = severity(unit_of(cell), cell.rater, cell.y, sweeps=FEW_SWEEPS)
    weights = weighted_within(model.weight[cell.rater], cell.condition, len(cell.names))
    return cell.y - model.bias[cell.rater], weights


def _of_labels(cell: Cell, labels: list[str]) -> Iterator[tuple[str, Floats]]:
    """What each rater (R,) weighs by the models of labels."""
    place = {label: code for code, label in enumerate(labels)}
    given = np.array([place[label] for label in cell.labels], dtype=np.int64)
    unit, k = unit_of(cell), len(labels)
    weight = dawid_skene(unit, cell.rater, given, k, pseudo=PSEUDO).informedness
    yield DAWID_SKENE, np.maximum(weight, LEAST_COMPETENCE)


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
