"""Intervals for means of ratings: naive t, the sums of clustered ones, and the bootstrap.

Arrays in, arrays out. Throughout, ``y`` is a float array (n,) of scores; ``condition``, ``rater``
and ``item`` are integer code arrays (n,) from 0; C, R and T are the numbers of conditions, raters
and items; B is the number of bootstrap replicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special, stats

from analysis.arrays import Bools, Codes, Floats, distinct, distinct_codes

NAIVE = "naive t over ratings, as if independent"
NAIVE_RATERS = "naive t over rater means, items as if fixed"
NAIVE_WELCH = "naive Welch t over ratings, as if independent"
NAIVE_WELCH_RATERS = "naive Welch t over rater means, as if independent"
TWO_WAY = "two-way clustered (raters, items), Korn-Graubard"
THESE_ITEMS = "clustered by raters, for these items only, Korn-Graubard"
MOST_DRAWN = 4e9  # ratings times replicates of a bootstrap
BOOTSTRAP = "cluster bootstrap over raters and items, percentile (conservative)"

_MANY_ITEMS = 1e-12
_MANY = 500_000  # ratings from which on sums are dense: another order of adding, the same to 1e-15
_CHUNK = 250
_LEAST_FILLED = 0.9
_NO_WIDTH = 1e-12


@dataclass(frozen=True)
class Clustered:
    """Weighted means of C conditions, with the sums that two-way clustered variances are made of.

    ``value`` (C,); ``by_rater``, ``by_item`` and ``by_both`` (C, C) are cross products of the
    summed contributions w * (y - mean) per rater, per item, and per rater-and-item; ``of_raters``,
    ``of_items`` and ``of_both`` (C, C) the same of the weights w alone; ``squared_weights`` (C,)
    sums w²; ``within`` (C,) is the weighted variance of the scores; ``n_ratings``, ``n_raters``
    and ``n_items`` (C,); ``shared_raters`` and ``shared_items`` (C, C) count what two conditions
    have in common; ``groups`` are the numbers of raters and of items of all conditions together;
    ``ends`` are the ends of the scale, None where it has none that are known; ``pool`` are means
    that vary alike, whose variance components these share (None: these alone).
    """

    value: Floats
    by_rater: Floats
    by_item: Floats
    by_both: Floats
    of_raters: Floats
    of_items: Floats
    of_both: Floats
    squared_weights: Floats
    within: Floats
    n_ratings: Codes
    n_raters: Codes
    n_items: Codes
    shared_raters: Codes
    shared_items: Codes
    groups: tuple[int, int]
    ends: tuple[float, float] | None = None
    pool: Clustered | None = None

    @property
    def effective_raters(self) -> Floats:
        """How many raters of equal weight would be as uneven (C,): 1 / Σ shares² (Kish 1965)."""
        return _inverse(np.diag(self.of_raters))

    @property
    def effective_items(self) -> Floats:
        """How many items of equal weight would be as uneven (C,)."""
        return _inverse(np.diag(self.of_items))

    @property
    def effective_ratings(self) -> Floats:
        """How many ratings of equal weight would be as uneven (C,)."""
        return _inverse(self.squared_weights)

    def variance(self, a: int, b: int | None = None) -> float:
        """The variance of mean a, or of mean a - mean b, floored at the larger one-way one.

        Cameron, Gelbach and Miller (2011), eq. 2.11, without a small-sample factor; the difference
        puts +w e of a and -w e of b into one vector, so shared raters and items pair themselves.
        """
        rater = _quadratic(self.by_rater, a, b)
        item = _quadratic(self.by_item, a, b)
        return max(rater + item - _quadratic(self.by_both, a, b), rater, item)

    def degrees(self, a: int, b: int | None = None) -> int:
        """Degrees of freedom: the fewest raters or items of the conditions involved, minus 1."""
        groups = [self.n_raters[a], self.n_items[a]]
        if b is not None:
            groups += [self.n_raters[b], self.n_items[b]]
        return int(min(groups)) - 1


def rating_weights(condition: Codes, n_conditions: int) -> Floats:
    """Weights (n,) that make each condition's mean the mean over its ratings."""
    counts = np.bincount(condition, minlength=n_conditions)
    return np.asarray(1.0 / counts[condition], dtype=np.float64)


