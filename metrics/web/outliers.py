"""Clips whose input is unlike that of all others of a study: worth hearing before anything else."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

SPREADS = 5.0  # robust standard deviations from the median
LEAST = 0.05  # of the median: what equal clips may differ by and not be called spread
FEWEST = 8


def far_off(values: Mapping[str, float]) -> list[tuple[str, float]]:
    """The names whose value lies over 5 robust deviations from the median, the farthest first.

    The deviation is 1.4826 times the median absolute one, at least 5 % of the median. Fewer than 8
    values say nothing. Iglewicz and Hoaglin 1993, with a wider limit: lengths have long tails.
    """
    if len(values) < FEWEST:
        return []
    middle = statistics.median(values.values())
    absolute = statistics.median(abs(value - middle) for value in values.values())
    spread = max(1.4826 * absolute, LEAST * abs(middle))
    if not spread:
        return []
    far = {name: v for name, v in values.items() if abs(v - middle) > SPREADS * spread}
    return sorted(far.items(), key=lambda item: (-abs(item[1] - middle), item[0]))
