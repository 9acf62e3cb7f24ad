"""Strengths of systems over several paired studies, linked by the systems that studies share.

Each study (each part of it whose pairs hang together) is fitted by itself. The strength of system
c in study s is then modelled as the means of `linked_studies` are:

    strength = study s + system c + deviation of system c in study s + error,

with errors clustered by raters and items through each rating's influence on each strength.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.arrays import Codes, Floats
from analysis.ratings.breakdowns import coded_column
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.linking.linked_studies import (
    Cells,
    Component,
    Influence,
    counts_by_system,
    groups_of,
)
from analysis.statistics.pairs.ability_fit import AbilityFit
from analysis.statistics.pairs.comparison_graph import parts
from analysis.statistics.pairs.pair_ratings import PairRatings, pair_ratings
from analysis.statistics.pairs.win_models import bradley_terry, cumulative, davidson

Fit = Callable[[PairRatings], AbilityFit]
PRIOR_SD = 0.2  # the scale of the half-t prior of tau, in SDs of one comparison
LOGISTIC_SD = float(np.pi / np.sqrt(3))


@dataclass(frozen=True)
class LinkedPairs:
    """The components of a question in pairs, and the model that all their parts share.

    ``pairs`` are all ratings together; ``notes`` name what was left out.
    """

    components: Sequence[Component]
    model: str
    scale: str
    pairs: PairRatings
    notes: Sequence[str]


@dataclass(frozen=True)
class _Part:
    """Systems of a study that pairs connect: their fit, and the rows of the table it is of."""

    unit: str
    fit: AbilityFit
    rows: Codes
    used: PairRatings


def link_pairs(ratings: pd.DataFrame, units: Sequence[str]) -> LinkedPairs:
    """The paired studies that shared systems link, the first unit's component first.

    ``ratings`` have a row for each rating: its unit (a study, or a task of it), the systems
    ``system`` and ``versus``, item, rater, ``score`` (above 0: ``system`` is preferred) and
    ``order`` (1: ``system`` was heard second, -1: first, 0: unknown). Graded answers are fitted by
    Thurstone's model, others by Davidson's (ties) or Bradley and Terry's, all bias-reduced.
    Raises Undefined where no part has a fit.
    """
    use = ratings[ratings["system"] != ratings["versus"]].reset_index(drop=True)
    same = len(ratings) - len(use)
    notes = [f"{same} ratings compare a system with itself: they are left out."] * bool(same)
    fit, spread = _model(use["score"].to_numpy(dtype=np.float64))
    fitted: list[_Part] = []
    for unit in units:
        own, unit_notes = _parts_of(use, unit, fit)
        fitted += own
        notes += unit_notes
    if not fitted:
        raise Undefined("; ".join(notes) or "no ratings of pairs yet")
    first = fitted[0].fit
    return LinkedPairs(
        [_component(use, group, PRIOR_SD * spread) for group in _linked(fitted)],
        first.model,
        first.scale,
        _pairs(use),
        notes,
    )


def _model(scores: Floats) -> tuple[Fit, float]:
    """The model that the answers of all studies allow, and the SD of one comparison on its scale.

    One for all studies: their strengths must be on the same scale.
    """
    if len(np.unique(np.abs(scores[scores != 0]))) > 1:
        return lambda pairs: cumulative(pairs, "probit", bias_reduced=True), 1.0
    if np.any(scores == 0):
        return lambda pairs: davidson(pairs, order=True, bias_reduced=True), LOGISTIC_SD
    return lambda pairs: bradley_terry(pairs, order=True, bias_reduced=True), LOGISTIC_SD


def _pairs(use: pd.DataFrame) -> PairRatings:
    return pair_ratings(
        use["system"].tolist(),
        use["versus"].tolist(),
        use["score"].tolist(),
        use["order"].tolist(),
        use["rater"].tolist(),
        use["item"].tolist(),
    )


def _parts_of(use: pd.DataFrame, unit: str, fit: Fit) -> tuple[list[_Part], list[str]]:
    """The fits of a unit: of each group of systems that its pairs connect."""
    rows = np.flatnonzero(use["unit"] == unit)
    if not len(rows):
        return [], []
    pairs = _pairs(use.iloc[rows])
    first, groups = np.array(pairs.names, dtype=object)[pairs.a], parts(pairs)
    fitted, notes = [], []
    if len(groups) > 1:
        listing = " | ".join(", ".join(group.names) for group in groups)
        notes = [f"{unit}: groups that were never compared with one another: {listing}."]
    for number, used in enumerate(groups, 1):
        name = unit if len(groups) == 1 else f"{unit} (group {number})"
        try:
            fitted.append(_Part(name, fit(used), rows[np.isin(first, used.names)], used))
        except Undefined as why:
            notes.append(f"{name}: no strengths of {', '.join(used.names)}: {why}.")
    return fitted, notes


def _linked(fitted: Sequence[_Part]) -> list[list[_Part]]:
    """The parts that a chain of shared systems joins."""
    owner: dict[str, int] = {}
    links = []
    for number, part in enumerate(fitted):
        for name in part.fit.names:
            links.append((owner.setdefault(name, number), number))
    groups = groups_of(list(range(len(fitted))), links)
    return [[fitted[number] for number in group] for group in groups]


def _component(use: pd.DataFrame, fitted: Sequence[_Part], scale: float) -> Component:
    """Parts as one component: a cell is a system in a part."""
    names = [name for part in fitted for name in part.fit.names]
    system, systems = coded_column(pd.Series(names, dtype=object))
    unit = np.repeat(np.arange(len(fitted)), [len(part.fit.names) for part in fitted])
    rows = np.concatenate([part.rows for part in fitted])
    rater, _ = coded_column(use["rater"].iloc[rows])
    item, _ = coded_column(use["item"].iloc[rows])
    first, at, columns = 0, 0, []
    for part in fitted:
        n, k = part.fit.influence.shape
        own = slice(at, at + n)
        columns.append(
            (
                part.fit.influence.ravel(),
                np.full(n * k, 1.0 / n),
                np.tile(np.arange(first, first + k), n),
                np.repeat(rater[own], k),
                np.repeat(item[own], k),
            )
        )
        first, at = first + k, at + n
    contribution, weight, cell, of_rater, of_item = map(np.concatenate, zip(*columns, strict=True))
    both = np.concatenate([use[side].iloc[rows].to_numpy() for side in ("system", "versus")])
    code, _ = coded_column(pd.Series(both, dtype=object))  # every system has met another one
    n_ratings, n_raters = counts_by_system(code, np.concatenate([rater, rater]), len(systems))
    return Component(
        units=[part.unit for part in fitted],
        systems=list(systems),
        cells=Cells(unit=unit, system=system, node=system, clips=_items(fitted)),
        mean=np.concatenate([part.fit.ability for part in fitted]),
        influence=Influence(contribution, weight, cell, unit, of_rater, of_item),
        scale=scale,
        n_ratings=n_ratings,
        n_raters=n_raters,
        centred=True,
    )


def _items(fitted: Sequence[_Part]) -> Codes:
    """In how many items each system of each part was heard."""
    counts = [
        len(np.unique(part.used.item[(part.used.a == code) | (part.used.b == code)]))
        for part in fitted
        for code in range(len(part.fit.names))
    ]
    return np.asarray(counts, dtype=np.int64)
