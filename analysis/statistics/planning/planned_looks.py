"""What a planned look decides about the comparisons of one family.

The family's error is shared by Holm's (1979) step-down procedure, carried over to looks by Maurer
and Bretz (2013), Statistics in Biopharmaceutical Research 5:311: each comparison has the bounds of
level alpha / m, m being those not significant so far. One that is significant stays so and gives
its share to the others.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf

from scipy import special

from analysis.statistics.flat_row import FlatRow
from analysis.statistics.planning.group_sequential import (
    efficacy_bounds,
    final_bounds,
    fixed_drift,
    futility_bounds,
)
from analysis.statistics.planning.stagewise import z_of

SIGNIFICANT, FUTILE, OPEN, UNTESTED = "significant", "futile", "open", "untested"
POWER = 0.8  # of the effect that futility is measured against
Pair = tuple[str, str]


@dataclass(frozen=True)
class Compared:
    """One comparison by the ratings so far, analysed as if there were no looks.

    ``value``, ``low``..``high`` (its interval at ``level``) and ``null`` are in score units, ``p``
    is two-sided; low, high and p are None where there is no test.
    """

    condition: str
    versus: str
    value: float
    low: float | None
    high: float | None
    p: float | None
    null: float = 0.0
    level: float = 0.95

    @property
    def pair(self) -> Pair:
        return self.condition, self.versus

    @property
    def z(self) -> float | None:
        """The normal quantile of p, with the sign of the difference; None without a test."""
        return None if self.p is None else z_of(self.p, self.value - self.null)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval around the value; None where it has no width."""
        if self.low is None or self.high is None or not self.low < self.value < self.high:
            return None
        return self.low, self.high

    @property
    def half_width(self) -> float | None:
        """Half the width of the interval; None where it has none."""
        return None if self.interval is None else (self.interval[1] - self.interval[0]) / 2

    @property
    def se(self) -> float | None:
        """The half-width in units of the normal quantile; None without a test."""
        half = (1 - self.level) / 2
        return None if self.half_width is None else -self.half_width / float(special.ndtri(half))


@dataclass(frozen=True)
class Verdict(FlatRow):
    """What a look says of one comparison: Z against its bounds, and the verdict so far.

    ``bound`` is that of the level at which it was tested, None where it was significant before.
    ``look`` is the number of the look at which it became significant (0: it is not).
    """

    condition: str
    versus: str
    value: float
    low: float | None
    high: float | None
    z: float | None
    bound: float | None
    futility: float | None
    verdict: str
    look: int = 0


def verdicts_of(
    compared: Sequence[Compared],
    information: Sequence[float],
    numbers: Sequence[int],
    *,
    before: Mapping[Pair, int] | None = None,
    futile_before: Collection[Pair] = (),
    comparisons: int = 0,
    level: float = 0.95,
    futility: bool = True,
    difference: float | None = None,
    last: bool = False,
) -> list[Verdict]:
    """The verdict on each comparison of a family at the last of the looks made.

    ``information`` (k,) are the shares of the planned raters at the looks so far, ``numbers`` (k,)
    their numbers, this look last; ``before`` are the comparisons that were significant, with the
    look at which; ``futile_before`` those that were futile and stay so, because a system of theirs
    receives no more raters. ``comparisons`` is how many are planned, if more than there are.
    ``difference``
    (score units) is the smallest that matters: futile is what would hardly be found if it were
    true; None takes the effect that the plan finds with a power of 80 %. At the ``last`` look all
    of the error is spent, whatever the share of raters.
    """
    rejected = dict(before or {})
    tested_at: dict[Pair, float] = {}
    m = max(comparisons, len(compared), 1)
    shares = tuple(float(t) for t in information)
    alpha = 1 - level
    bound = _last_bound(shares, alpha / max(m - len(rejected), 1), last)
    while True:
        new = [
            each.pair
            for each in compared
            if each.pair not in rejected
            and each.pair not in futile_before
            and each.z is not None
            and abs(each.z) >= bound
        ]
        if not new:
            break
        rejected |= dict.fromkeys(new, numbers[-1])
        tested_at |= dict.fromkeys(new, bound)
        bound = _last_bound(shares, alpha / max(m - len(rejected), 1), last)
    verdicts = []
    for each in compared:
        floor = _floor(each, shares, alpha / m, difference) if futility and not last else None
        own_bound = tested_at.get(each.pair, None if each.pair in rejected else bound)
        if each.pair in futile_before:
            floor, own_bound = inf, None
        verdicts.append(_verdict(each, own_bound, floor, rejected.get(each.pair, 0)))
    return verdicts


