"""Each pair's mean with its two-way clustered interval, wins, ties, losses, and order effects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from analysis.comparisons.adjust import adjusted
from analysis.comparisons.matched import wilcoxon
from analysis.comparisons.result import IGNORES_RATERS, Undefined
from analysis.intervals import (
    NAIVE,
    TWO_WAY,
    Codes,
    Floats,
    has_no_width,
    naive_interval,
    t_interval,
    t_test,
)
from analysis.pairs.fit import both_codes
from analysis.pairs.ratings import PairRatings

ALL_EQUAL = "all ratings are equal: a test is undefined"
CONFOUNDED = "a was always heard at the same place, or it is unknown: no order effect"
FEW = 10


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
    interval: str = TWO_WAY
    naive_interval: str = NAIVE
    naive_warning: str = IGNORES_RATERS


@dataclass(frozen=True)
class PairMean:
    """``condition`` against ``versus``: mean score above 0 where condition is better, and counts.

    ``balanced`` is the mean of the two orders' means: free of an order effect however often each
    order was heard. ``order`` is half of their difference, above 0 where the second clip gains.
    ``share`` is wins plus half the ties over all, its p against one half. The sign test and the
    signed rank test ignore raters. ``p_adjusted`` and ``naive_p_adjusted`` are over all pairs.
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
    p_adjusted: float | None = None
    naive_p_adjusted: float | None = None
    note: str = ""

    def row(self) -> dict[str, Any]:
        """The pair as one flat row of plain values."""
        row: dict[str, Any] = {}
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if isinstance(value, Measured):
                parts = {f"{name}_{part}": getattr(value, part) for part in _NUMBERS}
                row |= {name: value.value, **parts}
            else:
                row[name] = value
        return row


_NUMBERS = ("low", "high", "p", "naive_low", "naive_high", "naive_p", "note")


def pair_means(
    ratings: PairRatings, level: float = 0.95, adjustment: str = "holm"
) -> list[PairMean]:
    """Every pair that met, in the direction in which it was asked more often.

    Two-way clustered: Cameron, Gelbach and Miller (2011), eq. 2.11, t(min(raters, items) - 1), as
    for all means of this house; ``adjustment`` is none, bonferroni, holm or bh over the pairs.
    """
    low, high = np.minimum(ratings.a, ratings.b), np.maximum(ratings.a, ratings.b)
    made = []
    for a, b in np.unique(np.column_stack([low, high]), axis=0):
        rows = (low == a) & (high == b)
        turned = int(np.sum(ratings.a[rows] == a)) * 2 < int(rows.sum())
        first, second = (int(b), int(a)) if turned else (int(a), int(b))
        made.append(_pair_mean(ratings.kept(rows), first, second, level))
    p = adjusted([one.mean.p for one in made], adjustment)
    naive = adjusted([one.mean.naive_p for one in made], adjustment)
    return [
        replace(one, p_adjusted=x, naive_p_adjusted=z)
        for one, x, z in zip(made, p, naive, strict=True)
    ]


def order_effect(ratings: PairRatings, level: float = 0.95) -> Measured:
    """How much the clip heard second gains: the mean of the scores seen from the second clip.

    ITU-T P.800 annex E's raw CCR score. It is free of the conditions where each pair was heard
    equally often in both orders; `within_pairs` is free of them always. Raises Undefined where
    no order is known.
    """
    known = ratings.kept(ratings.order != 0)
    if not len(known.y):
        raise Undefined(CONFOUNDED)
    y = known.y * known.order
    return _measured(known, y, np.full(len(y), 1 / len(y)), float(y.mean()), y, level)


def within_pairs(ratings: PairRatings, level: float = 0.95) -> Measured:
    """The order effect with every pair's own mean taken out (least squares with a term per pair).

    Half of the difference between a heard second and a heard first. Raises Undefined where no
    pair was heard in both orders.
    """
    known = ratings.kept(ratings.order != 0)
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
    return _measured(known, error, around / spread, value, None, level)


