"""Variances, degrees of freedom and intervals of clustered means and of their contrasts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.arrays import Bools, Codes, Floats
from analysis.statistics.bounded_interval import Combinations, Gaps, OnScale, Shares, most_df
from analysis.statistics.intervals import Clustered

_LEAST_DF = 0.5
_LEAST_SHARE, _NONE, _ROUNDING, _LEAST_MET = 1e-6, 1e-12, 1e-9, 1e-9


@dataclass(frozen=True)
class Spread:
    """Variances and degrees of freedom (m,) of m contrasts of clustered means.

    ``each`` (C,) is what the correlation of contrasts is taken from: variances of the C means as
    if they were independent.
    """

    variance: Floats
    df: Floats
    each: Floats


def spread_of(contrasts: Floats, means: Clustered) -> Spread:
    """All of contrasts (m, C); two raters and items or more."""
    by_rater, by_item = _factors(means)
    covariance = means.by_rater * np.outer(by_rater, by_rater)
    covariance += means.by_item * np.outer(by_item, by_item)
    each = _as_if_independent(contrasts, covariance)
    return Spread(*variances_and_df(contrasts, means), each)


def variances_and_df(contrasts: Floats, means: Clustered) -> tuple[Floats, Floats]:
    """Variances and degrees of freedom (m,) of contrasts (m, C): all that some analyses need.

    V = V_raters + V_items - V_both with the factors R/(R-1) and I/(I-1) of each condition, which
    makes it the unbiased one of a balanced two-way layout; at least the larger one-way variance,
    and at least that of the pooled `Components`. With G the fewest raters or items of the
    conditions involved, df = the components' (Satterthwaite 1946), at most 2 (G - 1) and at least
    G - 1. R, I and G are effective numbers, so that a few raters with most of the ratings count as
    few. Where there is one condition nothing is pooled: df = 1 / (r²/(R-1) + i²/(I-1)), r and i the
    shares of raters and items in V, at least G - 1.
    """
    least = least_df(contrasts, means)
    rater, item, two_way = clustered_parts(contrasts, means)
    variance = np.maximum.reduce([two_way, rater, item])
    components = components_of(means)
    if components is not None:
        pooled, df = components.variances_and_df(contrasts * _units(means), means)
        return np.maximum(variance, pooled), np.maximum(np.minimum(most_df(least), df), least)
    raters, items = _less_one(means.effective_raters), _less_one(means.effective_items)
    whole = np.where(variance > 0, variance, 1.0)
    share = (rater / whole) ** 2 / raters[0] + (item / whole) ** 2 / items[0]
    enough = (share > 0) & (least >= 1 - _ROUNDING)
    return variance, np.maximum(least, np.divide(1.0, share, out=least.copy(), where=enough))


def clustered_parts(contrasts: Floats, means: Clustered) -> tuple[Floats, Floats, Floats]:
    """The variances (m,) of contrasts (m, C) clustered by raters, by items, and by both."""
    by_rater, by_item = _factors(means)
    both = means.by_rater + means.by_item - means.by_both
    return (
        _form(contrasts * by_rater, means.by_rater),
        _form(contrasts * by_item, means.by_item),
        _form(contrasts * by_rater * by_item, both),
    )


def least_df(contrasts: Floats, means: Clustered) -> Floats:
    """The fewest effective raters or items, minus 1, of the conditions of contrasts (m, C)."""
    fewest = np.minimum(_less_one(means.effective_raters), _less_one(means.effective_items))
    least: Floats = np.where(contrasts != 0, fewest, np.inf).min(axis=1, initial=np.inf)
    return least


@dataclass(frozen=True)
class Components:
    """Variance components pooled over conditions, in units of what scores can vary at each mean.

    Raters and items have a level that all conditions share and one in each; so may what a rater
    says of an item (``pair``) be shared; ``rest`` is independent. With the degrees of freedom of
    each.
    """

    rater: float
    rater_condition: float
    item: float
    item_condition: float
    pair: float
    rest: float
    df_raters: float
    df_items: float
    df_rest: float

    @classmethod
    def from_means(cls, means: Clustered) -> Components:
        """By moments: of products of two ratings that have a rater (an item) in common."""
        unit = _units(means)
        inverse = np.divide(1.0, unit, out=np.zeros_like(unit), where=unit > _NONE)
        by_rater, by_item = _factors(means)
        scale = np.multiply.outer(*[inverse * by_rater * by_item] * 2)
        rater, item, both = (
            gram * scale for gram in (means.by_rater, means.by_item, means.by_both)
        )
        pairs, between = means.of_both, ~np.eye(len(unit), dtype=bool)
        raters = _moments(rater - both, means.of_raters - pairs, between)
        items = _moments(item - both, means.of_items - pairs, between)
        met, of_pairs = float(pairs[between].sum()), float(np.trace(pairs))
        shared = float(both[between].sum()) / met if met > _LEAST_MET else 0.0
        pair = max(shared - raters[0] - items[0], 0.0)
        rest = float(np.trace(both)) / max(of_pairs, _NONE) - sum(raters) - sum(items) - pair
        cells, conditions = int(means.n_ratings.sum()), len(unit)
        return cls(
            *raters,
            *items,
            pair,
            max(rest, 0.0) * of_pairs / max(float(means.squared_weights.sum()), _NONE),
            df_raters=_levels(int(means.n_raters.sum()), means.groups[0], means.of_raters),
            df_items=_levels(int(means.n_items.sum()), means.groups[1], means.of_items),
            df_rest=max(cells - conditions - sum(means.groups) + 2.0, 1.0),
        )

    def variances_and_df(self, rows: Floats, means: Clustered) -> tuple[Floats, Floats]:
        """Variances and Satterthwaite's degrees of freedom (m,) of contrasts (m, C) in units."""
        rater = self.rater * _form(rows, means.of_raters)
        rater += self.rater_condition * (rows**2 @ np.diag(means.of_raters))
        item = self.item * _form(rows, means.of_items)
        item += self.item_condition * (rows**2 @ np.diag(means.of_items))
        noise = self.pair * _form(rows, means.of_both)
        noise += self.rest * (rows**2 @ means.squared_weights)
        variance = rater + item + noise
        spread = (rater + noise) ** 2 / self.df_raters + (item + noise) ** 2 / self.df_items
        spread += noise**2 / self.df_rest
        df = np.divide(variance**2, spread, out=np.full_like(variance, np.inf), where=spread > 0)
        return variance, df


