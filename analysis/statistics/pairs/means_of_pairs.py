"""Each pair's mean with its two-way clustered interval, wins, ties, losses, and order effects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from analysis.arrays import Codes, Floats
from analysis.statistics.clustered_variance import (
    CANCELLED,
    UNANIMOUS,
    Limits,
    limits_of,
    too_few,
    variances_and_df,
)
from analysis.statistics.comparisons.p_adjustment import adjust_p, sidak, sidak_level
from analysis.statistics.comparisons.test_result import IGNORES_RATERS, Undefined
from analysis.statistics.comparisons.two_sample_tests import wilcoxon
from analysis.statistics.intervals import (
    NAIVE,
    TWO_WAY,
    Clustered,
    clustered,
    has_no_width,
    naive_interval,
    t_test,
)
from analysis.statistics.pairs.pair_ratings import PairRatings

ALL_EQUAL = "all answers are equal: a test is undefined"
FEW = 10
Ends = tuple[float, float] | None


@dataclass(frozen=True)
class Measured:
    """A number with a two-way clustered interval and p, and the naive t ones as in papers.

    ``low``, ``high`` and ``p`` are None where undefined, ``note`` then says why.
    """

    value: float
    low: float | None
    high: float | None
    p: float | None
    naive_low: float | None
    naive_high: float | None
    naive_p: float | None
    note: str = ""
    low_all: float | None = None  # these three hold for all of a family at once
    high_all: float | None = None
    p_adjusted: float | None = None
    interval: str = TWO_WAY
    naive_interval: str = NAIVE
    naive_warning: str = IGNORES_RATERS

    def moved(self, by: float) -> Measured:
        """The same around another origin."""
        ends = ("low", "high", "naive_low", "naive_high", "low_all", "high_all")
        moved = {name: getattr(self, name) for name in ends if getattr(self, name) is not None}
        return replace(
            self, value=self.value + by, **{name: end + by for name, end in moved.items()}
        )

    def claimed(self, level: float) -> bool:
        """Whether this is told apart from the origin, all of its family considered."""
        return self.p_adjusted is not None and self.p_adjusted < 1 - level


def means_against(
    y: Floats,
    group: Codes,
    rater: Codes,
    item: Codes,
    *,
    null: float = 0.0,
    ends: Ends = None,
    level: float = 0.95,
) -> list[Measured]:
    """The mean score (n,) of each group, by codes of groups, raters and items, and p against null.

    As `clustered_variance.limits_of` has it. The groups are one family, adjusted by Šidák (1967):
    an interval leaves ``null`` out if and only if its adjusted p is below 1 - level.
    """
    n = int(group.max(initial=-1)) + 1
    sums = clustered(y, group, rater, item, n, ends=ends)
    limits = limits_of(np.eye(n), sums)
    alone = *limits.bounds(1 - level), limits.p_against(null)
    results = [
        _alone(sums, code, y[group == code], null, level, *(float(each[code]) for each in alone))
        for code in range(n)
    ]
    m = sum(one.p is not None for one in results)
    low, high = limits.bounds(1 - sidak_level(level, m))
    return [
        one
        if one.p is None
        else replace(
            one,
            low_all=float(low[code]),
            high_all=float(high[code]),
            p_adjusted=sidak(one.p, m),
        )
        for code, one in enumerate(results)
    ]


def mean_against(
    y: Floats,
    rater: Codes,
    item: Codes,
    *,
    null: float = 0.0,
    ends: Ends = None,
    level: float = 0.95,
) -> Measured:
    """The mean of scores (n,), as `means_against` has it."""
    group = np.zeros(len(y), dtype=np.int64)
    return means_against(y, group, rater, item, null=null, ends=ends, level=level)[0]


def shares_right(
    right: Floats, pair: Codes, rater: Codes, item: Codes, level: float = 0.95
) -> list[Measured]:
    """The share of right answers (n,), 1 or 0, of each pair (codes (n,)), p against one half."""
    return means_against(right, pair, rater, item, null=0.5, ends=(0.0, 1.0), level=level)


def share_right(right: Floats, rater: Codes, item: Codes, level: float = 0.95) -> Measured:
    """The share of right answers (n,), 1 or 0, with its clustered interval, p against one half."""
    return mean_against(right, rater, item, null=0.5, ends=(0.0, 1.0), level=level)


def measured(
    rater: Codes, item: Codes, contribution: Floats, value: float, scores: Floats, level: float
) -> Measured:
    """A value with a t interval, by what each rating (n,) contributes to its error.

    ``scores`` (n,) say how large numbers are here.
    """
    n = len(contribution)
    sums = clustered(contribution * n, np.zeros(n, dtype=np.int64), rater, item, 1)
    note = too_few(sums, 0)
    if note:
        return Measured(value, None, None, None, None, None, None, note)
    variance, df = variances_and_df(np.ones((1, 1)), sums)
    if has_no_width(variance[0], scores):
        equal = not np.any(np.abs(contribution) > 1e-12 / n)
        note = ALL_EQUAL if equal else CANCELLED
        return Measured(value, None, None, None, None, None, None, note)
    limits = Limits(np.array([value]), variance, df)
    return _only(limits, level, sums)


def contrast(
    y: Floats,
    group: Codes,
    rater: Codes,
    item: Codes,
    weights: Floats,
    *,
    ends: Ends = None,
    level: float = 0.95,
) -> Measured:
    """A sum, ``weights`` (k,), of the means of k groups of scores (n,), with p against 0."""
    sums = clustered(y, group, rater, item, len(weights), ends=ends)
    limits = limits_of(weights[None], sums)
    notes = [note for note in (too_few(sums, code) for code in range(len(weights))) if note]
    if notes or not limits.known[0]:
        note = notes[0] if notes else CANCELLED
        return Measured(float(limits.value[0]), None, None, None, None, None, None, note)
    return _only(limits, level, sums)


def _only(limits: Limits, level: float, sums: Clustered) -> Measured:
    low, high, p = (float(x[0]) for x in (*limits.bounds(1 - level), limits.p_against(0.0)))
    return Measured(float(limits.value[0]), low, high, p, None, None, None, _few(sums, 0))


def _alone(
    sums: Clustered, code: int, y: Floats, null: float, level: float, *bounds_and_p: float
) -> Measured:
    """Return one mean; its bounds and p are NaN where it does not vary on an unknown scale."""
    value, equal = float(sums.value[code]), not np.ptp(y)
    naive = _naive(y, null, level, sums.ends)
    note = too_few(sums, code)
    if note or any(np.isnan(bounds_and_p)):
        note = note or (ALL_EQUAL if equal else CANCELLED)
        return Measured(value, None, None, None, *naive, note)
    low, high, p = bounds_and_p
    return Measured(value, low, high, p, *naive, UNANIMOUS if equal else _few(sums, code))


def _few(sums: Clustered, code: int) -> str:
    groups = sums.degrees(code) + 1
    return f"only {groups} raters or items: a rough interval" if groups < FEW else ""


def _naive(
    y: Floats, null: float, level: float, ends: Ends
) -> tuple[float | None, float | None, float | None]:
    bounds = naive_interval(y, level, ends)
    if bounds is None or has_no_width(float(np.var(y)), y):
        return None, None, None
    se = float(np.std(y, ddof=1)) / len(y) ** 0.5
    return bounds[0], bounds[1], t_test(float(y.mean()) - null, se, len(y) - 1)


CONFOUNDED = "a was always heard at the same place, or it is unknown: no order effect"


@dataclass(frozen=True)
class PairMean:
    """``condition`` against ``versus``: mean score above 0 where condition is better, and counts.

    ``balanced`` is the mean of the two orders' means: free of an order effect however often each
    order was heard. ``order`` is half of their difference, above 0 where the second clip gains.
    ``share`` is wins plus half the ties over all, its p against one half. The sign test and the
    signed rank test ignore raters. ``naive_p_adjusted`` is Holm's over all pairs.
    """

    condition: str
    versus: str
    mean: Measured
    balanced: Measured | None
    order: Measured | None
    wins: int
    ties: int
    losses: int
    share: Measured
    sign_p: float | None
    wilcoxon_v: float | None
    wilcoxon_p: float | None
    n_ratings: int
    n_raters: int
    n_items: int
    naive_p_adjusted: float | None = None
    note: str = ""

    def row(self) -> dict[str, Any]:
        """The pair as one flat row of plain values."""
        row: dict[str, Any] = {}
        for name, value in vars(self).items():
            if isinstance(value, Measured):
                parts = {f"{name}_{part}": getattr(value, part) for part in (*_NUMBERS, *_OF_ALL)}
                row |= {name: value.value, **parts}
            else:
                row[name] = value
        return row


_NUMBERS = ("low", "high", "p", "naive_low", "naive_high", "naive_p", "note", "interval")
_OF_ALL = ("low_all", "high_all", "p_adjusted")


def pair_means(ratings: PairRatings, level: float = 0.95) -> list[PairMean]:
    """Every pair that met, in the direction in which it was asked more often.

    The pairs are one family: `pair_interval.means_against`.
    """
    low, high = np.minimum(ratings.a, ratings.b), np.maximum(ratings.a, ratings.b)
    met, code = np.unique(np.column_stack([low, high]), axis=0, return_inverse=True)
    code = code.reshape(-1)
    pairs = []
    sign = np.ones(len(ratings.y))
    for place, (a, b) in enumerate(met):
        rows = code == place
        turned = int(np.sum(ratings.a[rows] == a)) * 2 < int(rows.sum())
        first, second = (int(b), int(a)) if turned else (int(a), int(b))
        pairs.append(_PairOf(ratings.subset(rows), first, second))
        sign[rows] = np.where(ratings.a[rows] == first, 1.0, -1.0)
    y, who = ratings.y * sign, (code, ratings.rater, ratings.item)
    means = means_against(y, *who, ends=_ends(ratings), level=level)
    won = (np.sign(y) + 1) / 2
    shares = means_against(won, *who, null=0.5, ends=(0.0, 1.0), level=level)
    naive = adjust_p([mean.naive_p for mean in means], "holm")
    return [
        pair.summary(mean, share, level, p)
        for pair, mean, share, p in zip(pairs, means, shares, naive, strict=True)
    ]


def order_effect(ratings: PairRatings, level: float = 0.95) -> Measured:
    """How much the clip heard second gains: the mean of the scores seen from the second clip.

    ITU-T P.800 annex E's raw CCR score. It is free of the conditions where each pair was heard
    equally often in both orders; `within_pairs` is free of them always. Raises Undefined where
    no order is known.
    """
    known = ratings.subset(ratings.order != 0)
    if not len(known.y):
        raise Undefined(CONFOUNDED)
    gain = known.y * known.order
    return mean_against(gain, known.rater, known.item, ends=_ends(ratings), level=level)


def within_pairs(ratings: PairRatings, level: float = 0.95) -> Measured:
    """The order effect with every pair's own mean taken out (least squares with a term per pair).

    Half of the difference between a heard second and a heard first. Raises Undefined where no
    pair was heard in both orders.
    """
    known = ratings.subset(ratings.order != 0)
    k = len(known.names)
    turned = known.a > known.b
    sign = np.where(turned, -1.0, 1.0)
    pair = np.minimum(known.a, known.b) * k + np.maximum(known.a, known.b)
    _, pair = np.unique(pair, return_inverse=True)
    y, order = known.y * sign, known.order * sign
    around = order - _group_means(order, pair)
    spread = float(around @ around)
    if spread < 1e-12:
        raise Undefined(CONFOUNDED)
    value = float(around @ y) / spread
    error = y - _group_means(y, pair) - value * around
    return measured(known.rater, known.item, error * around / spread, value, known.y, level)


class _PairOf:
    """The ratings of one pair, seen from its first condition."""

    def __init__(self, ratings: PairRatings, first: int, second: int) -> None:
        sign = np.where(ratings.a == first, 1.0, -1.0)
        self.ratings = ratings
        self.y, self.order = ratings.y * sign, ratings.order * sign
        self.names = ratings.names[first], ratings.names[second]

    def summary(
        self, mean: Measured, share: Measured, level: float, naive_p: float | None
    ) -> PairMean:
        ratings, y, order = self.ratings, self.y, self.order
        wins, losses, n = int(np.sum(y > 0)), int(np.sum(y < 0)), len(y)
        decided = wins + losses
        ranks = wilcoxon(y, np.zeros(n), level, "ratings")
        balanced = effect = None
        if np.any(order > 0) and np.any(order < 0):
            balanced, effect = _by_order(ratings, y, order, level)
        return PairMean(
            condition=self.names[0],
            versus=self.names[1],
            mean=mean,
            balanced=balanced,
            order=effect,
            wins=wins,
            ties=n - decided,
            losses=losses,
            share=share,
            sign_p=float(stats.binomtest(wins, decided).pvalue) if decided else None,
            wilcoxon_v=ranks.statistic,
            wilcoxon_p=ranks.p,
            n_ratings=n,
            n_raters=len(np.unique(ratings.rater)),
            n_items=len(np.unique(ratings.item)),
            naive_p_adjusted=naive_p,
            note="" if balanced is not None else CONFOUNDED,
        )


def _by_order(
    ratings: PairRatings, y: Floats, order: Floats, level: float
) -> tuple[Measured, Measured]:
    """The mean of both orders' means, and half their difference."""
    known = order != 0
    after = (order[known] > 0).astype(np.int64)
    who = after, ratings.rater[known], ratings.item[known]
    ends = _ends(ratings)
    balanced, effect = (
        contrast(y[known], *who, np.array([first, 0.5]), ends=ends, level=level)
        for first in (0.5, -0.5)
    )
    return balanced, effect


def _ends(ratings: PairRatings) -> tuple[float, float] | None:
    return (-ratings.reach, ratings.reach) if ratings.reach else None


def _group_means(values: Floats, groups: Codes) -> Floats:
    means = np.bincount(groups, values) / np.bincount(groups)
    return np.asarray(means[groups], dtype=np.float64)
