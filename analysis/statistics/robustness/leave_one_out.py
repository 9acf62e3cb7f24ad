"""Clustered means without one rater or item at a time, and how few raters turn a difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from analysis.arrays import Codes, Floats
from analysis.statistics.intervals import Clustered


@dataclass(frozen=True)
class _Sums:
    """Cross products (C, C) over groups: sums by sums, sums by counts, counts, and presence."""

    ss: Floats
    sn: Floats
    nn: Floats
    met: Floats

    @classmethod
    def of(cls, s: Floats, n: Floats) -> _Sums:
        """Of dense sums and counts (G, C)."""
        there = (n > 0).astype(np.float64)
        return cls(s.T @ s, s.T @ n, n.T @ n, there.T @ there)

    def less(self, other: _Sums) -> _Sums:
        return _Sums(
            self.ss - other.ss, self.sn - other.sn, self.nn - other.nn, self.met - other.met
        )

    def plus(self, other: _Sums) -> _Sums:
        return _Sums(
            self.ss + other.ss, self.sn + other.sn, self.nn + other.nn, self.met + other.met
        )

    def around(self, mean: Floats, count: Floats) -> Floats:
        """Cross products (C, C) of the groups' contributions to the means."""
        shifted = self.ss - self.sn * mean - (self.sn * mean).T + self.nn * np.outer(mean, mean)
        weight = np.divide(1.0, count, out=np.zeros_like(count), where=count > 0)
        return np.asarray(shifted * np.outer(weight, weight), dtype=np.float64)

    def loads(self, count: Floats) -> Floats:
        """Cross products (C, C) of the groups' weights in the means."""
        weight = np.divide(1.0, count, out=np.zeros_like(count), where=count > 0)
        return np.asarray(self.nn * np.outer(weight, weight), dtype=np.float64)


def without_each(
    y: Floats,
    condition: Codes,
    rater: Codes,
    item: Codes,
    n_conditions: int,
    chosen: Iterable[int] | None = None,
    ends: tuple[float, float] | None = None,
) -> Iterator[tuple[int, Clustered]]:
    """The code of each rater (or of those chosen), and the means without that rater's ratings.

    As `intervals.clustered` of the rest; a condition of which nothing is left has 0 ratings and
    NaN for a mean. For items give ``item`` as ``rater`` and turn the result by `sides_turned`.
    """
    counts = np.bincount(condition, minlength=n_conditions).astype(np.float64)
    sums = np.bincount(condition, weights=y, minlength=n_conditions)
    origin = np.divide(sums, counts, out=np.zeros(n_conditions), where=counts > 0)
    centred = y - origin[condition]
    by_rater = _dense(centred, condition, rater, n_conditions)
    by_item = _dense(centred, condition, item, n_conditions)
    both, owner, of_item = _both(rater, item)
    s_both, n_both = _sparse(centred, condition, both, n_conditions)
    all_raters, all_items = _Sums.of(*by_rater), _Sums.of(*by_item)
    there = n_both.sign()
    all_both = _Sums(*(_product(*each) for each in (
        (s_both, s_both), (s_both, n_both), (n_both, n_both), (there, there)
    )))  # fmt: skip
    total = by_rater[0].sum(axis=0)
    squares = _dense(centred**2, condition, rater, n_conditions)[0]
    every_square, groups = squares.sum(axis=0), (len(by_rater[0]), int(item.max(initial=-1)) + 1)
    starts = np.searchsorted(owner, np.arange(len(by_rater[0]) + 1))
    for code in range(len(by_rater[0])) if chosen is None else chosen:
        own = slice(starts[code], starts[code + 1])
        s, n = s_both[own].toarray(), n_both[own].toarray()
        of = of_item[own]
        old = by_item[0][of], by_item[1][of]
        raters = all_raters.less(_Sums.of(*(each[code : code + 1] for each in by_rater)))
        items = all_items.less(_Sums.of(*old)).plus(_Sums.of(old[0] - s, old[1] - n))
        pairs = all_both.less(_Sums.of(s, n))
        left = np.rint(counts - by_rater[1][code])
        mean = np.full(n_conditions, np.nan)
        np.divide(total - by_rater[0][code], left, out=mean, where=left > 0)
        gone = int(((old[1] - n).sum(axis=1) < 0.5).sum())
        within = np.divide(
            every_square - squares[code], left, out=np.zeros(n_conditions), where=left > 0
        )
        yield (
            code,
            Clustered(
                value=origin + mean,
                **_forms(mean, left, raters, items, pairs),
                squared_weights=np.divide(1.0, left, out=np.zeros_like(left), where=left > 0),
                within=np.maximum(within - np.nan_to_num(mean) ** 2, 0.0),
                n_ratings=left.astype(np.int64),
                groups=(groups[0] - 1, groups[1] - gone),
                ends=ends,
            ),
        )


