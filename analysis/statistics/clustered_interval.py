"""The two-way clustered intervals of means, with the reason where there is none."""

from __future__ import annotations

from analysis.statistics.clustered_variance import limits_of_means
from analysis.statistics.intervals import Clustered

FEW = 10
_NO_WIDTH = "the interval has no width and says nothing of other raters"
ALL_EQUAL = {
    False: f"all ratings are equal: {_NO_WIDTH}",
    True: f"all raters have the same mean: {_NO_WIDTH}",
}
UNANIMOUS = (
    "all answers are equal: how raters and items differ cannot be estimated, so the interval takes "
    "answers as independent"
)
CANCELLED = "the sums per rater and per item cancel out: no clustered interval"

Bounds = tuple[float, float] | None


def two_way_intervals(means: Clustered, level: float) -> list[tuple[Bounds, str]]:
    """The clustered interval of each mean, or None; and the reason or a warning."""
    limits = limits_of_means(means)
    lows, highs = (ends.tolist() for ends in limits.bounds(1 - level))
    found: list[tuple[Bounds, str]] = []
    for code, (low, high) in enumerate(zip(lows, highs, strict=True)):
        note = too_few(means, code)
        groups = means.degrees(code) + 1
        equal = float(means.within[code]) <= 0
        if note:
            found.append((None, note))
        elif low != low:  # NaN: no variance, on a scale without known ends
            value = float(means.value[code])
            found.append(((value, value), ALL_EQUAL[False]) if equal else (None, CANCELLED))
        elif equal:
            found.append(((low, high), UNANIMOUS))
        else:
            few = f"only {groups} raters or items: a rough interval" if groups < FEW else ""
            found.append(((low, high), few))
    return found


def too_few(means: Clustered, code: int) -> str:
    """Why a mean has no clustered interval, or nothing."""
    if means.n_ratings[code] < 2:
        return "one rating only: no interval"
    if means.n_raters[code] < 2:
        return "one rater only: how raters differ cannot be estimated"
    if means.n_items[code] < 2:
        return "one item only: how items differ cannot be estimated"
    return ""
