"""Intervals that allow looking: confidence sequences, and group-sequential bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy import optimize, special, stats

from analysis.arrays import Codes, Floats
from analysis.citations import cite
from analysis.name_spans import resolve
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.planning.study_design import PlanningError

ASYMPTOTIC = f"asymptotic confidence sequence over raters {resolve(cite('waudbysmith2024clt'))}"
BETTING = (
    f"betting confidence sequence over raters, bounded scores {resolve(cite('waudbysmith2024'))}"
)
SUBGAUSSIAN = (
    f"normal-mixture confidence sequence over raters, sub-Gaussian {resolve(cite('robbins1970'))}"
)
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
    y, who, n = _order_of_arrival(score, rater)
    return np.asarray(np.bincount(who, weights=y, minlength=n) / np.bincount(who, minlength=n))


def rater_differences(score: Floats, rater: Codes, is_first: Codes) -> Floats:
    """Each rater's mean of one condition minus that of another (R,), in order of arrival.

    ``is_first`` (n,) is true where the rating is of the first condition, false where of the
    second; raters without both are left out.
    """
    y, who, n = _order_of_arrival(score, rater)
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
    x = _check_scores(x, level)
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
    x = _check_scores(x, level)
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


def _order_of_arrival(score: Floats, rater: Codes) -> tuple[Floats, Codes, int]:
    y, who = np.asarray(score, dtype=np.float64), np.asarray(rater)
    if len(y) != len(who):
        raise PlanningError(f"{len(y)} scores and {len(who)} raters: give one of each per rating")
    known = ~np.isnan(y)
    names, first, code = np.unique(who[known], return_index=True, return_inverse=True)
    rank = np.empty(len(names), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(names))
    return y[known], rank[code], len(names)


def _check_scores(x: Floats, level: float) -> Floats:
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


INTERVAL = "repeated confidence interval, O'Brien-Fleming spending (Lan-DeMets)"
_NODES = 256
_FURTHEST = 9.0  # a bound beyond this is never crossed


@dataclass(frozen=True)
class Look(FlatRow):
    """One look: the share of the planned information seen, the bound on |z|, what is spent.

    ``value``, ``low``, ``high`` are the estimate and its repeated interval; ``crossed`` says that
    the difference may be claimed and the study stopped. None before estimates are given.
    """

    information: float
    bound: float
    spent: float
    level: float
    value: float | None = None
    low: float | None = None
    high: float | None = None
    crossed: bool | None = None
    interval: str = INTERVAL


def obrien_fleming_spending(information: float, level: float = 0.95) -> float:
    """The two-sided error (0..1 - level) spent up to a share 0..1 of the information.

    2 [2 - 2 Phi(z(1 - alpha/4) / sqrt(t))]: Lan and DeMets (1983), Biometrika 70:659, alpha_1*
    with alpha / 2 on each side.
    """
    if information <= 0:
        return 0.0
    alpha = 1 - level
    z = float(stats.norm.ppf(1 - alpha / 4))
    return float(4 * stats.norm.sf(z / min(information, 1.0) ** 0.5))


def obrien_fleming_bounds(information: Sequence[float], *, level: float = 0.95) -> list[Look]:
    """The bounds on |z| at looks with these shares of the planned information (K,), ascending.

    Neither the number nor the times of looks need be fixed beforehand, only the information at
    which the study ends (1). Armitage, McPherson and Rowe (1969), J. Royal Stat. Soc. A 132:235:
    the density of the sum is carried from look to look by quadrature (256 Gauss-Legendre nodes).
    Raises PlanningError unless 0 < t_1 < t_2 < ... <= 1.
    """
    times = [float(t) for t in information]
    if not times or times[0] <= 0 or times[-1] > 1 + 1e-12 or (np.diff(times) <= 0).any():
        raise PlanningError("the looks' shares of information must rise from above 0 to 1 at most")
    nodes, weights = gauss_legendre(_NODES)
    at, mass = np.zeros(1), np.ones(1)  # where the sum was, and how likely
    spent, before, looks = 0.0, 0.0, []
    for time in times:
        step = (time - before) ** 0.5
        wanted = obrien_fleming_spending(time, level) - spent
        bound = _bound(at, mass, step, time**0.5, wanted)
        edge = bound * time**0.5
        spent += _outside(edge, at, mass, step)
        new = edge * nodes
        density = stats.norm.pdf((new[:, None] - at[None, :]) / step) / step
        at, mass = new, edge * weights * (density @ mass)
        looks.append(Look(time, bound, spent, level))
        before = time
    return looks


def repeated_intervals(
    information: Sequence[float],
    values: Sequence[float],
    standard_errors: Sequence[float],
    *,
    level: float = 0.95,
) -> list[Look]:
    """Each look with its interval value ± bound x se, which holds at all looks at once.

    ``values`` and ``standard_errors`` (K,) in score units, e.g. two-way clustered ones; the
    information at a look is its share of the planned raters (or of 1/se^2). Jennison and Turnbull
    (1989), J. Royal Stat. Soc. B 51:305. Raises PlanningError on unequal lengths or an se of 0 or
    less.
    """
    if not len(information) == len(values) == len(standard_errors):
        raise PlanningError("give one value and one standard error per look")
    if any(se <= 0 for se in standard_errors):
        raise PlanningError("a standard error is 0 or less: no interval can be made")
    looks = []
    bounds = obrien_fleming_bounds(information, level=level)
    for look, value, se in zip(bounds, values, standard_errors, strict=True):
        half = look.bound * se
        low, high = float(value - half), float(value + half)
        crossed = bool(abs(value) >= half)
        looks.append(replace(look, value=float(value), low=low, high=high, crossed=crossed))
    return looks


@cache
def gauss_legendre(n: int) -> tuple[Floats, Floats]:
    """n nodes from -1 to 1 and their weights."""
    return np.polynomial.legendre.leggauss(n)


def _outside(edge: float, at: Floats, mass: Floats, step: float) -> float:
    """The probability that the sum leaves -edge..edge at this look."""
    beyond = stats.norm.sf((edge - at) / step) + stats.norm.cdf((-edge - at) / step)
    return float(mass @ beyond)


def _bound(at: Floats, mass: Floats, step: float, root: float, wanted: float) -> float:
    def surplus(z: float) -> float:
        return _outside(z * root, at, mass, step) - wanted

    if surplus(_FURTHEST) >= 0:
        return _FURTHEST
    return float(optimize.brentq(surplus, 0.0, _FURTHEST, xtol=1e-12))