def _pair_mean(ratings: PairRatings, first: int, second: int, level: float) -> PairMean:
    sign = np.where(ratings.a == first, 1.0, -1.0)
    y, order, n = ratings.y * sign, ratings.order * sign, len(ratings.y)
    mean = _measured(ratings, y, np.full(n, 1 / n), float(y.mean()), y, level)
    wins, losses = int(np.sum(y > 0)), int(np.sum(y < 0))
    decided = wins + losses
    ranks = wilcoxon(y, np.zeros(n), level, "ratings")
    balanced = effect = None
    if np.any(order > 0) and np.any(order < 0):
        balanced, effect = _by_order(ratings, y, order, level)
    return PairMean(
        condition=ratings.names[first],
        versus=ratings.names[second],
        mean=mean,
        balanced=balanced,
        order=effect,
        wins=wins,
        ties=n - decided,
        losses=losses,
        share=_share(ratings, np.sign(y), level),
        sign_p=float(stats.binomtest(wins, decided).pvalue) if decided else None,
        wilcoxon_v=ranks.statistic,
        wilcoxon_p=ranks.p,
        n_ratings=n,
        n_raters=len(np.unique(ratings.rater)),
        n_items=len(np.unique(ratings.item)),
        note="" if balanced is not None else CONFOUNDED,
    )


def _share(ratings: PairRatings, sign: Floats, level: float) -> Measured:
    """Wins plus half the ties over all: half of the mean sign, above one half."""
    half, n = sign / 2, len(sign)
    found = _measured(ratings, half, np.full(n, 1 / n), float(half.mean()), half, level)
    return replace(
        found,
        value=found.value + 0.5,
        low=_above_half(found.low),
        high=_above_half(found.high),
        naive_low=_above_half(found.naive_low),
        naive_high=_above_half(found.naive_high),
    )


def _above_half(end: float | None) -> float | None:
    return None if end is None else end + 0.5


def _by_order(
    ratings: PairRatings, y: Floats, order: Floats, level: float
) -> tuple[Measured, Measured]:
    """The mean of both orders' means, and half their difference."""
    after, before = order > 0, order < 0
    known = ratings.kept(order != 0)
    high, low = float(y[after].mean()), float(y[before].mean())
    weight = np.where(after, 0.5 / after.sum(), 0.5 / before.sum())[order != 0]
    error = (y - np.where(after, high, low))[order != 0]
    balanced = _measured(known, error, weight, (high + low) / 2, None, level)
    signed = weight * order[order != 0]
    return balanced, _measured(known, error, signed, (high - low) / 2, None, level)


def _measured(
    ratings: PairRatings,
    error: Floats,
    weight: Floats,
    value: float,
    plain: Floats | None,
    level: float,
) -> Measured:
    """A sum of weight * score (n,) with its clustered spread; ``plain`` has a naive t beside it."""
    centred = error - value if plain is not None else error
    naive = _naive(plain, level) if plain is not None else (None, None, None)
    n_raters, n_items = len(np.unique(ratings.rater)), len(np.unique(ratings.item))
    if min(n_raters, n_items) < 2:
        which = "rater" if n_raters < 2 else "item"
        note = f"one {which} only: how {which}s differ cannot be estimated"
        return Measured(value, None, None, None, *naive, note)
    by_rater, by_item, by_both = (
        _cluster_variance(weight * centred, groups)
        for groups in (ratings.rater, ratings.item, both_codes(ratings.rater, ratings.item))
    )
    variance, groups = max(by_rater + by_item - by_both, by_rater, by_item), min(n_raters, n_items)
    if has_no_width(variance, ratings.y):
        equal = not np.any(np.abs(centred) > 1e-12)
        note = ALL_EQUAL if equal else "the sums per rater and per item cancel out: no interval"
        return Measured(value, None, None, None, *naive, note)
    low, high = t_interval(value, variance**0.5, groups - 1, level)
    note = f"only {groups} raters or items: a rough interval" if groups < FEW else ""
    return Measured(value, low, high, t_test(value, variance**0.5, groups - 1), *naive, note)


def _naive(y: Floats, level: float) -> tuple[float | None, float | None, float | None]:
    bounds = naive_interval(y, level)
    if bounds is None or has_no_width(float(np.var(y)), y):
        return None, None, None
    p = t_test(float(y.mean()), float(np.std(y, ddof=1)) / len(y) ** 0.5, len(y) - 1)
    return bounds[0], bounds[1], p


def _cluster_variance(contribution: Floats, groups: Codes) -> float:
    return float(np.sum(np.bincount(groups, contribution) ** 2))


def _group_means(values: Floats, groups: Codes) -> Floats:
    means = np.bincount(groups, values) / np.bincount(groups)
    return np.asarray(means[groups], dtype=np.float64)
