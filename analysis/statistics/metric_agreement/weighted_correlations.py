"""Correlations and errors of many metrics with many resampled human means at once, by weights."""

from __future__ import annotations

import numpy as np
from scipy import stats

from analysis.arrays import Codes, Floats
from analysis.statistics.agreement.kappa import kappas
from analysis.statistics.metric_agreement.resampled_units import (
    FEWEST_UNITS,
    OF_ERRORS,
    Sample,
    replicates_for,
    without_dust,
)

MOST_PAIRS = 40_000  # of units, for Kendall's tau; above, as many pairs drawn at random
_ROWS = 64  # replicates at a time, so that memory stays small
_PAIRS = 4_000  # pairs at a time, so that they stay in the processor's cache
_DUST = 1e-9


def pearson(x: Floats, h: Floats, w: Floats) -> Floats:
    """Pearson's r of weighted units."""
    x = x - x.mean(axis=1, keepdims=True)
    h = h - np.nansum(w * h, axis=1, keepdims=True) / np.maximum(w.sum(axis=1, keepdims=True), 1)
    n = w.sum(axis=1)[:, None]
    wh = w * h
    sx, sh = w @ x.T, wh.sum(axis=1)[:, None]
    return _ratio(
        (wh @ x.T) - _per(sx * sh, n),
        (w @ (x.T**2)) - _per(sx**2, n),
        (wh * h).sum(axis=1)[:, None] - _per(sh**2, n),
        np.asarray(w @ (x.T**2), dtype=np.float64),
        (w * h**2).sum(axis=1)[:, None],
    )


def spearman(x: Floats, h: Floats, w: Floats) -> Floats:
    """Spearman's rho: Pearson's r of the midranks that the units have in their replicate."""
    rho = np.empty((len(h), len(x)))
    orders = [_order(row) for row in x]
    for start in range(0, len(h), _ROWS):
        rows = slice(start, start + _ROWS)
        part = w[rows]
        middle = part.sum(axis=1) / 2  # of midranks, each counted as often as drawn
        ranks = _ranks_of_rows(h[rows], part) - middle[:, None]
        size_h = (part * ranks**2).sum(axis=1)
        drawn, weighted = part.T.copy(), (part * ranks).T.copy()  # rows are units: quick to sort
        for m, (order, first, last) in enumerate(orders):
            often = drawn[order]
            own = _midranks(often, first, last) - middle
            size_x = np.einsum("sb,sb,sb->b", often, own, own)
            cross = np.einsum("sb,sb->b", weighted[order], own)
            rho[rows, m] = _ratio(cross, size_x, size_h, 1.0, 1.0)
    return rho


def kendall(x: Floats, h: Floats, w: Floats, pairs: tuple[Codes, Codes]) -> Floats:
    """Kendall's tau-b over the pairs of units that `pairs_of` chose, each weighed as drawn."""
    i, j = pairs
    across = np.sign(x[:, i] - x[:, j]).T.astype(np.float32)
    untied = np.abs(across)
    tau = np.empty((len(h), len(x)))
    for start in range(0, len(h), _ROWS):
        rows = slice(start, start + _ROWS)
        drawn, means = w[rows].T.astype(np.float32), h[rows].T.copy()  # rows are quick to take
        agree, of_x = np.zeros((2, drawn.shape[1], len(x)))
        of_h = np.zeros((drawn.shape[1], 1))
        for first in range(0, len(i), _PAIRS):
            some = slice(first, first + _PAIRS)
            a, b = i[some], j[some]
            weight = drawn[a] * drawn[b]
            up = np.sign(means[a] - means[b]).astype(np.float32) * weight
            agree += up.T @ across[some]  # whole numbers, so that no sum is rounded
            of_x += weight.T @ untied[some]
            of_h[:, 0] += np.abs(up).sum(axis=0, dtype=np.float64)
        tau[rows] = _ratio(agree, of_x, of_h, 1.0, 1.0)
    return tau