def components_of(means: Clustered) -> Components | None:
    """Those of the means' pool, or of the means; None where there is one condition."""
    pool = means.pool or means
    return Components.from_means(pool) if int(np.sum(pool.n_ratings > 0)) > 1 else None


@dataclass(frozen=True)
class Limits:
    """Intervals and tests of m contrasts: on their scale, or by t where it has no known ends.

    ``value``, ``variance`` and ``df`` (m,), in scores; ``low`` is the score that 0 of ``on_scale``
    stands for, ``width`` that of the scale.
    """

    value: Floats
    variance: Floats
    df: Floats
    on_scale: OnScale | None = None
    low: float = 0.0
    width: float = 1.0

    @property
    def known(self) -> Bools:
        """Which have an interval (m,): all on a scale, else those that vary."""
        size = max(1.0, float(np.abs(np.nan_to_num(self.value)).max(initial=0.0)))
        return np.asarray((self.variance > (_NONE * size) ** 2) | (self.on_scale is not None))

    def bounds(self, alpha: Floats | float) -> tuple[Floats, Floats]:
        """The intervals (m,) at the two-sided level ``alpha``; NaN where they are not known."""
        if self.on_scale is not None:
            low, high = self.on_scale.bounds(self.df, alpha)
            return self.low + self.width * low, self.low + self.width * high
        half = -special.stdtrit(self.df, alpha / 2) * np.sqrt(np.maximum(self.variance, 0.0))
        half = np.where(self.known, half, np.nan)
        return self.value - half, self.value + half

    def widened(self, alpha: float) -> Bools:
        """Which intervals of single means are wider than their variance gives (m,)."""
        if isinstance(self.on_scale, Shares):
            return self.on_scale.is_widened(self.df, alpha)
        return np.zeros(len(self.value), dtype=bool)

    def p_against(self, null: float) -> Floats:
        """Two-sided p (m,) against a contrast of ``null``; NaN where it is not known."""
        if self.on_scale is not None:
            return self.on_scale.p_against((null - self.low) / self.width, self.df)
        se = np.sqrt(np.where(self.known, self.variance, np.nan))
        return np.asarray(2 * special.stdtr(self.df, -np.abs(self.value - null) / se))