def _verdict(each: Compared, bound: float | None, floor: float | None, look: int) -> Verdict:
    if look:
        verdict = SIGNIFICANT
    elif each.z is None:
        verdict = UNTESTED
    elif floor is not None and abs(each.z) < floor:
        verdict = FUTILE
    else:
        verdict = OPEN
    return Verdict(
        condition=each.condition,
        versus=each.versus,
        value=each.value,
        low=each.low,
        high=each.high,
        z=each.z,
        bound=bound,
        futility=None if floor == inf else floor,
        verdict=verdict,
        look=look,
    )


def _floor(
    each: Compared, shares: tuple[float, ...], alpha: float, difference: float | None
) -> float | None:
    """The bound on abs(Z) below which a comparison is futile at the last of these looks."""
    if each.se is None:
        return None
    if difference is None:
        drift = _usual_drift(alpha)
    else:
        drift = difference / (each.se * shares[-1] ** 0.5)  # of Z when all raters are there
    return _futility(shares, alpha, round(min(drift, 30.0), 2))


@lru_cache(maxsize=64)
def _usual_drift(alpha: float) -> float:
    return fixed_drift(1 - alpha, POWER)


@lru_cache(maxsize=4096)
def _futility(shares: tuple[float, ...], alpha: float, drift: float) -> float:
    plan = (*shares, 1.0) if shares[-1] < 1 else shares
    if len(plan) == 1:
        return 0.0
    floors = futility_bounds(plan, efficacy_bounds(plan, 1 - alpha), drift, POWER)
    return floors[len(shares) - 1] if len(shares) <= len(floors) else 0.0


@lru_cache(maxsize=4096)
def _last_bound(shares: tuple[float, ...], alpha: float, last: bool) -> float:
    return (final_bounds if last else efficacy_bounds)(shares, 1 - alpha)[-1]


Verdicts = Mapping[Hashable, tuple[str, float | None]]  # of each comparison: verdict and bound
Recruiting = Mapping[Hashable, frozenset[Hashable]]  # what an open comparison keeps recruiting for


def bounds_that_could_stop(
    looks: Sequence[Verdicts], key: Hashable, recruiting: Recruiting | None = None
) -> list[tuple[int, float]]:
    """The looks, from 0, at which this comparison's bound would have ended recruiting for it.

    A study goes on while any comparison is open, and so does a system that one of them needs. A
    comparison's own bound ended nothing at a look where others that were open needed all that it
    needs, so its estimate is adjusted only for looks where they did not. ``recruiting`` names what
    each comparison needs; by default all need the study, and no system stops before it.
    """
    found = []
    for place, verdicts in enumerate(looks):
        verdict, bound = verdicts.get(key, ("", None))
        if verdict != OPEN or bound is None:
            continue
        others = {
            name
            for name, (other, _) in verdicts.items()
            if name != key and other not in (SIGNIFICANT, FUTILE)
        }
        if recruiting is None:
            ends_something = not others
        else:
            elsewhere = frozenset[Hashable]().union(*(recruiting[name] for name in others))
            ends_something = not recruiting[key] <= elsewhere
        if ends_something:
            found.append((place, bound))
    return found
