"""Strengths of systems over several studies of pairs or on screens, linked by shared systems.

Each study (each part of it whose systems met, directly or over others) is fitted by itself. The
strength of system c in study s is then modelled as the means of `linked_studies` are:

    strength = study s + system c + deviation of system c in study s + error,

with errors clustered by raters and items through each answer's influence on each strength.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.arrays import Floats
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
from analysis.statistics.pairs.best_worst import max_diff
from analysis.statistics.pairs.comparison_graph import connection
from analysis.statistics.pairs.pair_ratings import PairRatings, pair_ratings
from analysis.statistics.pairs.plackett_luce import plackett_luce
from analysis.statistics.pairs.screens import choices_in, pairs_in, rankings_in
from analysis.statistics.pairs.win_models import bradley_terry, cumulative, davidson

PRIOR_SD = 0.2  # the scale of the half-t prior of tau, in SDs of one comparison
LOGISTIC_SD = float(np.pi / np.sqrt(3))
Fit = Callable[[PairRatings], AbilityFit]


@dataclass(frozen=True)
class LinkedStrengths:
    """The components of a question, and the model that all their parts share.

    ``pairs`` are all comparisons, those within rankings too; ``notes`` name what was left out;
    ``fits`` are those of each unit, with the terms of covariates.
    """

    components: Sequence[Component]
    model: str
    scale: str
    pairs: PairRatings
    notes: Sequence[str]
    fits: Sequence[tuple[str, AbilityFit]] = ()


@dataclass(frozen=True)
class _Part:
    """Systems of a study that answers connect.

    ``judged`` has the rater and item of each of the n answers behind ``fit``, ``heard`` a row for
    each system in each of them: system, rater, item.
    """

    unit: str
    fit: AbilityFit
    judged: pd.DataFrame
    heard: pd.DataFrame


def link_pairs(
    ratings: pd.DataFrame, units: Sequence[str], covariates: Sequence[str] = ()
) -> LinkedStrengths:
    """The paired studies that shared systems link, the first unit's component first.

    ``ratings`` have a row for each rating: its unit (a study, or a task of it), the systems
    ``system`` and ``versus``, item, rater, ``score`` (above 0: ``system`` is preferred) and
    ``order`` (1: ``system`` was heard second, -1: first, 0: unknown). Graded answers are fitted by
    Thurstone's model, others by Davidson's (ties) or Bradley and Terry's, all bias-reduced.
    ``covariates`` name columns with the difference of both clips, which are terms of each fit.
    Raises Undefined where no part has a fit.
    """
    use = ratings[ratings["system"] != ratings["versus"]].reset_index(drop=True)
    same = len(ratings) - len(use)
    notes = [f"{same} ratings compare a system with itself: they are left out."] * bool(same)
    fit, spread = _model(use["score"].to_numpy(dtype=np.float64))

    def part_of(rows: pd.DataFrame, group: Sequence[str]) -> tuple[AbilityFit, pd.DataFrame]:
        own = rows[rows["system"].isin(group)]
        pairs = replace(
            pairs_in_unit(own),
            covariates=own[list(covariates)].to_numpy(dtype=np.float64),
            covariate_names=tuple(covariates),
        )
        return fit(pairs), own

    return _linked(use, use, units, notes, PRIOR_SD * spread, part_of)


def link_rankings(ratings: pd.DataFrame, units: Sequence[str]) -> LinkedStrengths:
    """As `link_pairs`, of rankings: ``score`` is the place of ``system``, 1 the best.

    A ranking is what a rater said of an item; the model is Plackett and Luce's, bias-reduced.
    """

    def part_of(rows: pd.DataFrame, group: Sequence[str]) -> tuple[AbilityFit, pd.DataFrame]:
        rankings, judged = rankings_in(rows[rows["system"].isin(group)])
        return plackett_luce(rankings, bias_reduced=True), judged

    pairs = pd.DataFrame(list(pairs_in(ratings, best_and_worst=False)))
    return _linked(ratings, pairs, units, [], PRIOR_SD * LOGISTIC_SD, part_of)


def link_choices(ratings: pd.DataFrame, units: Sequence[str]) -> LinkedStrengths:
    """As `link_pairs`, of best-worst choices: ``score`` is 1 of the best clip, -1 of the worst.

    ``screen`` names the screen of each rating; the model is maxdiff, bias-reduced. The odds of two
    clips alone are twice the difference of their strengths, so that the SD of one comparison is
    half that of Bradley and Terry's model.
    """

    def part_of(rows: pd.DataFrame, group: Sequence[str]) -> tuple[AbilityFit, pd.DataFrame]:
        choices, judged = choices_in(rows[rows["system"].isin(group)])
        return max_diff(choices, bias_reduced=True), judged

    pairs = pd.DataFrame(list(pairs_in(ratings, best_and_worst=True)))
    return _linked(ratings, pairs, units, [], PRIOR_SD * LOGISTIC_SD / 2, part_of)


def _model(scores: Floats) -> tuple[Fit, float]:
    """The model that the answers of all studies allow, and the SD of one comparison on its scale.

    One for all studies: their strengths must be on the same scale.
    """
    if len(np.unique(np.abs(scores[scores != 0]))) > 1:
        return lambda pairs: cumulative(pairs, "probit", bias_reduced=True), 1.0
    if np.any(scores == 0):
        return lambda pairs: davidson(pairs, order=True, bias_reduced=True), LOGISTIC_SD
    return lambda pairs: bradley_terry(pairs, order=True, bias_reduced=True), LOGISTIC_SD


def pairs_in_unit(use: pd.DataFrame) -> PairRatings:
    """Rows of ratings of pairs as `link_pairs` takes them, as codes."""
    return pair_ratings(
        use["system"].tolist(),
        use["versus"].tolist(),
        use["score"].tolist(),
        use["order"].tolist(),
        use["rater"].tolist(),
        use["item"].tolist(),
    )


def _linked(
    ratings: pd.DataFrame,
    pairs: pd.DataFrame,
    units: Sequence[str],
    notes: list[str],
    prior: float,
    part_of: Callable[[pd.DataFrame, Sequence[str]], tuple[AbilityFit, pd.DataFrame]],
) -> LinkedStrengths:
    parts: list[_Part] = []
    for unit in units:
        rows = ratings[ratings["unit"] == unit]
        met = pairs[pairs["unit"] == unit] if len(pairs) else pairs
        if not len(met):
            continue
        groups = connection(pairs_in_unit(met)).components
        if len(groups) > 1:
            listing = " | ".join(map(", ".join, groups))
            notes.append(f"{unit}: groups that were never compared with one another: {listing}.")
        for number, group in enumerate(groups, 1):
            name = unit if len(groups) == 1 else f"{unit} (group {number})"
            try:
                fit, judged = part_of(rows, group)
            except Undefined as why:
                notes.append(f"{name}: no strengths of {', '.join(group)}: {why}.")
                continue
            parts.append(_Part(name, fit, judged[["rater", "item"]], _heard(rows, group)))
    if not parts:
        raise Undefined("; ".join(notes) or "no answers about two systems yet")
    components = [_component(group, prior) for group in _linked_parts(parts)]
    first = parts[0].fit
    fits = [(part.unit, part.fit) for part in parts]
    return LinkedStrengths(components, first.model, first.scale, pairs_in_unit(pairs), notes, fits)


def _heard(rows: pd.DataFrame, group: Sequence[str]) -> pd.DataFrame:
    """The systems of a group in each answer: those of both sides."""
    sides = [side for side in ("system", "versus") if side in rows]
    every = [
        rows[[side, "rater", "item"]].set_axis(["system", "rater", "item"], axis=1)
        for side in sides
    ]
    heard = pd.concat(every, ignore_index=True)
    return heard[heard["system"].isin(group)]


def _linked_parts(parts: Sequence[_Part]) -> list[list[_Part]]:
    """The parts that a chain of shared systems joins."""
    owner: dict[str, int] = {}
    links = [
        (owner.setdefault(name, number), number)
        for number, part in enumerate(parts)
        for name in part.fit.names
    ]
    groups = groups_of(list(range(len(parts))), links)
    return [[parts[number] for number in group] for group in groups]


def _component(parts: Sequence[_Part], scale: float) -> Component:
    """Parts as one component: a cell is a system in a part."""
    names = [name for part in parts for name in part.fit.names]
    system, systems = coded_column(pd.Series(names, dtype=object))
    unit = np.repeat(np.arange(len(parts)), [len(part.fit.names) for part in parts])
    heard = pd.concat([part.heard for part in parts], ignore_index=True)
    rater, _ = coded_column(heard["rater"])
    n_ratings, n_raters = counts_by_system(coded_column(heard["system"])[0], rater, len(systems))
    items = [
        part.heard.loc[part.heard["system"] == name, "item"].nunique()
        for part in parts
        for name in part.fit.names
    ]
    return Component(
        units=[part.unit for part in parts],
        systems=list(systems),
        cells=Cells(unit=unit, system=system, node=system, clips=np.array(items, dtype=np.int64)),
        mean=np.concatenate([part.fit.ability for part in parts]),
        influence=_influence(parts, unit),
        scale=scale,
        n_ratings=n_ratings,
        n_raters=n_raters,
        centred=True,
    )


def _influence(parts: Sequence[_Part], unit: np.ndarray) -> Influence:
    """Each answer's influence on each strength of its part, answers weighing the same."""
    judged = pd.concat([part.judged for part in parts], ignore_index=True)
    rater, item = (coded_column(judged[name])[0] for name in ("rater", "item"))
    first, at, columns = 0, 0, []
    for part in parts:
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
    return Influence(contribution, weight, cell, unit, of_rater, of_item)