def pairs_of(n: int, rng: np.random.Generator) -> tuple[Codes, Codes]:
    """All pairs of n units, or MOST_PAIRS of them drawn at random."""
    if n * (n - 1) // 2 <= MOST_PAIRS:
        i, j = np.triu_indices(n, 1)
        return i.astype(np.int64), j.astype(np.int64)
    i = rng.integers(0, n, MOST_PAIRS)
    return i, (i + rng.integers(1, n, MOST_PAIRS)) % n


def weighted_kappa(x: Codes, h: Codes, w: Floats, k: int) -> Floats:
    """Quadratic weighted kappa of categories: x (M, S) and h (B, S), both below k."""
    held = (x[:, :, None] == np.arange(k)).astype(np.float64)  # M, S, K
    flat = held.transpose(1, 0, 2).reshape(x.shape[1], -1)  # S, M K
    tables = np.empty((len(h), len(x), k, k))  # category of x, of h
    for category in range(k):
        drawn = np.where(h == category, w, 0.0)
        tables[..., category] = (drawn @ flat).reshape(len(h), len(x), k)
    return kappas(tables.reshape(-1, k, k), "quadratic").reshape(len(h), len(x))


def error(x: Floats, h: Floats, w: Floats, spare: Floats | float = 0.0, power: int = 1) -> Floats:
    """The mean of |x - h|, less ``spare`` (S,) and not below 0, to a power of 1 or 2."""
    n = np.maximum(w.sum(axis=1), 1)
    errors = np.empty((len(h), len(x)))
    for m, own in enumerate(x):
        apart = np.maximum(np.abs(own - h) - spare, 0.0)
        errors[:, m] = (w * apart**power).sum(axis=1) / n
    return errors


def _ratio(
    cross: Floats, of_x: Floats, of_h: Floats, size_x: Floats | float, size_h: Floats | float
) -> Floats:
    """cross / sqrt(of_x of_h), NaN where one of both is zero but for rounding."""
    fits = (of_x > _DUST**1.3 * size_x) & (of_h > _DUST**1.3 * size_h)
    below = np.sqrt(np.where(fits, of_x * of_h, 1.0))
    return np.asarray(np.where(fits, np.clip(cross / below, -1.0, 1.0), np.nan), dtype=np.float64)


def _per(values: Floats, n: Floats) -> Floats:
    return np.asarray(values / np.maximum(n, 1), dtype=np.float64)


def _order(x: Floats) -> tuple[Codes, Codes, Codes]:
    """The order of x (S,), and for each place the first and the last place with its value."""
    order = np.argsort(x, kind="stable")
    ordered = x[order]
    first = np.searchsorted(ordered, ordered, side="left")
    last = np.searchsorted(ordered, ordered, side="right") - 1
    return order, first.astype(np.int64), last.astype(np.int64)


def _midranks(drawn: Floats, first: Codes, last: Codes) -> Floats:
    """Midranks (S, B), but for a constant, of sorted units that were drawn so often."""
    upto = np.cumsum(drawn, axis=0)
    before = upto[first] - drawn[first]
    return np.asarray((before + upto[last]) / 2, dtype=np.float64)


