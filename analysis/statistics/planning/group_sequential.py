"""Planned looks: bounds by error spending, futility, and what a design costs in raters.

Z at look k has mean drift x sqrt(t_k) and variance 1, with t_k the share of the planned information
(raters), and corr(Z_j, Z_k) = sqrt(t_j / t_k): Jennison and Turnbull (2000), Group Sequential
Methods, ch. 3. Items that all looks share make the correlation larger, and the error smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

import numpy as np
from scipy import optimize, special, stats

from analysis.arrays import Floats
from analysis.statistics.planning.study_design import PlanningError

Region = tuple[tuple[float, float], ...]  # values of Z at which a study goes on, ascending
_NODES = 48
_FURTHEST = 9.0  # a bound beyond this is never crossed
_WIDEST = 8.5  # beyond so many standard deviations there is nothing
_HIGHEST_DRIFT = 40.0
_GAMMA = 4.0


@dataclass(frozen=True)
class Crossings:
    """Probabilities of ending at each look (K,): above, below, and between the regions."""

    above: Floats
    below: Floats
    between: Floats

    @property
    def ends(self) -> Floats:
        """The probability of ending at each look (K,), for any reason."""
        return self.above + self.below + self.between

    @property
    def significant(self) -> float:
        """The probability (0..1) of ending above or below, at any look."""
        return float(self.above.sum() + self.below.sum())

    def mean_share(self, shares: Sequence[float]) -> float:
        """The mean of the looks' shares of raters (K,); who ends at none has the last."""
        ends = self.ends.copy()
        ends[-1] = 1 - ends[:-1].sum()
        return float(np.asarray(shares) @ ends)


@dataclass(frozen=True)
class LooksDesign:
    """A design with planned looks for one two-sided test.

    ``information`` (K,) shares of the planned raters, the last 1; ``bounds`` (K,) on abs(Z) for
    significance; ``futility`` (K,) on abs(Z), 0 where none, below which a study is futile (the last
    is 0: there the test itself decides); ``level`` 1 - alpha; ``power`` without futility at
    ``drift``, the mean of the last Z at the planned effect.
    """

    information: tuple[float, ...]
    bounds: tuple[float, ...]
    futility: tuple[float, ...]
    level: float
    power: float
    drift: float

    def crossings(self, effect: float) -> Crossings:
        """Where the study ends when the truth is ``effect`` times the planned one."""
        regions = regions_of(self.bounds, self.futility)
        return crossings(self.information, regions, effect * self.drift)

    def power_at(self, effect: float) -> float:
        """The probability (0..1) of claiming a difference at ``effect`` times the planned one."""
        return self.crossings(effect).significant

    def expected_share(self, effect: float) -> float:
        """The mean number of raters as a share of the largest, at ``effect`` times the planned."""
        return self.crossings(effect).mean_share(self.information)


def fixed_drift(level: float, power: float) -> float:
    """The mean of Z at which a two-sided test without looks has this power (0.5..1)."""
    alpha = 1 - level

    def missing(drift: float) -> float:
        z = stats.norm.ppf(1 - alpha / 2)
        return float(stats.norm.sf(z - drift) + stats.norm.cdf(-z - drift)) - power

    return float(optimize.brentq(missing, 0.0, _HIGHEST_DRIFT, xtol=1e-10))


def regions_of(bounds: Sequence[float], futility: Sequence[float] = ()) -> list[Region]:
    """The values of Z at which a study goes on after each look: within bounds, outside futility."""
    floors = tuple(futility) or (0.0,) * len(bounds)
    return [
        ((-bound, -floor), (floor, bound)) if 0 < floor < bound else ((-bound, bound),)
        for bound, floor in zip(bounds, floors, strict=True)
    ]


def crossings(information: Sequence[float], regions: Sequence[Region], drift: float) -> Crossings:
    """Probabilities of ending at each look by recursive integration.

    ``information`` (K,) shares above 0, ascending; ``regions`` (K,) of Z where a study goes on;
    ``drift`` the mean of Z where the information is 1. Armitage, McPherson and Rowe (1969), J.
    Royal Stat. Soc. A 132:235, with 48 Gauss-Legendre nodes for each part of 4 standard deviations
    or less. Raises PlanningError unless the shares ascend and every look has a region.
    """
    times = check_information(information)
    if len(times) != len(regions):
        raise PlanningError("give one region for each look")
    # States are asked for last, so that none is carried beyond the last look.
    looks = zip(times, regions, _states(times, regions, drift), strict=False)
    found = [state.ending(time, region, drift) for time, region, state in looks]
    return Crossings(*np.array(found).T)


