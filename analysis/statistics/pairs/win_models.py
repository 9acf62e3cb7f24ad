"""Models of strengths: Bradley-Terry, Davidson's with ties, and graded comparisons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from analysis.arrays import Codes, Floats
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.ability_fit import (
    AbilityFit,
    differences,
    jeffreys_penalty,
    maximise,
    summarise_fit,
)
from analysis.statistics.pairs.comparison_graph import Connection, Separated, require_common_scale
from analysis.statistics.pairs.conditional_logit import ConditionalLogit
from analysis.statistics.pairs.pair_ratings import PairRatings

ORDER, LOG_NU = "second_advantage", "log_nu"
LOG_ODDS = "log odds of winning"
NO_ORDER = "the order is unknown or never varied: no order term"


def bradley_terry(
    ratings: PairRatings,
    ties: str = "half",
    order: bool = False,
    bias_reduced: bool = False,
) -> AbilityFit:
    """Bradley and Terry (1952): P(a beats b) = 1 / (1 + exp(θ_b - θ_a)), abilities in log odds.

    ``ties`` count half a win to each ("half") or are dropped ("drop"); Davidson's model keeps them
    as what they are. ``order`` adds ``second_advantage`` to the ability of the clip heard second
    (Davidson and Beaver 1977). Covariates of the ratings are terms under their names, in log odds
    per unit of the difference a - b (Springall 1973). ``bias_reduced`` takes the bias of first
    order out (Firth 1993, by the penalty of Jeffreys' prior): estimates are finite whoever won.
    Raises Disconnected, Separated (Ford 1957), and Undefined where no estimate is finite.
    """
    use = ratings if ties != "drop" else ratings.subset(ratings.y != 0)
    if not len(use.y):
        raise Undefined("only ties: nothing is left once they are dropped")
    graph = require_common_scale(use, ties)
    shares = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    name = "Bradley-Terry, ties as halves" if ties == "half" else "Bradley-Terry, ties dropped"
    return _fit_choice_model(use, name, shares, order, bias_reduced, graph)


def davidson(
    ratings: PairRatings,
    order: bool = False,
    bias_reduced: bool = False,
) -> AbilityFit:
    """Davidson (1970): odds of a win, a loss and a tie are e^θ_a : e^θ_b : ν √(e^θ_a e^θ_b).

    Term ``log_nu`` is log ν; ``order`` and ``bias_reduced`` as in `bradley_terry`.
    Raises Undefined with ties only (ν is infinite) and, unless ``bias_reduced``, without ties
    (ν is 0: use Bradley-Terry).
    """
    graph = require_common_scale(ratings)
    tied = int(np.sum(ratings.y == 0))
    if not (tied or bias_reduced):
        raise Undefined("no ties: Davidson's model is Bradley and Terry's here; use that")
    if tied == len(ratings.y):
        raise Undefined("only ties: all abilities are equal and the chance of a tie is 1")
    name = "Davidson, ties as ties"
    return _fit_choice_model(ratings, name, np.eye(3), order, bias_reduced, graph)


def _fit_choice_model(
    ratings: PairRatings,
    model: str,
    shares: Floats,
    order: bool,
    bias_reduced: bool,
    graph: Connection,
) -> AbilityFit:
    """The fit of a choice among a, b, and a tie; ``shares`` (outcomes, alternatives)."""
    if not graph.estimable and not bias_reduced:
        raise Separated(graph)
    with_order = order and ratings.orders_known
    choice, terms = _choice_model(ratings, shares, with_order, bias_reduced)
    at, information, _ = maximise(choice.objective, np.zeros(choice.x.shape[2]))
    return summarise_fit(
        ratings,
        model + ", bias-reduced" * bias_reduced + " (order term)" * with_order,
        LOG_ODDS,
        at,
        information,
        choice.scores(at),
        terms,
        choice.likelihood(at),
        fit_note(graph, order and not with_order),
    )


def _choice_model(
    ratings: PairRatings,
    shares: Floats,
    with_order: bool,
    bias_reduced: bool,
) -> tuple[ConditionalLogit, dict[str, int]]:
    """A choice among a, b, and maybe a tie as a conditional logit, and the places of its terms."""
    k, alternatives = len(ratings.names), shares.shape[1]
    order = ratings.order if with_order else np.zeros_like(ratings.order)
    cells, cell = distinct_trials(ratings.a, ratings.b, order, ratings.covariates)
    names = [LOG_NU] * (alternatives == 3) + [ORDER] * with_order + [*ratings.covariate_names]
    terms = {name: k - 1 + place for place, name in enumerate(names)}
    size = k - 1 + len(terms)
    sides = np.zeros((len(cells), size))  # half of what speaks for a, against b
    a, b = cells[:, :2].T.astype(np.int64)
    sides[:, : k - 1] = differences(a, b, k) / 2
    if with_order:
        sides[:, terms[ORDER]] = cells[:, 2] / 2
    if ratings.covariate_names:
        sides[:, size - len(ratings.covariate_names) :] = cells[:, 3:] / 2
    x = np.zeros((len(cells), alternatives, size))
    x[:, 0], x[:, 1] = sides, -sides
    if alternatives == 3:
        x[:, 2, terms[LOG_NU]] = 1.0
    model = ConditionalLogit(
        x,
        cell,
        ratings.outcome,
        shares,
        bias_reduced=bias_reduced,
    )
    return model, terms


def distinct_trials(
    a: Codes, b: Codes, order: Floats, covariates: Floats | None = None
) -> tuple[NDArray[Any], Codes]:
    """The distinct rows of a, b, order and covariates, and each trial's place among them (n,)."""
    stacked = np.column_stack([a, b, order.astype(np.int64)])
    if covariates is not None and covariates.shape[1]:
        stacked = np.column_stack([stacked, covariates])
    cells, place = np.unique(stacked, axis=0, return_inverse=True)
    return cells, place.reshape(-1).astype(np.int64)


def fit_note(graph: Connection, lacks_order: bool) -> str:
    """What to beware of in a fit: who was never beaten, no order term."""
    return "; ".join(filter(None, [graph.words, NO_ORDER * lacks_order]))


SPACING = "spacing"
_TINY = 1e-300


@dataclass(frozen=True)
class _Link:
    scale: str
    chance: Callable[[Floats], Floats]  # distribution function
    density: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]  # of the density
    quantile: Callable[[Floats], Floats]


