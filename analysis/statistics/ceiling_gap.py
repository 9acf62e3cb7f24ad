"""How far a metric stays behind what the noise in ratings allows, with an interval."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Bounded:
    """A coefficient with its interval."""

    value: float
    low: float
    high: float


def gap(metric: Bounded, ceiling: Bounded) -> Bounded:
    """Ceiling less the metric's coefficient, -2 to 2, with the interval of the difference.

    The metric's own sign counts nothing: a coefficient below 0 is turned with its interval. The
    interval is by the method of variance estimates recovery (Zou and Donner 2008), as if both were
    independent: they share raters, so it is rather too wide. Below 0 no claim is possible: a metric
    cannot agree with raters better than the noise of their means allows; one that seems to was
    lucky.
    """
    if metric.value < 0:
        metric = Bounded(-metric.value, -metric.high, -metric.low)
    value = ceiling.value - metric.value
    below = math.hypot(ceiling.value - ceiling.low, metric.high - metric.value)
    above = math.hypot(ceiling.high - ceiling.value, metric.value - metric.low)
    return Bounded(value, value - below, value + above)
