"""What a perfect metric could reach per condition, and how one rater does against the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.arrays import Floats
from analysis.statistics.agreement.agreement_result import coded
from analysis.statistics.agreement.versus_rest import coefficients, raters_and_rest
from analysis.statistics.correlations import in_both_orders, signed_ranks
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.metric_agreement.metric_units import Units

SPLITS = 200
FEWEST = 3
LEAST_SHARED = 5
_STATISTICS = ("srcc", "plcc")


@dataclass(frozen=True)
class Ceiling(FlatRow):
    """The mean correlation of both halves of the raters, and what follows; None where undefined.

    ``reliability`` is 2 r / (1 + r) (Spearman 1910, Brown 1910), ``ceiling`` its root; ``low`` and
    ``high`` hold the middle of the splits' own ceilings.
    """

    statistic: str
    split_half: float | None
    reliability: float | None
    ceiling: float | None
    low: float | None
    high: float | None
    n: int
    note: str = ""


def condition_ceiling(units: Units, *, level: float = 0.95, seed: int = 0) -> list[Ceiling]:
    """SRCC and PLCC of the condition means of two random halves of the raters.

    A rater is in one half with all ratings, so that leniency is not taken for agreement; clips are
    the same in both halves, as they are for a metric. Pairs with sides count in both orders
    (`analysis.statistics.correlations`). Undefined with fewer than 3 conditions or 4
    raters, or where means do not differ.
    """
    n, raters = len(units.conditions), units.n_raters
    if n < FEWEST or raters < 4:
        why = f"{n} conditions and {raters} raters: at least {FEWEST} and 4 are needed"
        return [_undefined_ceiling(name, n, why) for name in _STATISTICS]
    rng = np.random.default_rng(seed)
    side = np.argsort(rng.random((SPLITS, raters)), axis=1) % 2
    member = units.condition[:, None] == np.arange(n)
    total = np.asarray(units.total.T @ member.astype(np.float64))  # R, C
    count = np.asarray(units.count.T @ member.astype(np.float64))
    halves = []
    for half in (0, 1):
        own = (side == half).astype(np.float64)
        held = own @ count
        empty = np.full(held.shape, np.nan)
        halves.append(np.divide(own @ total, held, out=empty, where=held > 0))
    whole = np.isfinite(halves[0]).all(axis=1) & np.isfinite(halves[1]).all(axis=1)
    a, b = (half[whole] for half in halves)
    if not len(a):
        why = "in no split do both halves of the raters have every condition"
        return [_undefined_ceiling(name, n, why) for name in _STATISTICS]
    if units.signed:
        a, b = units.centred(a), units.centred(b)
    return [_ceiling(name, a, b, level, units.signed) for name in _STATISTICS]


def _undefined_ceiling(name: str, n: int, why: str) -> Ceiling:
    return Ceiling(name, None, None, None, None, None, n, why)


def _ceiling(name: str, a: Floats, b: Floats, level: float, signed: bool) -> Ceiling:
    n = a.shape[1]
    if name == "srcc":
        ranked = signed_ranks if signed else stats.rankdata
        a, b = ranked(a, axis=1), ranked(b, axis=1)
    if not signed:
        a, b = (each - each.mean(axis=1, keepdims=True) for each in (a, b))
    scale = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    r = (a * b).sum(axis=1)[scale > 1e-12] / scale[scale > 1e-12]
    if not len(r):
        return _undefined_ceiling(name, n, "the means do not differ")
    mean = float(np.mean(r))
    reliability = 2 * mean / (1 + mean) if mean > -1 else -1.0
    note = "" if mean > 0 else "the halves do not agree at all: the ceiling is 0"
    nonnegative = np.maximum(r, 0.0)
    each = np.sqrt(2 * nonnegative / (1 + nonnegative))
    low, high = np.quantile(each, [(1 - level) / 2, (1 + level) / 2])
    top = max(reliability, 0.0) ** 0.5
    return Ceiling(name, mean, reliability, top, float(low), float(high), n, note)


def _sided_scores(score: Floats, units: Units) -> Floats:
    return in_both_orders(units.centred(score)) if units.signed else score


@dataclass(frozen=True)
class RaterCorrelation:
    """A coefficient of one rater with the others: mean and quartiles over ``n_raters`` raters."""

    statistic: str
    value: float
    low: float
    high: float
    n_raters: int


def one_against_others(units: Units) -> list[RaterCorrelation]:
    """The mean PLCC, SRCC and KRCC of a rater with the mean of all other raters of the same clips.

    Over the raters who share at least 5 clips with others and do not give one score throughout.
    Pairs with sides count in both orders.
    Empty without such a rater.
    """
    ratings = coded(units.unit, units.rater, units.score)
    per_rater = []
    for _, own, rest in raters_and_rest(ratings):
        if len(own) >= LEAST_SHARED:
            each = coefficients(_sided_scores(own, units), _sided_scores(rest, units))
            if each[0] is not None:
                per_rater.append(each)
    if not per_rater:
        return []
    correlations = []
    values = np.array(per_rater, dtype=np.float64).T
    for name, per_statistic in zip(("plcc", "srcc", "krcc"), values, strict=True):
        low, high = np.quantile(per_statistic, [0.25, 0.75])
        mean = float(per_statistic.mean())
        correlations.append(
            RaterCorrelation(name, mean, float(low), float(high), len(per_statistic))
        )
    return correlations
