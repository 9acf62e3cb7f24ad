"""A mean with its two-way clustered interval and p, the naive ones beside it, also at the edge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.statistics.binomial import effective
from analysis.statistics.comparisons.clustered_variance import spread_of_one, two_way_sums
from analysis.statistics.comparisons.p_adjustment import sidak, sidak_level
from analysis.statistics.comparisons.test_result import IGNORES_RATERS
from analysis.statistics.intervals import (
    NAIVE,
    TWO_WAY,
    has_no_width,
    naive_interval,
    t_interval,
    t_test,
)
from analysis.statistics.unanimous import UNANIMOUS, Edge, edge_of

ALL_EQUAL = "all answers are equal: a test is undefined"
AT_THE_EDGE = (
    " Where 90 % of the answers or more are the same and fewer than 6 raters or 6 items ever "
    "answered otherwise, every rater (or item, whichever are fewer) counts as one answer, in "
    "Clopper and Pearson's interval and the sign test (Korn and Graubard 1998)."
)
FEW = 10


@dataclass(frozen=True)
class Measured:
    """A number with a two-way clustered interval and p, and the naive t ones as in papers.

    ``low``, ``high`` and ``p`` are None where undefined, ``note`` then says why. ``interval`` says
    how they were made: where nearly all answers are equal, as `unanimous.edge_of` has it.
    """

    value: float
    low: float | None
    high: float | None
    p: float | None
    naive_low: float | None
    naive_high: float | None
    naive_p: float | None
    note: str = ""
    low_all: float | None = None  # these three hold for all of a family at once: see `jointly`
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

    def at_least(self, edge: Edge | None) -> Measured:
        """No narrower than the bounds of nearly equal answers, and no smaller a p."""
        if edge is None:
            return self
        return replace(
            self,
            low=min(edge.low, edge.low if self.low is None else self.low),
            high=max(edge.high, edge.high if self.high is None else self.high),
            p=max(edge.p, self.p or 0.0),
            note=edge.note,
            interval=UNANIMOUS,
        )


def mean_of(
    y: Floats, rater: Codes, item: Codes, level: float = 0.95, farthest: float | None = None
) -> Measured:
    """The mean of scores (n,) around 0, by codes of raters and items (n,), and p against 0.

    Two-way clustered, as `comparisons.clustered_variance.spread_of` has it. Where nearly all
    scores are equal `unanimous.edge_of`; ``farthest`` is the largest size that a score may have,
    by default that of these.
    """
    value, n = float(y.mean()), len(y)
    mean = measured(rater, item, np.full(n, 1 / n) * (y - value), value, y, level, y)
    most = float(np.max(np.abs(y))) if farthest is None else farthest
    return mean.at_least(edge_of(y, rater, item, level, most))


def jointly(make: Sequence[Callable[[float], Measured]], level: float) -> list[Measured]:
    """What each function makes of a level, with interval and p for all that have a test at once.

    By Šidák, who needs no t intervals: it holds for means at the edge too. An interval leaves the
    origin out if and only if its adjusted p is below 1 - level.
    """
    family = [one(level) for one in make]
    m = sum(one.p is not None for one in family)
    for i, (one, again) in enumerate(zip(family, make, strict=True)):
        if one.p is not None:
            wider, p = again(sidak_level(level, m)), sidak(one.p, m)
            family[i] = replace(one, low_all=wider.low, high_all=wider.high, p_adjusted=p)
    return family


def share_right(right: Floats, rater: Codes, item: Codes, level: float = 0.95) -> Measured:
    """The share of right answers (n,), 1 or 0, with its clustered interval, p against one half."""
    return mean_of(right - 0.5, rater, item, level, 0.5).moved(0.5)


def shares_right(
    right: Floats, pair: Codes, rater: Codes, item: Codes, level: float = 0.95
) -> list[Measured]:
    """The share of right answers (n,), 1 or 0, of each pair (codes (n,)), p against one half."""

    def of(code: int) -> Callable[[float], Measured]:
        rows = pair == code
        return lambda level: mean_of(right[rows] - 0.5, rater[rows], item[rows], level, 0.5)

    codes = range(int(pair.max(initial=-1)) + 1)
    return [one.moved(0.5) for one in jointly([of(code) for code in codes], level)]


def measured(
    rater: Codes,
    item: Codes,
    contribution: Floats,
    value: float,
    scores: Floats,
    level: float,
    plain: Floats | None = None,
) -> Measured:
    """A value with its clustered spread, by what each rating contributes to its error (n,).

    ``scores`` (n,) tell how large numbers are here; ``plain`` has a naive t beside the clustered.
    """
    naive = _naive(plain, level) if plain is not None else (None, None, None)
    n_raters, n_items = len(np.unique(rater)), len(np.unique(item))
    if min(n_raters, n_items) < 2:
        which = "rater" if n_raters < 2 else "item"
        note = f"one {which} only: how {which}s differ cannot be estimated"
        return Measured(value, None, None, None, *naive, note)
    sums = two_way_sums(contribution, rater, item)
    variance, df = spread_of_one(*sums, effective(rater), effective(item))
    groups = min(n_raters, n_items)
    if has_no_width(variance, scores):
        equal = not np.any(np.abs(contribution) > 1e-12 / len(contribution))
        note = ALL_EQUAL if equal else "the sums per rater and per item cancel out: no interval"
        return Measured(value, None, None, None, *naive, note)
    low, high = t_interval(value, variance**0.5, df, level)
    note = f"only {groups} raters or items: a rough interval" if groups < FEW else ""
    return Measured(value, low, high, t_test(value, variance**0.5, df), *naive, note)


def _naive(y: Floats, level: float) -> tuple[float | None, float | None, float | None]:
    bounds = naive_interval(y, level)
    if bounds is None or has_no_width(float(np.var(y)), y):
        return None, None, None
    p = t_test(float(y.mean()), float(np.std(y, ddof=1)) / len(y) ** 0.5, len(y) - 1)
    return bounds[0], bounds[1], p
