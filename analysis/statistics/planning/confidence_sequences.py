"""Intervals that hold at whatever number of raters one looks: confidence sequences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.arrays import Floats
from analysis.citations import cite
from analysis.name_spans import resolve
from analysis.statistics.planning.study_design import PlanningError

BETTING = (
    f"betting confidence sequence over raters, bounded scores {resolve(cite('waudbysmith2024'))}"
)
_GRID = 1000


@dataclass(frozen=True)
class ConfidenceSequence:
    """Bounds after each rater: ``value``, ``low``, ``high`` float64 (n,), NaN if none fits.

    With probability ``level`` the truth lies within the bounds at all n at once. ``note`` says
    where there are no raters.
    """

    value: Floats
    low: Floats
    high: Floats
    level: float
    interval: str
    note: str = ""

    def last(self) -> dict[str, Any]:
        """The state now, as one flat row of plain values; None where there are no bounds yet."""
        n = len(self.value)
        numbers = [a[-1] if n else np.nan for a in (self.value, self.low, self.high)]
        value, low, high = (None if np.isnan(x) else float(x) for x in numbers)
        row = {"value": value, "low": low, "high": high, "level": self.level}
        return row | {"interval": self.interval, "n_raters": n, "note": self.note}


def bounded_sequence(
    x: Floats, ends: tuple[float, float], *, level: float = 0.95, truncation: float = 0.5
) -> ConfidenceSequence:
    """Bounds for the mean of x (R,) within ``ends``, valid for any number of raters, even few.

    The hedged capital process: Waudby-Smith and Ramdas (2024), J. Royal Stat. Soc. B 86(1),
    Theorem 3 (hedged capital), predictable plug-in bets truncated at c = ``truncation``, theta =
    1/2; the set of means not rejected on a grid of 1001, widened by a step; running intersection.
    Any c between 0 and 1 is valid: a larger one is narrower where values differ little within the
    ends. For differences of scores the ends are minus and plus the width of the scale. Raises
    PlanningError when a value lies outside the ends, or the truncation outside 0..1.
    """
    x = _check_scores(x, level)
    low, high = ends
    if not high > low or (len(x) and (x.min() < low - 1e-9 or x.max() > high + 1e-9)):
        raise PlanningError(f"a value lies outside {low:g}..{high:g}, or the ends are no ends")
    if not 0 < truncation < 1:
        raise PlanningError(f"truncation {truncation} is not between 0 and 1")
    t = np.arange(1, len(x) + 1)
    mean = np.cumsum(x) / np.maximum(t, 1)
    z = np.clip((x - low) / (high - low), 0.0, 1.0)
    lower, upper = _betting_bounds(z, level, truncation)
    span = high - low
    note = "" if len(x) else "no raters yet"
    return ConfidenceSequence(mean, low + span * lower, low + span * upper, level, BETTING, note)


def _check_scores(x: Floats, level: float) -> Floats:
    numbers = np.asarray(x, dtype=np.float64)
    if not 0 < level < 1:
        raise PlanningError(f"level {level} is not between 0 and 1")
    if not np.isfinite(numbers).all():
        raise PlanningError("a rater's number is missing or infinite; leave such raters out")
    return numbers


def _bets(z: Floats, level: float) -> Floats:
    """lambda_t = sqrt(2 log(2/alpha) / (v_{t-1} t log(1 + t))), v from what came before."""
    t = np.arange(1, len(z) + 1)
    mean = (0.5 + np.cumsum(z)) / (t + 1)
    spread = (0.25 + np.cumsum((z - mean) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], spread[:-1]])
    return np.asarray(np.sqrt(2 * np.log(2 / (1 - level)) / (before * t * np.log1p(t))))


def _betting_bounds(z: Floats, level: float, truncation: float) -> tuple[Floats, Floats]:
    grid = np.linspace(0, 1, _GRID + 1)
    up, down = np.zeros(len(grid)), np.zeros(len(grid))
    with np.errstate(divide="ignore"):
        most_up, most_down = truncation / grid, truncation / (1 - grid)
    alive = np.ones(len(grid), dtype=bool)
    low, high = np.empty(len(z)), np.empty(len(z))
    limit, step = float(np.log(2 / (1 - level))), 1 / _GRID
    for i, bet in enumerate(_bets(z, level)):
        up += np.log1p(np.minimum(bet, most_up) * (z[i] - grid))
        down += np.log1p(-np.minimum(bet, most_down) * (z[i] - grid))
        alive &= np.maximum(up, down) < limit
        left = grid[alive]
        if not len(left):  # everything is rejected: the assumptions do not hold
            low[i:], high[i:] = np.nan, np.nan
            break
        low[i], high[i] = max(0.0, left[0] - step), min(1.0, left[-1] + step)
    return low, high
