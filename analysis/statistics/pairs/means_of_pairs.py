"""Each pair's mean with its two-way clustered interval, wins, ties, losses, and order effects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from analysis.arrays import Codes, Floats
from analysis.statistics.comparisons.p_adjustment import adjusted
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.comparisons.two_sample_tests import wilcoxon
from analysis.statistics.pairs.pair_interval import (
    Measured,
    contrast,
    mean_against,
    means_against,
    measured,
)
from analysis.statistics.pairs.pair_ratings import PairRatings

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
        pairs.append(_PairOf(ratings.kept(rows), first, second))
        sign[rows] = np.where(ratings.a[rows] == first, 1.0, -1.0)
    y, who = ratings.y * sign, (code, ratings.rater, ratings.item)
    means = means_against(y, *who, ends=_ends(ratings), level=level)
    won = (np.sign(y) + 1) / 2
    shares = means_against(won, *who, null=0.5, ends=(0.0, 1.0), level=level)
    naive = adjusted([mean.naive_p for mean in means], "holm")
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
    known = ratings.kept(ratings.order != 0)
    if not len(known.y):
        raise Undefined(CONFOUNDED)
    gain = known.y * known.order
    return mean_against(gain, known.rater, known.item, ends=_ends(ratings), level=level)


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
