"""Decisions by a region of practical equivalence (ROPE), from an interval."""

from __future__ import annotations

from analysis.statistics.comparisons.test_result import Undefined

EQUAL, ABOVE, BELOW, UNDECIDED = "practically equal", "above", "below", "undecided"


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