def sides_turned(means: Clustered) -> Clustered:
    """The same with raters and items in each other's place."""
    return replace(
        means,
        by_rater=means.by_item,
        by_item=means.by_rater,
        n_raters=means.n_items,
        n_items=means.n_raters,
        shared_raters=means.shared_items,
        shared_items=means.shared_raters,
        of_raters=means.of_items,
        of_items=means.of_raters,
        groups=(means.groups[1], means.groups[0]),
    )


def _forms(mean: Floats, left: Floats, raters: _Sums, items: _Sums, pairs: _Sums) -> dict[str, Any]:
    known = np.nan_to_num(mean)
    met = [np.rint(each.met).astype(np.int64) for each in (raters, items)]
    return {
        "by_rater": raters.around(known, left),
        "by_item": items.around(known, left),
        "by_both": pairs.around(known, left),
        "of_raters": raters.loads(left),
        "of_items": items.loads(left),
        "of_both": pairs.loads(left),
        "n_raters": np.diag(met[0]).copy(),
        "n_items": np.diag(met[1]).copy(),
        "shared_raters": met[0],
        "shared_items": met[1],
    }


def _both(rater: Codes, item: Codes) -> tuple[Codes, Codes, Codes]:
    """Codes (n,) of rater-and-item groups in the order of raters; of each its rater and item."""
    width = int(item.max(initial=0)) + 1
    joint, both = np.unique(rater * width + item, return_inverse=True)
    return both.astype(np.int64), joint // width, joint % width


def _dense(y: Floats, condition: Codes, group: Codes, n_conditions: int) -> tuple[Floats, Floats]:
    s, n = _sparse(y, condition, group, n_conditions)
    return s.toarray(), n.toarray()


def _sparse(
    y: Floats, condition: Codes, group: Codes, n_conditions: int
) -> tuple[sparse.csr_array, sparse.csr_array]:
    shape = (int(group.max(initial=-1)) + 1, n_conditions)
    s = sparse.csr_array((y, (group, condition)), shape=shape)
    n = sparse.csr_array((np.ones(len(y)), (group, condition)), shape=shape)
    return s, n


def _product(a: sparse.csr_array, b: sparse.csr_array) -> Floats:
    return np.asarray((a.T @ b).toarray(), dtype=np.float64)


def fewest_to_turn(
    y: Floats, condition: Codes, group: Codes, pair: tuple[int, int]
) -> tuple[int | None, int]:
    """So many raters (or items, by ``group``) without whom mean a - mean b has the other sign.

    Those who pull the difference most in its direction go first, by their first-order influence;
    the difference is computed exactly after each (Broderick, Giordano and Meager 2020, who call it
    the maximum influence perturbation). Another choice of raters might need fewer, so the number is
    an upper bound. None where it never turns while both conditions have ratings; and how many there
    are.
    """
    a, b = pair
    groups = int(group.max(initial=-1)) + 1
    s = np.zeros((2, groups))
    n = np.zeros((2, groups))
    for place, code in enumerate((a, b)):
        rows = condition == code
        s[place] = np.bincount(group[rows], weights=y[rows], minlength=groups)
        n[place] = np.bincount(group[rows], minlength=groups)
    there = int(((n > 0).any(axis=0)).sum())
    count, total = n.sum(axis=1), s.sum(axis=1)
    if not count.all():
        return None, there
    mean = total / count
    sign = np.sign(mean[0] - mean[1])
    if sign == 0:
        return 0, there
    pull = ((s - n * mean[:, None]) / count[:, None]) * np.array([[1.0], [-1.0]])
    order = np.argsort(-sign * pull.sum(axis=0), kind="stable")
    left = count[:, None] - np.cumsum(n[:, order], axis=1)
    rest = total[:, None] - np.cumsum(s[:, order], axis=1)
    means = np.divide(rest, left, out=np.full_like(rest, np.nan), where=left > 0.5)
    turned = np.flatnonzero(sign * (means[0] - means[1]) < -1e-12)
    return (int(turned[0]) + 1 if len(turned) else None), there