def limits_of(contrasts: Floats, means: Clustered) -> Limits:
    """Intervals and tests of contrasts (m, C), whose weights have the same sum in all of them."""
    variance, df = variances_and_df(contrasts, means)
    value = contrasts @ np.nan_to_num(means.value)
    if means.ends is None or not len(contrasts):
        return Limits(value, variance, df)
    low, width = means.ends[0], means.ends[1] - means.ends[0]
    first, second = contrasts.argmax(axis=1), contrasts.argmin(axis=1)
    count = (contrasts != 0).sum(axis=1)
    one = (contrasts[np.arange(len(first)), first] == 1) & (count <= 2)
    if one.all() and (count == 1).all():
        return Limits(value, variance, df, shares_of(means).take(first), low, width)
    if one.all() and (contrasts[np.arange(len(first)), second] == -1).all():
        shares = shares_of(means)
        gaps = Gaps(shares.take(first), shares.take(second), variance / width**2)
        return Limits(value, variance, df, gaps, 0.0, width)
    sums = Combinations(contrasts, shares_of(means), variance / width**2)
    return Limits(value, variance, df, sums, low * float(contrasts[0].sum()), width)


def limits_of_means(means: Clustered) -> Limits:
    """Those of the C means themselves."""
    return limits_of(np.eye(len(means.value)), means)


