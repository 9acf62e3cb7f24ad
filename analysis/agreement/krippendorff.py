"""Krippendorff's alpha, nominal, ordinal and interval, with a bootstrap interval over units."""

from __future__ import annotations

import numpy as np

from analysis.agreement.result import (
    ALL_EQUAL,
    NOTHING,
    Agreement,
    AgreementError,
    Names,
    Scores,
    coded,
    measured,
    undefined,
)
from analysis.intervals import Floats, percentile_interval

METRICS = ("nominal", "ordinal", "interval")
BOOTSTRAP = "bootstrap over units, percentile"
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
) -> Agreement:
    """Alpha of ratings (n,): 1 is full agreement, 0 what chance gives, below 0 is worse than that.

    ``metric`` is nominal, ordinal or interval. Units with fewer than two ratings do not count, so
    incomplete data need nothing special. The interval resamples whole units. Undefined, with the
    reason, when no unit has two ratings or all ratings are equal. Raises AgreementError on an
    unknown metric. Krippendorff (2019), Content Analysis, 4th ed., ch. 12, alpha = 1 - D_o / D_e
    from the matrix of coincidences.
    """
    if metric not in METRICS:
        raise AgreementError(f"metric {metric!r} is none of {', '.join(METRICS)}")
    name = f"krippendorff_alpha_{metric}"
    ratings = coded(unit, rater, score)
    if not len(ratings.y):
        return undefined(name, ratings, level, NOTHING)
    values, code = np.unique(ratings.y, return_inverse=True)
    counts = _counts(ratings.unit, code, len(ratings.units), len(values))
    counts = counts[counts.sum(axis=1) > 1]
    if not len(counts):
        return undefined(name, ratings, level, "no unit has two ratings: agreement is undefined")
    value = _alpha(_coincidences(counts, np.ones(len(counts))), values, metric)
    if np.isnan(value):
        return undefined(name, ratings, level, ALL_EQUAL)
    drawn = _replicates(counts, values, metric, replicates, seed)
    bounds = percentile_interval(drawn, level) if len(counts) > 1 else None
    note = "" if bounds else "too few units that differ: no interval"
    return measured(name, value, bounds, ratings, level, BOOTSTRAP, note)


def _counts(unit: np.ndarray, code: np.ndarray, n_units: int, n_values: int) -> Floats:
    at = np.bincount(unit * n_values + code, minlength=n_units * n_values)
    return np.asarray(at.reshape(n_units, n_values), dtype=np.float64)


def _coincidences(counts: Floats, weight: Floats) -> Floats:
    """The coincidence matrix (V, V): each unit adds n_c (n_k - [c = k]) / (m - 1)."""
    share = weight / (counts.sum(axis=1) - 1)
    scaled = counts * share[:, None]
    return np.asarray(scaled.T @ counts - np.diag(scaled.sum(axis=0)), dtype=np.float64)


def _alpha(coincidences: Floats, values: Floats, metric: str) -> float:
    """1 - D_o/D_e; NaN when the expected disagreement is 0."""
    marginal = coincidences.sum(axis=1)
    distance = _distances(marginal, values, metric)
    n = marginal.sum()
    expected = float(marginal @ distance @ marginal) / (n - 1) if n > 1 else 0.0
    if expected <= 1e-12 * max(1.0, float(distance.max())):
        return float("nan")
    return 1 - float((coincidences * distance).sum()) / expected


def _distances(marginal: Floats, values: Floats, metric: str) -> Floats:
    """Squared differences (V, V) of the metric; the ordinal one counts the ratings in between."""
    if metric == "nominal":
        return np.asarray(1.0 - np.eye(len(values)))
    if metric == "interval":
        return np.asarray((values[:, None] - values[None, :]) ** 2)
    middle = np.cumsum(marginal) - marginal / 2  # ratings up to the middle of each value
    return np.asarray((middle[:, None] - middle[None, :]) ** 2)


def _replicates(counts: Floats, values: Floats, metric: str, replicates: int, seed: int) -> Floats:
    """Alpha (B,) of units drawn with replacement; units with equal counts are drawn as one kind."""
    kinds, kind = np.unique(counts, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    rng = np.random.default_rng(seed)
    found = np.empty(replicates)
    for b in range(replicates):
        drawn = kind[rng.integers(0, len(kind), len(kind))]
        weight = np.bincount(drawn, minlength=len(kinds)).astype(np.float64)
        found[b] = _alpha(_coincidences(kinds, weight), values, metric)
    return found
