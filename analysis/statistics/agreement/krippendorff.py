"""Krippendorff's alpha, nominal, ordinal and interval, with a bootstrap interval over units."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.statistics.agreement.agreement_result import (
    ALL_EQUAL,
    NOTHING,
    Agreement,
    AgreementError,
    Bounds,
    Names,
    Scores,
    coded,
)
from analysis.statistics.intervals import percentile_interval, t_interval

METRICS = ("nominal", "ordinal", "interval")
BOOTSTRAP = "bootstrap over units, t on log(1 - alpha)"
_LEAST_FILLED = 0.9
REPLICATES = 1000


def krippendorff_alpha(
    unit: Names,
    rater: Names,
    score: Scores,
    metric: str = "interval",
    *,
    level: float = 0.95,
    replicates: int = REPLICATES,
    seed: int = 0,
    neutral: float | None = None,
) -> Agreement:
    """Alpha of ratings (n,): 1 is full agreement, 0 what chance gives, below 0 is worse than that.

    ``metric`` is nominal, ordinal or interval. Units with fewer than two ratings do not count, so
    incomplete data need nothing special. With ``neutral``, the score that favours neither side of
    a pair, each pair counts in both orders, so that alpha does not depend on which side is named
    first. The interval resamples whole units: it is about these raters and new units. Undefined,
    with the reason, when no unit has two ratings or all ratings are equal. Raises AgreementError on
    an unknown metric. Krippendorff (2019), Content Analysis, 4th ed., ch. 12: alpha = 1 - D_o / D_e
    from the matrix of coincidences.
    """
    if metric not in METRICS:
        raise AgreementError(f"metric {metric!r} is none of {', '.join(METRICS)}")
    name = f"krippendorff_alpha_{metric}"
    ratings = coded(unit, rater, score)
    if not len(ratings.y):
        return ratings.undefined(name, level, NOTHING)
    paired = np.bincount(ratings.unit, minlength=len(ratings.units))[ratings.unit] > 1
    if not paired.any():
        return ratings.undefined(name, level, "no unit has two ratings: agreement is undefined")
    unit_code = np.unique(ratings.unit[paired], return_inverse=True)[1]
    y, n_units, orders = ratings.y[paired], int(unit_code.max()) + 1, 1
    if neutral is not None:
        unit_code, orders = np.concatenate([unit_code, unit_code + n_units]), 2
        y = np.concatenate([y, 2 * neutral - y])
    estimator: _Alpha
    if metric == "nominal":
        estimator = _Nominal(_counts(unit_code, np.unique(y, return_inverse=True)[1]))
    else:
        estimator = _Interval(unit_code, y) if metric == "interval" else _Ordinal(unit_code, y)
    value, bounds = _bootstrap(estimator, n_units, level, replicates, seed, orders)
    if value is None:
        return ratings.undefined(name, level, ALL_EQUAL)
    note = "" if bounds else "too few units that differ: no interval"
    return ratings.measured(name, value, bounds, level, BOOTSTRAP, note)


def nominal_alpha(
    counts: Floats, *, level: float = 0.95, replicates: int = REPLICATES, seed: int = 0
) -> tuple[float | None, Bounds]:
    """Nominal alpha and its bounds from how often each unit was put into each category (U, V).

    Every unit has two ratings or more. No value where all ratings are equal, no bounds where too
    few units differ.
    """
    return _bootstrap(_Nominal(counts), len(counts), level, replicates, seed)


class _Alpha(Protocol):
    def estimate(self, units: Codes) -> float:
        """Alpha of these units (with repetition); NaN where all their ratings are equal."""


def _bootstrap(
    alpha: _Alpha, n_units: int, level: float, replicates: int, seed: int, orders: int = 1
) -> tuple[float | None, Bounds]:
    """Alpha and its bounds; with two orders, unit ``n_units`` + k is the other order of unit k."""
    value = alpha.estimate(np.arange(n_units * orders))
    if np.isnan(value):
        return None, None
    rng = np.random.default_rng(seed)
    other_order = n_units * np.arange(orders)[:, None]
    drawn = [
        alpha.estimate((rng.integers(0, n_units, n_units) + other_order).ravel())
        for _ in range(replicates)
    ]
    return value, _bounds(value, np.array(drawn), n_units, level)


def _bounds(value: float, drawn: Floats, n_units: int, level: float) -> Bounds:
    """log(1 - alpha) ± t(units - 1) x its bootstrap SD; the percentiles where alpha is 1."""
    if n_units < 2:
        return None
    known = drawn[np.isfinite(drawn)]
    if value >= 1 - 1e-12 or (known >= 1 - 1e-12).any():
        return percentile_interval(drawn, level)
    if len(known) < _LEAST_FILLED * len(drawn):
        return None
    se = float(np.std(np.log(1 - known), ddof=1))
    low, high = t_interval(float(np.log(1 - value)), se, n_units - 1, level)
    return 1 - float(np.exp(high)), 1 - float(np.exp(low))


class _Interval:
    """Interval alpha from each unit's size, sum and sum of squares: any number of values."""

    def __init__(self, unit: Codes, y: Floats) -> None:
        y = y - y.mean()
        self.size = np.bincount(unit).astype(np.float64)
        self.sum, self.square = np.bincount(unit, weights=y), np.bincount(unit, weights=y**2)
        around = np.bincount(unit, weights=(y - (self.sum / self.size)[unit]) ** 2)
        self.apart = 2 * self.size * around / (self.size - 1)
        self.least: float = 1e-24 + 1e-12 * float(np.ptp(y)) ** 2

    def estimate(self, units: Codes) -> float:
        """Alpha of these units (with repetition); NaN where all their ratings are equal."""
        n, total = float(self.size[units].sum()), float(self.sum[units].sum())
        expected = 2 * (n * float(self.square[units].sum()) - total**2) / (n - 1)
        if expected <= self.least * n:
            return float("nan")
        return 1 - float(self.apart[units].sum()) / expected


