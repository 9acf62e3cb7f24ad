"""What a running study may say so far: confidence sequences of its conditions and differences."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.statistics.planning.confidence_sequences import (
    ConfidenceSequence,
    asymptotic_sequence,
    bounded_sequence,
    rater_differences,
    rater_means,
    stopped_at,
)
from analysis.statistics.planning.study_design import PlanningError


def live_rows(
    score: Floats,
    condition: Sequence[str],
    rater: Codes,
    *,
    ends: tuple[float, float] | None = None,
    level: float = 0.95,
    half_width: float | None = None,
) -> list[dict[str, Any]]:
    """A row per condition, then per pair of conditions: estimate and bounds now, may one stop?

    Ratings (n,) in the order they came. With the scale's ``ends`` the bounds are valid for any
    number of raters (betting), without them for many (asymptotic). ``stop_at`` is the number of
    raters after which the bounds were ``half_width`` or narrower, or a pair's excluded 0; None
    when not yet. Means are over raters' own means. ``level`` holds for each row by itself.
    Raises PlanningError on unequal lengths.
    """
    names = np.asarray([str(name) for name in condition], dtype=object)
    y, who = np.asarray(score, dtype=np.float64), np.asarray(rater)
    if not len(y) == len(names) == len(who):
        raise PlanningError("give one condition and one rater per score")
    found = sorted(set(names[~np.isnan(y)]))
    rows = []
    for name in found:
        mine = names == name
        sequence = _sequence(rater_means(y[mine], who[mine]), ends, level)
        rows.append(_row(name, "", sequence, stopped_at(sequence, half_width=half_width)))
    spread = None if ends is None else (ends[0] - ends[1], ends[1] - ends[0])
    for a, b in combinations(found, 2):
        both = (names == a) | (names == b)
        x = rater_differences(y[both], who[both], names[both] == a)
        sequence = _sequence(x, spread, level)
        stop = stopped_at(sequence, half_width=half_width, away_from=0.0)
        rows.append(_row(a, b, sequence, stop))
    return rows


def _sequence(x: Floats, ends: tuple[float, float] | None, level: float) -> ConfidenceSequence:
    if ends is None:
        return asymptotic_sequence(x, level=level)
    return bounded_sequence(x, ends, level=level)


def _row(
    condition: str, versus: str, sequence: ConfidenceSequence, stop: int | None
) -> dict[str, Any]:
    return {"condition": condition, "versus": versus, **sequence.last(), "stop_at": stop}
