"""Cohen's d and Cliff's delta of all pairs of conditions at once, without intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Codes, Floats

LEAST_DELTAS = ((0.474, "large"), (0.33, "medium"), (0.147, "small"), (0.0, "negligible"))


@dataclass(frozen=True)
class AllEffects:
    """Effect sizes of condition a (row) against b (column), (C, C); NaN where undefined.

    ``d`` is (mean a - mean b) over the pooled SD of both, ``delta`` P(a > b) - P(a < b) over all
    pairs of a rating of a with one of b. Both take the ratings as they are: who gave them, and to
    which item, does not enter.
    """

    d: Floats
    delta: Floats


def all_effects(y: Floats, condition: Codes, n_conditions: int) -> AllEffects:
    """d and delta of scores (n,) by condition codes (n,), C conditions.

    As `effects.cohen_d` (Cohen 1988) and `effects.cliffs_delta` (Cliff 1993), pair by pair.
    """
    n = np.bincount(condition, minlength=n_conditions).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(condition, weights=y, minlength=n_conditions) / n
        around = (y - mean[condition]) ** 2
        squares = np.bincount(condition, weights=around, minlength=n_conditions)
        pooled = (squares[:, None] + squares[None, :]) / (n[:, None] + n[None, :] - 2)
        dust = (1e-12 * max(1.0, float(np.max(np.abs(y), initial=0.0)))) ** 2
        d = (mean[:, None] - mean[None, :]) / np.sqrt(np.where(pooled > dust, pooled, np.nan))
        delta = _dominance(y, condition, n_conditions) / (n[:, None] * n[None, :])
    return AllEffects(np.asarray(d, dtype=np.float64), np.asarray(delta, dtype=np.float64))


def _dominance(y: Floats, condition: Codes, n_conditions: int) -> Floats:
    """Pairs of ratings that a wins minus those that it loses (C, C), from counts of each score."""
    steps, step = np.unique(y, return_inverse=True)
    cell = condition * len(steps) + step
    counts = np.bincount(cell, minlength=n_conditions * len(steps)).astype(np.float64)
    counts = counts.reshape(n_conditions, len(steps))
    upto = np.cumsum(counts, axis=1)
    balance = upto - counts - (upto[:, -1:] - upto)  # of each condition: below minus above a step
    return np.asarray(counts @ balance.T, dtype=np.float64)


def delta_size(delta: float) -> str:
    """Negligible, small, medium or large, from .147, .33 and .474 on (Romano et al. 2006)."""
    return next(word for least, word in LEAST_DELTAS if abs(delta) >= least)