def variances_between(means: Clustered, at: Codes) -> Floats:
    """Variances (k,) of independent means, whose differences vary as those of k conditions do."""
    rows = np.zeros((len(at) * (len(at) - 1) // 2, len(means.value)))
    first, second = np.triu_indices(len(at), 1)
    place = np.arange(len(rows))
    rows[place, at[first]], rows[place, at[second]] = 1.0, -1.0
    between = np.zeros((len(at), len(at)))
    between[first, second] = variances_and_df(rows, means)[0]
    return _split(between + between.T, variances_and_df(np.eye(len(means.value))[at], means)[0])


def shares_of(means: Clustered) -> Shares:
    """The C means as shares of the way between the ends of their scale."""
    assert means.ends is not None
    low, width = means.ends[0], means.ends[1] - means.ends[0]
    every, value = np.eye(len(means.value)), np.nan_to_num(means.value, nan=low)
    components = components_of(means)
    return Shares(
        share=np.clip((value - low) / width, 0.0, 1.0),
        variance=variances_and_df(every, means)[0] / width**2,
        design_effect=np.zeros(len(value))
        if components is None
        else components.variances_and_df(every, means)[0],
        spread=means.within / width**2,
        answers=np.maximum(means.effective_ratings, 1.0),
        least_df=least_df(every, means),
    )


def both_codes(rater: Codes, item: Codes) -> Codes:
    """Codes (n,) of the rater-and-item groups."""
    joint = rater * (int(item.max(initial=0)) + 1) + item
    return np.asarray(np.unique(joint, return_inverse=True)[1], dtype=np.int64)


def _units(means: Clustered) -> Floats:
    """What scores can vary at each mean (C,): sqrt(p (1 - p)) of the scale's width, or 1."""
    if means.ends is None:
        return np.ones(len(means.value))
    low, high = means.ends
    value = np.clip(np.nan_to_num(means.value, nan=low), low, high)
    return np.sqrt((value - low) * (high - value))


def _moments(gram: Floats, loads: Floats, between: np.ndarray) -> tuple[float, float]:
    """A component shared by the conditions, and one of each condition, not below 0.

    Where nobody rates a condition twice, what is a condition's own is part of the independent rest.
    """
    inside, across = float(np.trace(loads)), float(loads[between].sum())
    main = max(float(gram[between].sum()) / across, 0.0) if across > _LEAST_MET else 0.0
    if inside <= _LEAST_MET:
        return main, 0.0
    whole = max(float(np.trace(gram)) / inside, 0.0)
    return min(main, whole), max(whole - main, 0.0)


def _levels(cells: int, levels: int, loads: Floats) -> float:
    """Degrees of freedom of an effect within conditions, those of shared levels taken away."""
    conditions, own = len(loads), np.diag(loads)
    common = 0.0
    if conditions > 1 and own.mean() > 0:
        across = (loads.sum() - own.sum()) / (conditions * (conditions - 1))
        common = min(1.0, float(across / own.mean()))
    return max(cells - conditions - (levels - 1) * common, 1.0)


def _as_if_independent(contrasts: Floats, covariance: Floats) -> Floats:
    """Variances of independent means (C,) whose differences vary like those with the covariance.

    With few items an estimated covariance has few dimensions, and its contrasts seem to be more
    alike than they are. Least squares over all pairs of the conditions involved, for differences;
    for single means their own variances, which leaves out what shared raters bring.
    """
    own = np.diag(covariance).copy()
    at = np.flatnonzero((contrasts != 0).any(axis=0))
    if len(at) > 2 and np.allclose(contrasts.sum(axis=1), 0):
        among = covariance[np.ix_(at, at)]
        own[at] = _split(np.add.outer(own[at], own[at]) - 2 * among, own[at])
    largest = float(own[at].max(initial=0.0)) or 1.0
    return np.asarray(np.maximum(own, _LEAST_SHARE * largest), dtype=np.float64)


def _split(between: Floats, own: Floats) -> Floats:
    """Variances (k,) whose sums are nearest to those between each two (k, k); ``own`` for two."""
    k = len(own)
    if k == 2:
        both = own if own.sum() > 0 else np.ones(2)
        return np.asarray(between[0, 1] * both / both.sum(), dtype=np.float64)
    sums = between.sum(axis=1)
    return np.asarray((sums - sums.sum() / (2 * k - 2)) / (k - 2), dtype=np.float64)


def _factors(means: Clustered) -> tuple[Floats, Floats]:
    """The roots (C,) of R/(R-1) and of I/(I-1)."""
    raters, items = _less_one(means.effective_raters), _less_one(means.effective_items)
    return np.sqrt(1 + 1 / raters), np.sqrt(1 + 1 / items)


def _less_one(groups: Floats) -> Floats:
    return np.asarray(np.maximum(groups - 1.0, _LEAST_DF), dtype=np.float64)


def _form(rows: Floats, gram: Floats) -> Floats:
    return np.asarray(((rows @ gram) * rows).sum(axis=1), dtype=np.float64)


FEW = 10
_NO_WIDTH = "the interval has no width and says nothing of other raters"
ALL_EQUAL = {
    False: f"all ratings are equal: {_NO_WIDTH}",
    True: f"all raters have the same mean: {_NO_WIDTH}",
}
UNANIMOUS = (
    "all answers are equal: how raters and items differ cannot be estimated, so the interval takes "
    "answers as independent"
)
WIDENED = "few ratings may be alike by chance: the interval is wider than their variance gives"
CANCELLED = "the sums per rater and per item cancel out: no clustered interval"

Bounds = tuple[float, float] | None


def two_way_intervals(means: Clustered, level: float) -> list[tuple[Bounds, str]]:
    """The clustered interval of each mean, or None; and the reason or a warning."""
    limits = limits_of_means(means)
    lows, highs = (ends.tolist() for ends in limits.bounds(1 - level))
    widened = limits.widened(1 - level).tolist()
    intervals: list[tuple[Bounds, str]] = []
    for code, (low, high) in enumerate(zip(lows, highs, strict=True)):
        note = too_few(means, code)
        groups = means.degrees(code) + 1
        equal = float(means.within[code]) <= 0
        if note:
            intervals.append((None, note))
        elif low != low:  # NaN: no variance, on a scale without known ends
            value = float(means.value[code])
            intervals.append(((value, value), ALL_EQUAL[False]) if equal else (None, CANCELLED))
        elif equal:
            intervals.append(((low, high), UNANIMOUS))
        else:
            notes = [f"only {groups} raters or items: a rough interval"] * (groups < FEW)
            notes += [WIDENED] * widened[code]
            intervals.append(((low, high), "; ".join(notes)))
    return intervals


def too_few(means: Clustered, code: int) -> str:
    """Why a mean has no clustered interval, or nothing."""
    if means.n_ratings[code] < 2:
        return "one rating only: no interval"
    if means.n_raters[code] < 2:
        return "one rater only: how raters differ cannot be estimated"
    if means.n_items[code] < 2:
        return "one item only: how items differ cannot be estimated"
    return ""