@dataclass(frozen=True)
class _State:
    """Where the sum Z sqrt(t) of studies that went on was at the last look, and how likely."""

    at: Floats
    mass: Floats
    time: float

    def ending(self, time: float, region: Region, drift: float) -> tuple[float, float, float]:
        """Probabilities of ending at the next look: above, below, and between the regions."""
        mean, step, edges = self._steps(time, region, drift)
        inner = [(high, edges[n + 1][0]) for n, (_, high) in enumerate(edges[:-1])]
        above = float(self.mass @ special.ndtr((mean - edges[-1][1]) / step))
        below = float(self.mass @ special.ndtr((edges[0][0] - mean) / step))
        return above, below, sum(_within(ends, mean, self.mass, step) for ends in inner)

    def carried(self, time: float, region: Region, drift: float) -> _State:
        """The state at the next look, of studies that go on."""
        mean, step, edges = self._steps(time, region, drift)
        new, weights = _nodes([_trimmed(ends, drift * time, time**0.5) for ends in edges], step)
        density = np.exp(-0.5 * ((new[:, None] - mean[None, :]) / step) ** 2)
        return _State(new, weights * (density @ self.mass) / (step * np.sqrt(2 * np.pi)), time)

    def _steps(self, time: float, region: Region, drift: float) -> tuple[Floats, float, Region]:
        edges = tuple((low * time**0.5, high * time**0.5) for low, high in region)
        return self.at + drift * (time - self.time), (time - self.time) ** 0.5, edges


_START = _State(np.zeros(1), np.ones(1), 0.0)


def _states(times: Sequence[float], regions: Sequence[Region], drift: float) -> Iterator[_State]:
    """The state before each look, and after the last that has a region."""
    state = _START
    yield state
    for look in zip(times, regions, strict=False):
        state = state.carried(*look, drift)
        yield state


def check_information(information: Sequence[float]) -> list[float]:
    """The shares as floats; PlanningError unless they ascend from above 0."""
    times = [float(t) for t in information]
    if not times or times[0] <= 0 or (np.diff(times) <= 0).any():
        raise PlanningError("the looks' shares of information must ascend from above 0")
    return times


def _within(ends: tuple[float, float], mean: Floats, mass: Floats, step: float) -> float:
    low, high = ((end - mean) / step for end in ends)
    return float(mass @ (special.ndtr(high) - special.ndtr(low)))


def _trimmed(ends: tuple[float, float], middle: float, root: float) -> tuple[float, float]:
    """A part without what is further from the mean than anything gets."""
    low = min(max(ends[0], middle - _WIDEST * root), ends[1])
    return low, max(min(ends[1], middle + _WIDEST * root), low)


