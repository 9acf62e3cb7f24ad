"""AbilityFit, what a model of pairs gives back, and the Newton steps that find its maximum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, stats

from analysis.arrays import Codes, Floats
from analysis.statistics.clustered_variance import both_codes
from analysis.statistics.comparisons.pairwise_contrasts import Comparison, Pair, compare
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.comparison_graph import Infinite

CLUSTERED, MODEL = "clustered", "model"
TWO_WAY = "two-way clustered (raters, items), t(min(groups)-1)"
BY_MODEL = "model-based, ratings as if independent"
NO_FINITE = (
    "no finite estimates: some answers are told apart perfectly by these conditions or orders; "
    "reduce the bias (bias_reduced), or fit fewer terms"
)
NAIVE_WARNING = "takes ratings as independent: too narrow where raters or items differ"
_LEAST_INFORMATION = 1e-6  # one rating in doubt gives far more than this
_MOST_STEPS = 200
Objective = Callable[[Floats], tuple[float, Floats, Floats]]


class Judged(Protocol):
    """Judgements of conditions by ``names``, each by a rater of an item (codes (n,))."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def rater(self) -> Codes: ...
    @property
    def item(self) -> Codes: ...


@dataclass(frozen=True)
class Ability:
    """The ability of a condition, relative to the mean of all, with its interval."""

    condition: str
    value: float
    se: float
    low: float
    high: float
    level: float
    interval: str


@dataclass(frozen=True)
class Term:
    """Another parameter of a model (order, ties, a cut point), with both standard errors."""

    name: str
    value: float
    se: float
    se_clustered: float | None


@dataclass(frozen=True)
class AbilityFit:
    """Abilities of k conditions, which sum to 0, with a model-based and a clustered covariance.

    ``covariance`` (k, k) takes ratings as independent; ``influence`` (n, k) is by how much each
    rating moves each ability. ``by_rater``, ``by_item`` and ``by_both`` (k, k) are sandwich
    covariances with influences summed over raters, items, and both (Cameron, Gelbach and Miller
    2011, eq. 2.11). ``note`` says what to beware of.
    """

    model: str
    scale: str
    names: tuple[str, ...]
    ability: Floats
    covariance: Floats
    influence: Floats
    by_rater: Floats
    by_item: Floats
    by_both: Floats
    terms: tuple[Term, ...]
    log_likelihood: float
    n_ratings: int
    n_raters: int
    n_items: int
    df: float = np.inf
    note: str = ""

    def order(self) -> list[str]:
        """The conditions by falling ability; equal ones by name."""
        return [self.names[i] for i in np.argsort(-np.round(self.ability, 9), kind="stable")]

    def term(self, name: str) -> Term:
        """A parameter by name; KeyError names those there are."""
        for term in self.terms:
            if term.name == name:
                return term
        raise KeyError(f"no term {name}; there are {', '.join(term.name for term in self.terms)}")

    def clustered_covariance(self) -> Floats:
        """Rater + item - both (k, k), negative eigenvalues set to 0 (Cameron et al., sec. 2.3)."""
        values, vectors = np.linalg.eigh(self.by_rater + self.by_item - self.by_both)
        return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T, dtype=np.float64)

    def contrasts(
        self,
        pairs: Sequence[Pair] | None = None,
        kind: str = CLUSTERED,
        adjustment: str = "holm",
        level: float = 0.95,
    ) -> list[Comparison]:
        """Differences of abilities, all pairs by default, adjusted as `compare` does.

        Clustered: variance floored at the larger one-way one and at that of independent ratings,
        since residuals vanish where answers agree; t(min(raters, items) - 1). Model: warned of in
        ``note``. Raises Undefined if there is one rater or one item only.
        """
        covariance, floors, df = self._spread(kind)
        return compare(
            self.names,
            self.ability,
            covariance,
            pairs,
            df=df,
            adjustment=adjustment,
            level=level,
            floors=floors,
            note="" if kind == CLUSTERED else NAIVE_WARNING,
        )

    def abilities(self, kind: str = CLUSTERED, level: float = 0.95) -> list[Ability]:
        """Every ability with its t interval, in the order of ``names``."""
        covariance, floors, df = self._spread(kind)
        spread = np.max([np.diag(matrix) for matrix in (covariance, *floors)], axis=0)
        se = np.sqrt(np.maximum(spread, 0.0))
        t = float(stats.t.ppf((1 + level) / 2, df))
        interval = TWO_WAY if kind == CLUSTERED else BY_MODEL
        return [
            Ability(name, value, s, value - t * s, value + t * s, level, interval)
            for name, value, s in zip(self.names, self.ability.tolist(), se.tolist(), strict=True)
        ]

    def _spread(self, kind: str) -> tuple[Floats, list[Floats], float]:
        if kind == MODEL:
            return self.covariance, [], self.df
        if kind != CLUSTERED:
            raise Undefined(f"a covariance is {CLUSTERED} or {MODEL}, not {kind!r}")
        if min(self.n_raters, self.n_items) < 2:
            which = "rater" if self.n_raters < 2 else "item"
            raise Undefined(f"one {which} only: how {which}s differ cannot be estimated")
        df = min(self.n_raters, self.n_items) - 1
        return self.clustered_covariance(), [self.by_rater, self.by_item, self.covariance], df


