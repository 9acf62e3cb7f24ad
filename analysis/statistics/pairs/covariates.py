"""Covariates in Bradley and Terry's model: what side, length or loudness do to a preference.

The public peer is the "style control" of Chatbot Arena (2024): the same model, with the length and
the Markdown of answers as covariates. Its intervals take votes as independent; here they are
two-way clustered over raters and items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from analysis.arrays import Codes, Floats
from analysis.statistics.clustered_variance import both_codes
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.intervals import t_interval, t_test
from analysis.statistics.pairs.ability_fit import AbilityFit, Term, centring, differences
from analysis.statistics.pairs.comparison_graph import Infinite
from analysis.statistics.pairs.pair_ratings import PairRatings
from analysis.statistics.pairs.win_models import ORDER, bradley_terry

SIDE = "side"  # which of both clips was heard second
_LEAST_OWN = 1e-4  # share of a covariate's variation that strengths must leave over


@dataclass(frozen=True)
class CovariateEffect:
    """What a covariate does to the log odds of a preference, per unit of the difference a - b.

    ``points`` is by how many percentage points one unit moves a preference of 50 %, and ``sd`` the
    standard deviation of the differences in the ratings. Bounds are two-way clustered t intervals
    with standard errors of the jackknife, None with one rater or item.
    """

    name: str
    value: float
    se: float | None
    low: float | None
    high: float | None
    p: float | None
    points: float
    points_low: float | None
    points_high: float | None
    sd: float


@dataclass(frozen=True)
class CovariateModel:
    """Strengths of the same ratings without and with covariates, and what each covariate does.

    ``n_left_out`` ratings lack a value; ``confounded`` covariates are in no fit, since strengths
    explain their differences.
    """

    without: AbilityFit
    adjusted: AbilityFit
    effects: tuple[CovariateEffect, ...]
    n_left_out: int
    confounded: tuple[str, ...]


def fit_covariates(
    ratings: PairRatings, covariates: Mapping[str, Floats], side: bool = True, level: float = 0.95
) -> CovariateModel:
    """Bradley and Terry's model of n ratings, ties as halves, without and with covariates.

    log odds of a over b = θ_a - θ_b + sum of effect × difference (Springall 1973). ``covariates``
    have the differences a - b (n,) by name, NaN where unknown; ``side`` adds which clip was heard
    second, where the order is known and varies. Both fits are of the ratings with all values, and
    bias-reduced where they are not finite otherwise. Raises Undefined where there is no fit, or no
    covariate is left.
    """
    table = np.column_stack([np.zeros((len(ratings.y), 0)), *covariates.values()])
    known = np.asarray(np.isfinite(table).all(axis=1), dtype=np.bool_)
    use, table = ratings.subset(known), table[known]
    if not len(use.y):
        raise Undefined("no rating has values of all covariates")
    with_side = side and use.orders_known
    names, confounded = identified(use, dict(zip(covariates, table.T, strict=True)), with_side)
    if not names and not with_side:
        raise Undefined("no covariate differs within pairs in a way that strengths do not explain")
    columns = table[:, [list(covariates).index(name) for name in names]]
    scale = np.sqrt(np.mean(columns**2, axis=0))
    scaled = replace(use, covariates=columns / scale, covariate_names=tuple(names))
    without = _fit(use, False)
    adjusted = _fit(scaled, with_side)
    effects = [
        _effect(adjusted, adjusted.term(term), 1.0, SIDE, use.order, level)
        for term in [ORDER] * with_side
    ]
    effects += [
        _effect(adjusted, adjusted.term(name), float(unit), name, column, level)
        for name, unit, column in zip(names, scale, columns.T, strict=True)
    ]
    return CovariateModel(without, adjusted, tuple(effects), int((~known).sum()), tuple(confounded))


def _fit(ratings: PairRatings, order: bool) -> AbilityFit:
    try:
        fit = bradley_terry(ratings, order=order)
    except Infinite:
        fit = bradley_terry(ratings, order=order, bias_reduced=True)
    return _with_jackknife_errors(fit, ratings, order)


def _with_jackknife_errors(fit: AbilityFit, ratings: PairRatings, order: bool) -> AbilityFit:
    """The fit with clustered covariances of the jackknife, which leaves out each cluster in turn.

    One Newton step from the whole fit (CR3 of Bell and McCaffrey 2002). Covariates differ between
    clips, of which an item has few, and the usual sandwich covers too little.
    """
    k = len(ratings.names)
    x = np.column_stack(
        [
            differences(ratings.a, ratings.b, k),
            *[ratings.order[:, None]] * order,
            *[ratings.covariates] * bool(ratings.covariate_names),
        ]
    )
    at = np.array([*(fit.ability[1:] - fit.ability[0]), *(term.value for term in fit.terms)])
    chance = special.expit(x @ at)
    won = np.array([1.0, 0.0, 0.5])[ratings.outcome]
    scores, weight = x * (won - chance)[:, None], chance * (1 - chance)
    groups = (ratings.rater, ratings.item, both_codes(ratings.rater, ratings.item))
    centre = np.eye(len(at))
    centre = np.vstack([np.hstack([centring(k), np.zeros((k, len(at) - k + 1))]), centre[k - 1 :]])
    by_rater, by_item, by_both = (_jackknife(x, weight, scores, group, centre) for group in groups)
    spread = np.maximum(by_rater + by_item - by_both, np.maximum(by_rater, by_item))
    enough = min(fit.n_raters, fit.n_items) > 1
    terms = tuple(
        replace(term, se_clustered=float(spread[k + place, k + place]) ** 0.5 if enough else None)
        for place, term in enumerate(fit.terms)
    )
    own = slice(0, k)
    return replace(
        fit,
        by_rater=by_rater[own, own],
        by_item=by_item[own, own],
        by_both=by_both[own, own],
        terms=terms,
    )


def _jackknife(x: Floats, weight: Floats, scores: Floats, group: Codes, centre: Floats) -> Floats:
    """The sum over clusters of d d', d the change of the estimates without the cluster."""
    information = (x * weight[:, None]).T @ x
    moves = []
    order = np.argsort(group, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        rest = information - (x[rows] * weight[rows, None]).T @ x[rows]
        moves.append(np.linalg.lstsq(rest, scores[rows].sum(axis=0), rcond=None)[0])
    changes = np.array(moves) @ centre.T
    return np.asarray(changes.T @ changes, dtype=np.float64)


def identified(
    ratings: PairRatings, covariates: Mapping[str, Floats], with_side: bool
) -> tuple[list[str], list[str]]:
    """The covariates that vary beyond what strengths, the side and those before explain; others."""
    design = differences(ratings.a, ratings.b, len(ratings.names))
    if with_side:
        design = np.column_stack([design, ratings.order])
    names, confounded = [], []
    for name, column in covariates.items():
        rest = column - design @ np.linalg.lstsq(design, column, rcond=None)[0]
        if float(rest @ rest) <= _LEAST_OWN * float(column @ column):
            confounded.append(name)
            continue
        names.append(name)
        design = np.column_stack([design, column])
    return names, confounded


def _effect(
    fit: AbilityFit, term: Term, unit: float, name: str, column: Floats, level: float
) -> CovariateEffect:
    """A term of the fit per unit of its covariate; ``unit`` is what the fit had as 1."""
    value, spread = term.value / unit, float(np.std(column))
    if term.se_clustered is None:
        points = _points(value)
        return CovariateEffect(name, value, None, None, None, None, points, None, None, spread)
    se, df = term.se_clustered / unit, min(fit.n_raters, fit.n_items) - 1
    low, high = t_interval(value, se, df, level)
    p = t_test(value, se, df)
    return CovariateEffect(
        name, value, se, low, high, p, _points(value), _points(low), _points(high), spread
    )


def _points(log_odds: float) -> float:
    """By how many percentage points log odds move a chance of 50 %."""
    return 100 * (float(special.expit(log_odds)) - 0.5)
