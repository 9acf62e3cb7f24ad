"""Estimate, interval and p value after planned looks, by the stagewise order of outcomes.

A study that stops early has on average seen too large a difference. In the stagewise order an
outcome is more extreme the earlier its bound was crossed, and at the same look the larger Z is:
Armitage (1957), Biometrika 44:9; Tsiatis, Rosner and Mehta (1984), Biometrics 40:797. Futility is
not binding, so the order takes no account of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from analysis.statistics.flat_row import FlatRow
from analysis.statistics.planning.group_sequential import (
    check_information,
    crossings,
    regions_of,
)
from analysis.statistics.planning.study_design import PlanningError

STAGEWISE = "stagewise order, adjusted for planned looks"
_REACH = 10.0  # from the last Z, in standard deviations: the truth is within
_LARGEST = 37.0


@dataclass(frozen=True)
class Adjusted(FlatRow):
    """The median-unbiased ``value``, its interval ``low``..``high`` in score units, and p (0..1).

    ``plain`` is the estimate without adjustment.
    """

    value: float
    low: float
    high: float
    p: float
    level: float
    plain: float
    interval: str = STAGEWISE


def tail(drift: float, information: Sequence[float], bounds: Sequence[float], z: float) -> float:
    """The probability of an outcome at least as far up as Z = ``z`` at the last of the looks.

    ``information`` (k,) of the looks that were made, ``bounds`` (k - 1,) on abs(Z) at those before
    the last, ``drift`` the mean of Z where the information is 1.
    """
    times = check_information(information)
    if len(bounds) != len(times) - 1:
        raise PlanningError("give a bound for each look but the last")
    found = crossings(times, [*regions_of(bounds), ((z, z),)], drift)
    return float(found.above.sum())


def adjusted_estimate(
    information: Sequence[float],
    bounds: Sequence[float],
    value: float,
    interval: tuple[float, float],
    p: float,
    *,
    null: float = 0.0,
    level: float = 0.95,
) -> Adjusted:
    """The estimate after looks at ``information`` (k,), from what the last look's data say.

    ``value``, its ``interval`` at ``level`` and two-sided ``p`` against ``null`` are those of an
    analysis without looks; Z is the normal quantile of p, so that without earlier looks
    all three come back. ``bounds`` (k - 1,) on abs(Z) at the looks before the last. Ratings that
    came after the look that stopped the study are part of the last (the deletion method of
    Whitehead 1992, Controlled Clinical Trials 13:106). Raises PlanningError unless the interval
    holds the value.
    """
    if not interval[0] < value < interval[1]:
        raise PlanningError("the interval does not hold the value: no estimate can be made")
    times = check_information(information)
    shares = [time / times[-1] for time in times]
    z = z_of(p, value - null)
    half = (1 - level) / 2
    below, above = (abs(end - value) / -float(special.ndtri(half)) for end in interval)

    def drift_at(wanted: float) -> float:
        def missing(drift: float) -> float:
            return tail(drift, shares, bounds, z) - wanted

        return float(optimize.brentq(missing, z - _REACH, z + _REACH, xtol=1e-8))

    middle, low, high = (drift_at(wanted) for wanted in (0.5, half, 1 - half))
    up = tail(0.0, shares, bounds, z)
    return Adjusted(
        value=value + (middle - z) * (below if middle < z else above),
        low=value + (low - z) * below,
        high=value + (high - z) * above,
        p=min(1.0, 2 * min(up, 1 - up)),
        level=level,
        plain=value,
    )


def z_of(p: float, difference: float) -> float:
    """Z of a two-sided p (0..1), with the sign of the difference; at most 37 in size."""
    return float(np.sign(difference) * min(-special.ndtri(max(p, 1e-300) / 2), _LARGEST))