class _Nominal:
    """Nominal alpha from each unit's counts by category (U, V)."""

    def __init__(self, counts: Floats) -> None:
        self.counts, self.size = counts, counts.sum(axis=1)
        self.apart = (self.size**2 - (counts**2).sum(axis=1)) / (self.size - 1)

    def estimate(self, units: Codes) -> float:
        drawn = np.bincount(units, minlength=len(self.size)).astype(np.float64)
        n, marginal = float(drawn @ self.size), drawn @ self.counts
        expected = n**2 - float((marginal**2).sum())
        if expected <= 1e-12 * n:
            return float("nan")
        return 1 - float(drawn @ self.apart) * (n - 1) / expected


class _Ordinal:
    """Ordinal alpha from counts; units with equal counts are kept as one kind."""

    def __init__(self, unit: Codes, y: Floats) -> None:
        counts = _counts(unit, np.unique(y, return_inverse=True)[1])
        self.kinds, kind = np.unique(counts, axis=0, return_inverse=True)
        self.kind = kind.reshape(-1)

    def estimate(self, units: Codes) -> float:
        """1 - D_o / D_e; the squared distance of two values counts the ratings in between."""
        weight = np.bincount(self.kind[units], minlength=len(self.kinds)).astype(np.float64)
        coincidences = _coincidences(self.kinds, weight)
        marginal = coincidences.sum(axis=1)
        middle = np.cumsum(marginal) - marginal / 2  # ratings up to the middle of each value
        distance = (middle[:, None] - middle[None, :]) ** 2
        n = marginal.sum()
        expected = float(marginal @ distance @ marginal) / (n - 1) if n > 1 else 0.0
        if expected <= 1e-12 * max(1.0, float(distance.max())):
            return float("nan")
        return 1 - float((coincidences * distance).sum()) / expected


def _counts(unit: Codes, code: Codes) -> Floats:
    n_units, n_values = int(unit.max()) + 1, int(code.max()) + 1
    at = np.bincount(unit * n_values + code, minlength=n_units * n_values)
    return np.asarray(at.reshape(n_units, n_values), dtype=np.float64)


def _coincidences(counts: Floats, weight: Floats) -> Floats:
    """The coincidence matrix (V, V): each unit adds n_c (n_k - [c = k]) / (m - 1)."""
    share = weight / (counts.sum(axis=1) - 1)
    scaled = counts * share[:, None]
    return np.asarray(scaled.T @ counts - np.diag(scaled.sum(axis=0)), dtype=np.float64)