def _nodes(parts: Sequence[tuple[float, float]], step: float) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights over parts, dense enough for steps of this size."""
    x, w = _gauss_legendre()
    nodes, weights = [], []
    for low, high in parts:
        pieces = max(int(np.ceil((high - low) / (4 * step))), 1)
        cuts = np.linspace(low, high, pieces + 1)
        for a, b in pairwise(cuts):
            nodes.append((a + b) / 2 + (b - a) / 2 * x)
            weights.append((b - a) / 2 * w)
    return np.concatenate(nodes), np.concatenate(weights)


@cache
def _gauss_legendre() -> tuple[Floats, Floats]:
    return np.polynomial.legendre.leggauss(_NODES)


def beta_spending(information: float, power: float) -> float:
    """The error of the second kind (0..1 - power) spent up to a share 0..1 of the information.

    beta (1 - exp(4 t)) / (1 - exp(4)): Hwang, Shih and DeCani (1990), Statistics in Medicine
    9:1439, with gamma = -4, which spends little early.
    """
    share = min(max(information, 0.0), 1.0)
    return float((1 - power) * np.expm1(_GAMMA * share) / np.expm1(_GAMMA))


def futility_bounds(
    information: Sequence[float], bounds: Sequence[float], drift: float, power: float = 0.8
) -> list[float]:
    """Non-binding bounds (K - 1,) on abs(Z) at all looks but the last; 0 where none is above 0.

    At each, the chance of ending for futility so far is `beta_spending` when the mean of the last Z
    is ``drift``. The bounds for significance do not count on it, so a study may go on in spite.
    """
    times = check_information(information)
    floors: list[float] = []
    spent, state = 0.0, _START
    for time, bound in zip(times[:-1], bounds, strict=False):
        wanted = beta_spending(time / times[-1], power) - spent

        def surplus(
            floor: float,
            state: _State = state,
            look: tuple[float, float, float] = (time, bound, wanted),
        ) -> float:
            time, bound, wanted = look
            (region,) = regions_of([bound], [floor])
            return state.ending(time, region, drift)[2] - wanted

        top = bound * (1 - 1e-9)
        if surplus(top) <= 0:
            floor = top
        elif surplus(1e-6) >= 0:
            floor = 0.0
        else:
            floor = float(optimize.brentq(surplus, 1e-6, top, xtol=1e-8))
        spent += surplus(floor) + wanted if floor > 0 else 0.0
        floors.append(floor)
        state = state.carried(time, regions_of([bound], [floor])[0], drift)
    return floors


def obrien_fleming_spending(information: float, level: float = 0.95) -> float:
    """The two-sided error (0..1 - level) spent up to a share 0..1 of the information.

    2 [2 - 2 Phi(z(1 - alpha/4) / sqrt(t))]: Lan and DeMets (1983), Biometrika 70:659, alpha_1*
    with alpha / 2 on each side.
    """
    if information <= 0:
        return 0.0
    z = float(stats.norm.isf((1 - level) / 4))
    return float(4 * stats.norm.sf(z / min(information, 1.0) ** 0.5))


def efficacy_bounds(information: Sequence[float], level: float = 0.95) -> tuple[float, ...]:
    """Bounds (K,) on abs(Z): O'Brien-Fleming spending of Lan and DeMets (1983), two-sided.

    Neither the number nor the times of looks need be fixed beforehand, only the information at
    which the study ends (1). Raises PlanningError unless the shares ascend to 1 at most.
    """
    times = check_information(information)
    if times[-1] > 1 + 1e-12:
        raise PlanningError("the looks' shares of information must ascend to 1 at most")
    return _efficacy_bounds(tuple(times), level)


@lru_cache(maxsize=4096)
def _efficacy_bounds(information: tuple[float, ...], level: float) -> tuple[float, ...]:
    *before, time = information
    earlier = _efficacy_bounds(tuple(before), level) if before else ()
    return (*earlier, _last_bound(information, earlier, obrien_fleming_spending(time, level)))


def _last_bound(information: Sequence[float], earlier: Sequence[float], spent: float) -> float:
    """The bound at the last of these looks with which an error is spent up to it."""
    regions = regions_of(earlier)
    *before, last = _states(information, regions, 0.0)
    looks = zip(before, information, regions, strict=False)
    left = spent - sum(sum(state.ending(time, region, 0.0)) for state, time, region in looks)

    def surplus(bound: float) -> float:
        return sum(last.ending(information[-1], ((-bound, bound),), 0.0)) - left

    if surplus(_FURTHEST) >= 0:
        return _FURTHEST
    return float(optimize.brentq(surplus, 0.0, _FURTHEST, xtol=1e-12))


def final_bounds(information: Sequence[float], level: float = 0.95) -> tuple[float, ...]:
    """Bounds (K,) on abs(Z) where the last look is the end, at whatever share of the raters.

    Earlier looks keep the bounds they had; the last spends all error that is left. So a study that
    ends with fewer or more raters than planned keeps its level.
    """
    times = check_information(information)
    earlier = efficacy_bounds(times[:-1], level) if len(times) > 1 else ()
    return (*earlier, _last_bound(times, earlier, 1 - level))


@lru_cache(maxsize=256)
def looks_design(
    information: tuple[float, ...],
    *,
    level: float = 0.95,
    power: float = 0.8,
    futility: bool = False,
) -> LooksDesign:
    """The design with looks at these shares of the raters (K,), the last 1.

    The drift is that at which the power is ``power`` without futility, so that futility costs some
    power and no raters. Raises PlanningError unless the shares ascend to 1, and 0.5 <= power < 1.
    """
    times = tuple(check_information(information))
    if abs(times[-1] - 1) > 1e-9:
        raise PlanningError("the last look is at share 1 of the raters")
    if not 0.5 <= power < 1:
        raise PlanningError(f"power {power} is not between 0.5 and 1")
    bounds = efficacy_bounds(times, level)
    none = (0.0,) * len(times)

    def missing(drift: float) -> float:
        return LooksDesign(times, bounds, none, level, power, drift).power_at(1.0) - power

    start = fixed_drift(level, power)
    drift = float(optimize.brentq(missing, start * 0.99, start * 1.5, xtol=1e-9))
    floors = (*futility_bounds(times, bounds, drift, power), 0.0) if futility else none
    return LooksDesign(times, bounds, floors, level, power, drift)