def _logistic_density(x: Floats) -> Floats:
    return np.asarray(special.expit(x) * special.expit(-x), dtype=np.float64)


def _normal_density(x: Floats) -> Floats:
    return np.asarray(stats.norm.pdf(x), dtype=np.float64)


LINKS = {
    "logit": _Link(
        "log odds of a better grade",
        lambda x: np.asarray(special.expit(x), dtype=np.float64),
        _logistic_density,
        lambda x: _logistic_density(x) * (special.expit(-x) - special.expit(x)),
        lambda p: np.asarray(special.logit(p), dtype=np.float64),
    ),
    "probit": _Link(
        "standard deviations of one comparison (Thurstone case V)",
        lambda x: np.asarray(special.ndtr(x), dtype=np.float64),
        _normal_density,
        lambda x: np.where(np.isfinite(x), -x, 0.0) * _normal_density(x),
        lambda p: np.asarray(special.ndtri(p), dtype=np.float64),
    ),
}


def cumulative(
    ratings: PairRatings,
    link: str = "probit",
    order: bool = True,
    bias_reduced: bool = False,
) -> AbilityFit:
    """P(y <= k) = F(c_k - θ_a + θ_b - g x), cut points symmetric around 0, x = 1 if a is second.

    With ``probit``, Thurstone's (1927) case V for graded answers; for answers -1, 0, 1, Glenn and
    David's (1960) ties; with ``logit``, Rao and Kupper's (1967). Terms: ``spacing.1`` ... are the
    cut points above 0, covariates of the ratings are terms under their names (per unit of the
    difference a - b), ``second_advantage`` is g (±g by order, half of the gap between the two
    orders). A grade that nobody used is merged with its neighbour. ``bias_reduced`` adds the
    penalty of Jeffreys' prior: estimates are finite whoever won (Kosmidis and Firth 2021). Agresti
    (1992), Analysis of ordinal paired comparison data. Raises Disconnected, and Undefined where
    nothing is finite.
    """
    if link not in LINKS:
        raise Undefined(f"a link is {' or '.join(LINKS)}, not {link!r}")
    graph = require_common_scale(ratings)
    if not np.any(ratings.y):
        raise Undefined("only ties: all abilities are equal and the cut points are infinite")
    with_order = order and ratings.orders_known
    model = _Cumulative(ratings, LINKS[link], with_order, bias_reduced)
    at, information, _ = maximise(model.objective, model.start())
    return summarise_fit(
        ratings,
        f"cumulative {link}, symmetric cut points"
        + ", bias-reduced" * bias_reduced
        + " (order term)" * with_order,
        LINKS[link].scale,
        at,
        information,
        model.scores(at),
        model.terms,
        model.likelihood(at),
        fit_note(graph, order and not with_order),
    )


