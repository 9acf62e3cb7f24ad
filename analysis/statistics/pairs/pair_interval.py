"""Means of pairs with clustered intervals and p against a neutral score, and naive ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.statistics.clustered_interval import CANCELLED, UNANIMOUS, too_few
from analysis.statistics.clustered_variance import Limits, limits_of, variance_and_df
from analysis.statistics.comparisons.p_adjustment import sidak, sidak_level
from analysis.statistics.comparisons.test_result import IGNORES_RATERS
from analysis.statistics.intervals import (
    NAIVE,
    TWO_WAY,
    Clustered,
    clustered,
    has_no_width,
    naive_interval,
    t_test,
)

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
    found = [
        _alone(sums, code, y[group == code], null, level, *(float(each[code]) for each in alone))
        for code in range(n)
    ]
    m = sum(one.p is not None for one in found)
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
        for code, one in enumerate(found)
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
    variance, df = variance_and_df(sums, 0)
    if has_no_width(variance, scores):
        equal = not np.any(np.abs(contribution) > 1e-12 / n)
        note = ALL_EQUAL if equal else CANCELLED
        return Measured(value, None, None, None, None, None, None, note)
    limits = Limits(np.array([value]), np.array([variance]), np.array([df]))
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
    sums: Clustered, code: int, y: Floats, null: float, level: float, *found: float
) -> Measured:
    """One mean; ``found`` are its bounds and p, NaN where it does not vary on an unknown scale."""
    value, equal = float(sums.value[code]), not np.ptp(y)
    naive = _naive(y, null, level, sums.ends)
    note = too_few(sums, code)
    if note or any(np.isnan(found)):
        note = note or (ALL_EQUAL if equal else CANCELLED)
        return Measured(value, None, None, None, *naive, note)
    low, high, p = found
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