def rater_weights(condition: Codes, rater: Codes, n_conditions: int) -> Floats:
    """Weights (n,) that make each condition's mean the mean over its raters' own means."""
    cells, pairs = distinct_codes(_pair_codes(condition, rater))
    width = int(rater.max(initial=0)) + 1
    raters = np.bincount(cells // width, minlength=n_conditions)
    return np.asarray(1.0 / (np.bincount(pairs)[pairs] * raters[condition]), dtype=np.float64)


def clustered(
    y: Floats,
    condition: Codes,
    rater: Codes,
    item: Codes,
    n_conditions: int,
    weights: Floats | None = None,
    ends: tuple[float, float] | None = None,
) -> Clustered:
    """The means of the conditions with all that their clustered variances need.

    ``weights`` (n,) sum to 1 within each condition; by default every rating weighs the same.
    ``ends`` are those of the scale: no interval of a mean leaves it.
    """
    w = rating_weights(condition, n_conditions) if weights is None else weights
    origin = np.zeros(n_conditions)
    origin[condition] = y  # any score of the condition: the mean of equal scores is then exact
    value = origin + _sums(condition, w * (y - origin[condition]), n_conditions)
    apart = y - value[condition]
    contribution = w * apart
    within = _sums(condition, contribution * apart, n_conditions)
    del apart  # columns of millions of ratings are not kept longer than needed
    once, both = _shared_cells(rater, item)
    shared_raters = _shared_groups(condition, rater, n_conditions)
    shared_items = _shared_groups(condition, item, n_conditions)
    return Clustered(
        value=value,
        by_rater=_cross_products(contribution, condition, rater, n_conditions),
        by_item=_cross_products(contribution, condition, item, n_conditions),
        by_both=_of_cells(contribution, condition, once, both, n_conditions),
        of_raters=_cross_products(w, condition, rater, n_conditions),
        of_items=_cross_products(w, condition, item, n_conditions),
        of_both=_of_cells(w, condition, once, both, n_conditions),
        squared_weights=_sums(condition, w**2, n_conditions),
        within=within,
        n_ratings=np.bincount(condition, minlength=n_conditions).astype(np.int64),
        n_raters=shared_raters.diagonal(),
        n_items=shared_items.diagonal(),
        shared_raters=shared_raters,
        shared_items=shared_items,
        groups=(
            int(np.count_nonzero(np.bincount(rater))),
            int(np.count_nonzero(np.bincount(item))),
        ),
        ends=ends,
    )


def for_these_items(means: Clustered) -> Clustered:
    """The same means for inference about the items that were rated, and no others.

    Only raters are a sample: sums by item and by both are nothing, items are as good as many, and
    there are no fewer of them than raters.
    """
    none, n = np.zeros_like(means.by_rater), len(means.value)
    return replace(
        means,
        by_item=none,
        by_both=none,
        of_items=_MANY_ITEMS * np.eye(n),
        of_both=none,
        n_items=np.maximum(means.n_items, means.n_raters),
        pool=None if means.pool is None else for_these_items(means.pool),
    )


def t_interval(value: float, se: float, degrees: float, level: float) -> tuple[float, float]:
    """value ± t(level, degrees) se."""
    half = float(special.stdtrit(degrees, (1 + level) / 2)) * se  # t's quantile, without its checks
    return value - half, value + half


def t_test(value: float, se: float, degrees: float) -> float | None:
    """Two-sided p of value / se against 0 under t with the degrees; None when se is 0."""
    return float(2 * stats.t.sf(abs(value) / se, degrees)) if se > 0 else None


def naive_interval(
    y: Floats, level: float, ends: tuple[float, float] | None = None
) -> tuple[float, float] | None:
    """mean ± t(n-1) s / sqrt(n) over n values as if independent; None when n < 2.

    No further than to the ``ends`` of the scale.
    """
    if len(y) < 2:
        return None
    se = float(np.std(y, ddof=1)) / len(y) ** 0.5
    low, high = t_interval(float(np.mean(y)), se, len(y) - 1, level)
    return (low, high) if ends is None else (max(low, ends[0]), min(high, ends[1]))


def welch_interval(a: Floats, b: Floats, level: float) -> tuple[float, float, float | None] | None:
    """Welch's interval and p for mean(a) - mean(b), values as if independent; None when n < 2."""
    if min(len(a), len(b)) < 2:
        return None
    va, vb = float(np.var(a, ddof=1)) / len(a), float(np.var(b, ddof=1)) / len(b)
    difference = float(np.mean(a) - np.mean(b))
    if va + vb == 0:
        return difference, difference, None
    degrees = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    se = (va + vb) ** 0.5
    low, high = t_interval(difference, se, degrees, level)
    return low, high, t_test(difference, se, degrees)


def has_no_width(variance: float, y: Floats) -> bool:
    """Whether a variance is zero but for rounding, against the size of the scores."""
    return variance <= (_NO_WIDTH * max(1.0, float(np.max(np.abs(y), initial=0.0)))) ** 2


class PigeonholeWeights:
    """Bootstrap weights: raters and items drawn with replacement, independently (Owen 2007).

    ``rater`` (B, R) and ``item`` (B, T) count how often each was drawn; a rating's weight is the
    product of its rater's and its item's. One set serves all conditions, so differences pair.
    """

    def __init__(self, n_raters: int, n_items: int, replicates: int, seed: Any) -> None:
        rng = np.random.default_rng(seed)
        self.replicates = replicates
        self.rater = multiplicities(rng, n_raters, replicates)
        self.item = multiplicities(rng, n_items, replicates)

    def means(self, y: Floats, rater: Codes, item: Codes, by_rater: bool = False) -> Floats:
        """The mean of one condition in each replicate (B,); NaN where nothing was drawn.

        ``by_rater`` takes the mean over raters of their own means instead of over ratings.
        """
        (raters, r), (items, t) = distinct_codes(rater), distinct_codes(item)
        shape = (len(raters), len(items))
        total = sparse.csr_array((y, (r, t)), shape=shape)
        count = sparse.csr_array((np.ones_like(y), (r, t)), shape=shape)
        parts = []
        for start in range(0, self.replicates, _CHUNK):
            rows = slice(start, start + _CHUNK)
            w = self.rater[rows][:, raters].T.astype(np.float64)
            v = self.item[rows][:, items].T.astype(np.float64)
            parts.append(_replicate_means(_product(total, v), _product(count, v), w, by_rater))
        return np.concatenate(parts)


def percentile_interval(replicates: Floats, level: float) -> tuple[float, float] | None:
    """The middle ``level`` of the replicates (quantile type 7); None when over 10 % are empty."""
    filled = replicates[np.isfinite(replicates)]
    if len(filled) < _LEAST_FILLED * len(replicates):
        return None
    low, high = np.quantile(filled, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def holm(p: Sequence[float | None]) -> list[float | None]:
    """Holm's (1979) adjusted p values, in the order given; None stays None and is not counted."""
    known = sorted((value, i) for i, value in enumerate(p) if value is not None)
    adjusted: list[float | None] = [None] * len(p)
    highest = 0.0
    for rank, (value, i) in enumerate(known):
        highest = max(highest, min(1.0, value * (len(known) - rank)))
        adjusted[i] = highest
    return adjusted


def _replicate_means(total: Floats, count: Floats, w: Floats, by_rater: bool) -> Floats:
    if by_rater:
        drawn = count > 0
        total = np.divide(total, count, out=np.zeros_like(total), where=drawn)
        count = drawn.astype(np.float64)
    numerator, denominator = (w * total).sum(axis=0), (w * count).sum(axis=0)
    empty = np.full_like(numerator, np.nan)
    return np.asarray(np.divide(numerator, denominator, out=empty, where=denominator > 0))


def _product(matrix: sparse.csr_array[Any, Any], dense: Floats) -> Floats:
    return np.asarray(matrix @ dense, dtype=np.float64)


def multiplicities(rng: np.random.Generator, n: int, replicates: int) -> NDArray[np.uint16]:
    """How often each of n was drawn with replacement, n times in each replicate (B, n)."""
    drawn = rng.integers(0, n, size=(replicates, n))
    drawn += np.arange(replicates)[:, None] * n
    counts = np.bincount(drawn.reshape(-1), minlength=replicates * n)
    return counts.reshape(replicates, n).astype(np.uint16)


def _sums(condition: Codes, values: Floats, n: int) -> Floats:
    """Return the sums of values (n,) by condition, (n_conditions,), as floats even of no value."""
    return np.bincount(condition, weights=values, minlength=n).astype(np.float64)


def _cross_products(contribution: Floats, condition: Codes, group: Codes, n: int) -> Floats:
    width = int(group.max(initial=-1)) + 1
    if n * width < len(group) > _MANY:
        by_cell = np.bincount(condition * width + group, contribution, minlength=n * width)
        return np.asarray(by_cell.reshape(n, width) @ by_cell.reshape(n, width).T)
    sums = sparse.csr_array((contribution, (condition, group)), shape=(n, width))
    return np.asarray((sums @ sums.T).toarray(), dtype=np.float64)


def _shared_cells(rater: Codes, item: Codes) -> tuple[Bools, Codes]:
    """Which ratings (n,) are alone in their cell of rater and item, and the cells of the others.

    Of few ratings none is told to be alone.
    """
    cell = _pair_codes(rater, item)
    if len(cell) <= _MANY:
        return np.zeros(len(cell), dtype=bool), np.unique(cell, return_inverse=True)[1]
    ordered = np.sort(cell)
    again = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    del ordered
    if not len(again):
        return np.ones(len(cell), dtype=bool), cell[:0]
    place = np.searchsorted(again, cell)
    np.minimum(place, len(again) - 1, out=place)
    once = again[place] != cell
    return once, place[~once]


def _of_cells(contribution: Floats, condition: Codes, once: Bools, both: Codes, n: int) -> Floats:
    """As `_cross_products` by the cells of `_shared_cells`."""
    if not once.any():
        return _cross_products(contribution, condition, both, n)
    rest = ~once
    squares = contribution**2
    squares[rest] = 0
    alone = _sums(condition, squares, n)
    return np.diag(alone) + _cross_products(contribution[rest], condition[rest], both, n)


def _inverse(values: Floats) -> Floats:
    return np.divide(1.0, values, out=np.zeros(len(values)), where=values > 0)


def _shared_groups(condition: Codes, group: Codes, n: int) -> Codes:
    cells = distinct(_pair_codes(condition, group))
    place, own = np.divmod(cells, int(group.max(initial=0)) + 1)
    return np.rint(_cross_products(np.ones(len(cells)), place, own, n)).astype(np.int64)


def _quadratic(gram: Floats, a: int, b: int | None) -> float:
    if b is None:
        return float(gram[a, a])
    return float(gram[a, a] + gram[b, b] - 2 * gram[a, b])


def _pair_codes(first: Codes, second: Codes) -> Codes:
    return first * (int(second.max(initial=0)) + 1) + second