def maximise(objective: Objective, start: ArrayLike) -> tuple[Floats, Floats, float]:
    """The maximum of a concave log-likelihood by Newton's method with halved steps.

    ``objective`` gives, at parameters (p,), its value, gradient (p,) and information (p, p).
    Returns the parameters, the information there, and the value. Raises Infinite where the
    information vanishes: the maximum is at infinity, or the parameters are not identified.
    """
    at = np.asarray(start, dtype=np.float64)
    value, gradient, information = objective(at)
    for _ in range(_MOST_STEPS):
        step = _step(information, gradient)
        gain = float(step @ gradient)
        if gain < 1e-18 * max(1.0, abs(value)):
            break
        scale, new = 1.0, objective(at + step)
        while not new[0] >= value - 1e-12 * abs(value) and scale > 1e-10:
            scale /= 2
            new = objective(at + scale * step)
        if scale <= 1e-10:
            break
        at = at + scale * step
        value, gradient, information = new
    if not len(at) or float(np.linalg.eigvalsh(information)[0]) < _LEAST_INFORMATION:
        raise Infinite(NO_FINITE)
    return at, information, value


def summarise_fit(
    ratings: Judged,
    model: str,
    scale: str,
    parameters: Floats,
    information: Floats,
    scores: Floats,
    terms: Mapping[str, int],
    log_likelihood: float,
    note: str = "",
    df: float = np.inf,
) -> AbilityFit:
    """The fit of parameters (p,) of which the first k - 1 are abilities (the first one's is 0).

    ``scores`` (n, p) are each rating's gradient, ``terms`` the places of further parameters.
    """
    k = len(ratings.names)
    inverse = linalg.inv(information)
    centre = centring(k)
    moved = np.asarray(scores @ inverse, dtype=np.float64)
    influence = np.asarray(moved[:, : k - 1] @ centre.T, dtype=np.float64)
    groups = (ratings.rater, ratings.item, both_codes(ratings.rater, ratings.item))
    by_rater, by_item, by_both = (cluster_products(influence, group) for group in groups)
    n_raters, n_items = len(np.unique(ratings.rater)), len(np.unique(ratings.item))
    enough = min(n_raters, n_items) > 1
    estimates = []
    for name, i in terms.items():
        rater, item, both = (float(cluster_products(moved[:, [i]], g)[0, 0]) for g in groups)
        variance = max(rater + item - both, rater, item)
        se = float(inverse[i, i]) ** 0.5
        estimates.append(Term(name, float(parameters[i]), se, variance**0.5 if enough else None))
    return AbilityFit(
        model=model,
        scale=scale,
        names=ratings.names,
        ability=centre @ parameters[: k - 1],
        covariance=np.asarray(centre @ inverse[: k - 1, : k - 1] @ centre.T, dtype=np.float64),
        influence=influence,
        by_rater=by_rater,
        by_item=by_item,
        by_both=by_both,
        terms=tuple(estimates),
        log_likelihood=log_likelihood,
        n_ratings=len(ratings.rater),
        n_raters=n_raters,
        n_items=n_items,
        df=df,
        note=note,
    )


def jeffreys_penalty(information: Floats) -> tuple[float, Floats]:
    """Half the log determinant of the information (p, p), and its inverse; -inf where it has none.

    The logarithm of Jeffreys' prior: a penalty that takes out the bias of first order (Firth 1993).
    """
    sign, log_determinant = np.linalg.slogdet(information)
    if sign <= 0 or not np.isfinite(log_determinant):
        return -np.inf, np.zeros_like(information)
    return 0.5 * float(log_determinant), np.asarray(linalg.inv(information), dtype=np.float64)


def centring(k: int) -> Floats:
    """The matrix (k, k - 1) from abilities with the first at 0 to abilities that sum to 0."""
    return np.asarray((np.eye(k) - 1 / k)[:, 1:], dtype=np.float64)


def differences(a: Codes, b: Codes, k: int) -> Floats:
    """Rows of a design for ability a - ability b (n, k - 1), the first ability being 0."""
    rows = np.zeros((len(a), k))
    rows[np.arange(len(a)), a] += 1.0
    rows[np.arange(len(a)), b] -= 1.0
    return rows[:, 1:]


def cluster_products(scores: Floats, groups: Codes) -> Floats:
    """The sum over groups of s s', s the group's summed scores; scores (n, p), result (p, p)."""
    size = int(groups.max(initial=-1)) + 1
    sums = np.column_stack([np.bincount(groups, column, size) for column in scores.T])
    return np.asarray(sums.T @ sums, dtype=np.float64)


def _step(information: Floats, gradient: Floats) -> Floats:
    try:
        return np.asarray(linalg.solve(information, gradient, assume_a="pos"), dtype=np.float64)
    except (linalg.LinAlgError, linalg.LinAlgWarning, ValueError):
        raise Infinite(NO_FINITE) from None