def _ranks_of_rows(h: Floats, w: Floats) -> Floats:
    """Midranks (B, S), but for a constant, of units whose order differs from row to row."""
    width = h.shape[1]
    order = np.argsort(h, axis=1, kind="stable")
    ordered = np.take_along_axis(h, order, axis=1)
    drawn = np.take_along_axis(w, order, axis=1)
    upto = np.cumsum(drawn, axis=1)
    new = np.ones(h.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    place = np.arange(width)
    first = np.maximum.accumulate(np.where(new, place, 0), axis=1)
    ends = np.ones(h.shape, dtype=bool)
    ends[:, :-1] = new[:, 1:]
    last = np.minimum.accumulate(np.where(ends, place, width)[:, ::-1], axis=1)[:, ::-1]
    before = np.take_along_axis(upto - drawn, first, axis=1)
    mid = (before + np.take_along_axis(upto, last, axis=1)) / 2
    ranks = np.empty(h.shape)
    np.put_along_axis(ranks, order, mid, axis=1)
    return ranks


_MOST_PAIRS = 4000  # of conditions, for tau in each replicate


def coefficient(name: str, x: Floats, y: Floats) -> float | None:
    """SRCC, PLCC or KRCC (tau-b) of x and y (n,); None where undefined."""
    flat = any(np.ptp(v) <= 1e-12 * np.abs(v).max(initial=1e-300) for v in (x, y))
    return None if len(x) < FEWEST_UNITS or flat else scipy_test(name, x, y)[0]


def scipy_test(name: str, x: Floats, y: Floats) -> tuple[float, float]:
    """The coefficient of x and y (n,) and its p, as scipy has them."""
    if name == "plcc":
        pearson = stats.pearsonr(x, y)
        return float(pearson.statistic), float(pearson.pvalue)
    rank_test = stats.spearmanr(x, y) if name == "srcc" else stats.kendalltau(x, y)
    return float(rank_test.statistic), float(rank_test.pvalue)


def replicates(name: str, sample: Sample, pairs: tuple[Codes, Codes] | None) -> Floats:
    """A coefficient of all metrics in all replicates (B, M), the conditions as they are."""
    if sample.redrawn is None:
        if name == "krcc":
            assert pairs is not None
            b = replicates_for(len(sample.y), len(sample.h), OF_ERRORS)
            values = kendall(sample.x, sample.h[:b], sample.w[:b], pairs)
        else:
            function = pearson if name == "plcc" else spearman
            values = function(sample.x, sample.h, sample.w)
        few = (sample.w[: len(values), : sample.n] > 0).sum(axis=1) < FEWEST_UNITS
        values[few] = np.nan
        return values
    return of_conditions(name, sample.redrawn, sample.h, sample.w, pairs)


def replicates_over_conditions(
    name: str, sample: Sample, pairs: tuple[Codes, Codes] | None
) -> Floats:
    """The same with conditions drawn too; empty where units are no conditions."""
    if sample.redrawn is None:
        return np.empty((0, 0))
    places = sample.places
    x = np.take_along_axis(sample.redrawn, places[:, None, :], axis=2)
    h, w = (np.take_along_axis(each, places, axis=1) for each in (sample.h, sample.w))
    return of_conditions(name, x, h, w, pairs)


def of_conditions(
    name: str, x: Floats, h: Floats, w: Floats, pairs: tuple[Codes, Codes] | None
) -> Floats:
    """A coefficient (B, M) of x (B, M, C) and h (B, C); NaN where a condition was not drawn."""
    full = np.asarray((w > 0).all(axis=1))[:, None]
    if name == "krcc" and pairs is not None:
        some = np.linspace(0, len(pairs[0]) - 1, min(len(pairs[0]), _MOST_PAIRS)).astype(int)
        i, j = (each[some] for each in pairs)
        up = np.sign(h[:, i] - h[:, j])
        product, cross = np.empty(x.shape[:2]), np.empty(x.shape[:2])
        for m in range(x.shape[1]):  # one metric at a time, so that memory stays small
            across = np.sign(x[:, m, i] - x[:, m, j])
            product[:, m] = np.abs(across).sum(axis=1) * np.abs(up).sum(axis=1)
            cross[:, m] = (across * up).sum(axis=1)
        fits = full & (product > 0)
        return np.where(fits, cross / np.sqrt(np.where(fits, product, 1.0)), np.nan)
    if name == "srcc":
        x, h = stats.rankdata(x, axis=2), stats.rankdata(h, axis=1)
    x = without_dust(x - x.mean(axis=2, keepdims=True))
    h = without_dust(h - h.mean(axis=1, keepdims=True))
    product = (x**2).sum(axis=2) * (h**2).sum(axis=1)[:, None]
    cross = np.einsum("bmc,bc->bm", x, h)
    fits = full & (product > 0)
    r = np.clip(cross / np.sqrt(np.where(fits, product, 1.0)), -1.0, 1.0)
    return np.asarray(np.where(fits, r, np.nan), dtype=np.float64)
