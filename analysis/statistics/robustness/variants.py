"""All other analyses of one comparison: other rules, one rater or item less, other ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from analysis.arrays import Codes, Floats
from analysis.ratings.breakdowns import Cell
from analysis.ratings.estimands import family_title
from analysis.ratings.grouping import Breakdown
from analysis.statistics.agreement.rater_bias import subject_model
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.intervals import Clustered, clustered, rater_weights
from analysis.statistics.rater_models import dawid_skene, severity
from analysis.statistics.robustness.claims import Comparison, Found, Names, Variant
from analysis.statistics.robustness.leave_one_out import sides_turned, without_each
from analysis.statistics.sensitivity import Scheme

if TYPE_CHECKING:
    import pandas as pd


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


RULES, MORE = "Other rules", "One more rule"
RATER, ITEM, WAYS = "Without one rater", "Without one item", "Other analyses"
KINDS = (RULES, MORE, RATER, ITEM, WAYS)
MOST_LEFT_OUT = 1000  # raters, and items, that are left out one by one

Told = Callable[[float], None]


def under_rules(
    kept: Iterable[tuple[Scheme, pd.DataFrame]], kind: str, reference: str, level: float
) -> dict[str, list[Variant]]:
    """By the title of its family: the comparison of the ratings that each scheme keeps."""
    made = MeanScore(
        Breakdown(), intervals=("two_way",), weightings=("ratings",), reference=reference
    )
    found: dict[str, list[Variant]] = {}
    for (name, _), table in kept:
        by_title: dict[str, dict[Names, Found]] = {}
        for one in made.contrasts(table, level=level):
            if one.interval.startswith("naive"):
                continue
            title = family_title({"estimand": one.estimand, **one.group})
            differences = by_title.setdefault(title, {})
            differences[one.condition, one.versus] = Found(
                one.value, one.low_all, one.high_all, bool(one.claimed)
            )
        for title, differences in by_title.items():
            found.setdefault(title, []).append(Variant(kind, name, differences))
    return found


def left_out(
    comparison: Comparison, names: Mapping[str, list[str]], seed: int, tell: Told
) -> Iterator[Variant]:
    """The comparison without each rater, then without each item (of many, some drawn by seed).

    ``names`` are those of the codes of ``rater`` and ``item``.
    """
    cell = comparison.cell
    sides = (RATER, "rater", cell.rater, cell.item), (ITEM, "item", cell.item, cell.rater)
    for half, (kind, column, own, other) in enumerate(sides):
        chosen = chosen_codes(own, seed)
        without = without_each(
            cell.y, cell.condition, own, other, len(cell.names), chosen, cell.ends
        )
        for done, (code, means) in enumerate(without):
            if done % 50 == 0:
                tell((half + done / len(chosen)) / 2)
            turned = means if kind == RATER else sides_turned(means)
            yield comparison.nearby(kind, names[column][code], turned)


def chosen_codes(codes: Codes, seed: int) -> list[int]:
    """Those that are left out one by one: all there are, or so many of them drawn."""
    there = np.unique(codes)
    if len(there) > MOST_LEFT_OUT:
        there = np.sort(np.random.default_rng(seed).choice(there, MOST_LEFT_OUT, replace=False))
    return [int(code) for code in there]


def in_other_ways(comparison: Comparison, models: bool = False) -> Iterator[Variant]:
    """The comparison in each other way that the ratings allow; see `ways_of`."""
    for way in ways_of(comparison.cell, models):
        variant = comparison.decided(WAYS, way.name, way.means)
        yield variant if way.same_scale else Variant(WAYS, way.name, variant.found, False)


def of_intervals(rows: Iterable[Mapping[str, Any]], title: str) -> Iterator[Variant]:
    """What the report's other intervals of the same differences say, each for itself alone."""
    found: dict[str, dict[Names, Found]] = {}
    for row in rows:
        other = not row["interval"].startswith(("naive", "two-way"))
        overall = row["breakdown"] == str(Breakdown()) and row["weighting"] == "ratings"
        if other and overall and family_title(row) == title and row["low"] is not None:
            away = row["low"] > 0 or row["high"] < 0
            one = Found(row["value"], row["low"], row["high"], away)
            found.setdefault(row["interval"], {})[row["condition"], row["versus"]] = one
    for name, differences in found.items():
        yield Variant(WAYS, f"{name.partition(',')[0]}, each difference alone", differences)
