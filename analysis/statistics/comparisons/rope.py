"""Decisions by a region of practical equivalence (ROPE), from an interval or from draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.statistics.comparisons.test_result import Undefined

EQUAL, ABOVE, BELOW, UNDECIDED = "practically equal", "above", "below", "undecided"


@dataclass(frozen=True)
class RopeShares:
    """The posterior probability of a difference below, inside and above the region; sum 1."""

    below: float
    inside: float
    above: float


def rope_decision(low: float | None, high: float | None, half_width: float) -> str:
    """What an interval of a difference says about ±half_width (Kruschke 2018, the HDI+ROPE rule).

    Inside the region: practically equal; wholly above or below it: above, below; else undecided.
    With a 1 - 2α confidence interval "practically equal" is the two one-sided tests at α
    (Schuirmann 1987). Raises Undefined if half_width is not above 0.
    """
    if not half_width > 0:
        raise Undefined(f"a region of practical equivalence is wider than 0, not {half_width!r}")
    if low is None or high is None:
        return UNDECIDED
    if -half_width <= low and high <= half_width:
        return EQUAL
    if low > half_width:
        return ABOVE
    return BELOW if high < -half_width else UNDECIDED


def rope_shares(draws: ArrayLike, half_width: float) -> RopeShares:
    """The shares of posterior draws (n,) of a difference below, inside and above ±half_width."""
    values = np.asarray(draws, dtype=np.float64)
    if not len(values):
        raise Undefined("no draws: a share of them is undefined")
    if not half_width > 0:
        raise Undefined(f"a region of practical equivalence is wider than 0, not {half_width!r}")
    below, above = float(np.mean(values < -half_width)), float(np.mean(values > half_width))
    return RopeShares(below, float(np.mean(np.abs(values) <= half_width)), above)