class _Cumulative:
    """The likelihood over distinct trials (a, b, order), each with every grade and its count."""

    def __init__(
        self,
        ratings: PairRatings,
        link: _Link,
        with_order: bool,
        bias_reduced: bool,
    ) -> None:
        k, self.link, self.y = len(ratings.names), link, ratings.y
        self.bias_reduced = bias_reduced
        self.sizes, grade = np.unique(np.abs(ratings.y), return_inverse=True)
        self.cuts, category = _cut_points(ratings.y, self.sizes, grade)
        n_spacings = self.cuts.shape[1]
        order = ratings.order if with_order else np.zeros_like(ratings.order)
        trials, place = distinct_trials(ratings.a, ratings.b, order, ratings.covariates)
        n_categories = len(self.cuts) + 1
        self.row = place * n_categories + category
        cells = np.arange(len(trials) * n_categories)
        self.count = np.bincount(self.row, minlength=len(cells)).astype(np.float64)
        self.total = np.repeat(self.count.reshape(-1, n_categories).sum(axis=1), n_categories)
        mine, grade_of = trials[cells // n_categories], cells % n_categories
        first = k - 1
        self.terms = {f"{SPACING}.{i + 1}": first + i for i in range(n_spacings)}
        names = [ORDER] * with_order + [*ratings.covariate_names]
        self.terms |= {name: first + n_spacings + i for i, name in enumerate(names)}
        self.size = first + len(self.terms)
        eta = np.zeros((len(cells), self.size))
        a, b = mine[:, :2].T.astype(np.int64)
        eta[:, :first] = differences(a, b, k)
        if names:
            eta[:, -len(names) :] = mine[:, 2 if with_order else 3 :][:, : len(names)]
        bounds = np.zeros((n_categories + 1, self.size))
        bounds[1:-1, first : first + n_spacings] = self.cuts
        self.upper, self.lower = bounds[grade_of + 1] - eta, bounds[grade_of] - eta
        self.top, self.bottom = grade_of == n_categories - 1, grade_of == 0
        self.spacings = slice(first, first + n_spacings)

    def start(self) -> Floats:
        """Abilities 0, cut points where the sizes of the answers put them."""
        at = np.zeros(self.size)
        shares = np.array([np.mean(np.abs(self.y) <= size) for size in self.sizes[:-1]])
        at[self.spacings] = self.link.quantile((1 + shares) / 2)
        return at

    def objective(self, at: Floats) -> tuple[float, Floats, Floats]:
        upper, lower, p = self._at(at)
        if np.any(p[self.count > 0] <= _TINY):
            return -np.inf, np.zeros(self.size), np.eye(self.size)
        gradient_rows = self._rows(upper, lower, p)
        over, under = self.link.slope(upper) / p, self.link.slope(lower) / p
        information = (gradient_rows * self.count[:, None]).T @ gradient_rows
        information -= (self.upper * (over * self.count)[:, None]).T @ self.upper
        information += (self.lower * (under * self.count)[:, None]).T @ self.lower
        value = float(self.count @ np.log(p))
        gradient = self.count @ gradient_rows
        if self.bias_reduced:
            expected = self.total * p
            mean = (gradient_rows * expected[:, None]).T @ gradient_rows
            penalty, inverse = jeffreys_penalty(mean)
            towards = gradient_rows @ inverse
            by_upper = over * np.sum(towards * self.upper, axis=1) * expected
            by_lower = under * np.sum(towards * self.lower, axis=1) * expected
            squares = np.sum(towards * gradient_rows, axis=1) * expected
            value += penalty
            gradient = gradient + by_upper @ self.upper - by_lower @ self.lower
            gradient = gradient - 0.5 * squares @ gradient_rows
            information = mean  # of the likelihood it may vanish where answers are separated
        return value, gradient, information

    def likelihood(self, at: Floats) -> float:
        return float(self.count @ np.log(self._at(at)[2]))

    def scores(self, at: Floats) -> Floats:
        """Each rating's gradient of the log-likelihood (n, p)."""
        return np.asarray(self._rows(*self._at(at))[self.row], dtype=np.float64)

    def _at(self, at: Floats) -> tuple[Floats, Floats, Floats]:
        upper = np.where(self.top, np.inf, self.upper @ at)
        lower = np.where(self.bottom, -np.inf, self.lower @ at)
        chance, high = self.link.chance, lower > 0  # differences of small numbers stay exact
        p = np.where(high, chance(-lower) - chance(-upper), chance(upper) - chance(lower))
        return upper, lower, np.maximum(p, _TINY)

    def _rows(self, upper: Floats, lower: Floats, p: Floats) -> Floats:
        over, under = self.link.density(upper) / p, self.link.density(lower) / p
        return np.asarray(self.upper * over[:, None] - self.lower * under[:, None])


def _cut_points(y: Floats, sizes: Floats, grade: Codes) -> tuple[Floats, Codes]:
    """Cut points as a matrix on the spacings (K - 1, spacings), and each answer's category (n,)."""
    sizes_above = len(sizes) - int(sizes[0] == 0)
    if sizes[0] == 0:
        upper = np.eye(sizes_above)
        cuts = np.vstack([-upper[::-1], upper])
        category = np.sign(y).astype(np.int64) * grade + sizes_above
    else:
        upper = np.eye(sizes_above - 1)
        cuts = np.vstack([-upper[::-1], np.zeros((1, sizes_above - 1)), upper])
        category = np.where(y > 0, sizes_above + grade, sizes_above - 1 - grade)
    return cuts, category.astype(np.int64)


def least_squares(ratings: PairRatings, order: bool = True) -> AbilityFit:
    """Abilities on the scale of the scores: y = θ_a - θ_b + g x + error, by least squares.

    Scheffé's (1952) analysis of paired comparisons without interactions; x = 1 if a is heard
    second, -1 if first. Term ``sigma`` is left out: it is √(residual sum of squares / df).
    Raises Disconnected, and Undefined without residual degrees of freedom or variance.
    """
    graph = require_common_scale(ratings)
    k, with_order = len(ratings.names), order and ratings.orders_known
    x = differences(ratings.a, ratings.b, k)
    if with_order:
        x = np.column_stack([x, ratings.order])
    df = len(x) - x.shape[1]
    if df < 1 or np.linalg.matrix_rank(x) < x.shape[1]:
        raise Undefined("too few ratings of pairs: no degree of freedom is left for the error")
    beta = np.asarray(np.linalg.lstsq(x, ratings.y, rcond=None)[0], dtype=np.float64)
    error = ratings.y - x @ beta
    variance = float(error @ error) / df
    if variance < 1e-20:
        raise Undefined("the abilities explain every rating exactly: no error to test them by")
    n = len(error)
    return summarise_fit(
        ratings,
        "least squares on the scores" + " (order term)" * with_order,
        "scores",
        beta,
        np.asarray(x.T @ x / variance, dtype=np.float64),
        np.asarray(x * (error / variance)[:, None], dtype=np.float64),
        {ORDER: k - 1} if with_order else {},
        -n / 2 * (float(np.log(2 * np.pi * variance * df / n)) + 1),
        fit_note(graph, order and not with_order),
        float(df),
    )
