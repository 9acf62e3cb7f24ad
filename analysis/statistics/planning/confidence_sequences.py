"""Confidence sequences: intervals over raters that stay valid however often one looks.

Everything here works on one number per rater (their mean of a condition, or their difference of
two), in the order in which raters came, so that what ratings of one rater share is respected. What
holds is about new raters and these same clips: that clips are a sample, too, is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from analysis.arrays import Codes, Floats
from analysis.statistics.planning.study_design import PlanningError

ASYMPTOTIC = "asymptotic confidence sequence over raters (Waudby-Smith et al. 2024)"
BETTING = "betting confidence sequence over raters, bounded scores (Waudby-Smith, Ramdas 2024)"
SUBGAUSSIAN = "normal-mixture confidence sequence over raters, sub-Gaussian (Robbins 1970)"
FIRST_LOOK = 20  # fewer raters than this give the asymptotic sequence no interval
_GRID = 1000


@dataclass(frozen=True)
class ConfidenceSequence:
    """Bounds after each rater: ``value``, ``low``, ``high`` float64 (n,), NaN before a first look.

    With probability ``level`` the truth lies within the bounds at all n at once. ``note`` says
    when no bounds could be made.
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


def rater_means(score: Floats, rater: Codes) -> Floats:
    """Each rater's mean (R,), raters in the order of their first rating; scores (n,) in time order.

    NaN scores are left out.
    """
    y, who, n = _arrived(score, rater)
    return np.asarray(np.bincount(who, weights=y, minlength=n) / np.bincount(who, minlength=n))


def rater_differences(score: Floats, rater: Codes, is_first: Codes) -> Floats:
    """Each rater's mean of one condition minus that of another (R,), in order of arrival.

    ``is_first`` (n,) is true where the rating is of the first condition, false where of the
    second; raters without both are left out.
    """
    y, who, n = _arrived(score, rater)
    side = np.asarray(is_first, dtype=bool)[~np.isnan(np.asarray(score, dtype=np.float64))]
    means = []
    for mine in (side, ~side):
        count = np.bincount(who[mine], minlength=n)
        total = np.bincount(who[mine], weights=y[mine], minlength=n)
        means.append(np.divide(total, count, out=np.full(n, np.nan), where=count > 0))
    differences = means[0] - means[1]
    return np.asarray(differences[~np.isnan(differences)], dtype=np.float64)


def asymptotic_sequence(
    x: Floats, *, level: float = 0.95, best_at: int = 100, first_look: int = FIRST_LOOK
) -> ConfidenceSequence:
    """Bounds for the mean of rater-level numbers x (R,), any distribution with a variance.

    mean_t ± s_t sqrt[2 (t rho^2 + 1) / (t^2 rho^2) log(sqrt(t rho^2 + 1) / alpha)]: Waudby-Smith,
    Arbour, Sinha, Kennedy and Ramdas (2024), Annals of Statistics 52(6), Theorem 2.2. rho makes
    the bounds tightest at ``best_at`` raters: rho^2 = (-1 - W_{-1}(-alpha^2 / e)) / best_at (their
    Appendix B.2). No bounds before ``first_look`` raters, where s_t is not to be trusted: the
    guarantee is for large numbers. Raises PlanningError on a level outside 0..1.
    """
    x = _checked(x, level)
    if first_look < 2 or best_at < 1:
        raise PlanningError("the first look needs two raters or more, best_at one or more")
    t = np.arange(1, len(x) + 1)
    mean = np.cumsum(x) / np.maximum(t, 1)
    origin = x[0] if len(x) else 0.0  # keeps the running variance exact
    first, second = np.cumsum(x - origin), np.cumsum((x - origin) ** 2)
    variance = np.maximum(second - first**2 / t, 0.0) / np.maximum(t - 1, 1)
    half = np.sqrt(variance) * _mixture_radius(t, level, best_at)
    half[t < first_look] = np.nan
    note = "" if len(x) >= first_look else f"no bounds before {first_look} raters"
    if not note and variance[-1] <= 1e-18:
        half[:], note = np.nan, "raters do not differ at all: no bounds"
    return ConfidenceSequence(mean, mean - half, mean + half, level, ASYMPTOTIC, note)


def subgaussian_sequence(
    x: Floats, sigma: float, *, level: float = 0.95, best_at: int = 100
) -> ConfidenceSequence:
    """Bounds for the mean of x (R,) whose noise is sub-Gaussian with a known ``sigma`` (> 0).

    The same radius with sigma in place of s_t, valid from the first rater: Robbins (1970), Ann.
    Math. Stat. 41, eq. 17 of Howard, Ramdas, McAuliffe and Sekhon (2021), Ann. Stat. 49(2), with a
    normal mixture. For scores in [a, b], sigma = (b - a) / 2 always holds (Hoeffding 1963).
    """
    x = _checked(x, level)
    if not sigma > 0:
        raise PlanningError(f"sigma is {sigma}; give one above 0")
    t = np.arange(1, len(x) + 1)
    mean = np.cumsum(x) / np.maximum(t, 1)
    half = sigma * _mixture_radius(t, level, best_at)
    note = "" if len(x) else "no raters yet"
    return ConfidenceSequence(mean, mean - half, mean + half, level, SUBGAUSSIAN, note)


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
    x = _checked(x, level)
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


def stopped_at(
    sequence: ConfidenceSequence, *, half_width: float | None = None, away_from: float | None = None
) -> int | None:
    """The number of raters after which a study may stop; None when not yet.

    Stop when half the bounds' width is at most ``half_width``, or when they exclude the value
    ``away_from`` (0 for a difference), whichever comes first. Looking as often as one likes keeps
    the level.
    """
    done = np.zeros(len(sequence.value), dtype=bool)
    if half_width is not None:
        done |= (sequence.high - sequence.low) / 2 <= half_width
    if away_from is not None:
        done |= (sequence.low > away_from) | (sequence.high < away_from)
    return int(np.argmax(done)) + 1 if done.any() else None


def _arrived(score: Floats, rater: Codes) -> tuple[Floats, Codes, int]:
    y, who = np.asarray(score, dtype=np.float64), np.asarray(rater)
    if len(y) != len(who):
        raise PlanningError(f"{len(y)} scores and {len(who)} raters: give one of each per rating")
    known = ~np.isnan(y)
    names, first, code = np.unique(who[known], return_index=True, return_inverse=True)
    rank = np.empty(len(names), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(names))
    return y[known], rank[code], len(names)


def _checked(x: Floats, level: float) -> Floats:
    numbers = np.asarray(x, dtype=np.float64)
    if not 0 < level < 1:
        raise PlanningError(f"level {level} is not between 0 and 1")
    if not np.isfinite(numbers).all():
        raise PlanningError("a rater's number is missing or infinite; leave such raters out")
    return numbers


def _mixture_radius(t: Codes, level: float, best_at: int) -> Floats:
    alpha = 1 - level
    rho2 = (-1 - float(special.lambertw(-(alpha**2) / np.e, -1).real)) / best_at
    grown = t * rho2 + 1
    radius = np.sqrt(2 * grown / (t**2 * rho2) * np.log(np.sqrt(grown) / alpha))
    return np.asarray(radius, dtype=np.float64)


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
