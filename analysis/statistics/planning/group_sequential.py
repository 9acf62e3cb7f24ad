"""Group-sequential looks: O'Brien-Fleming bounds by Lan and DeMets' spending of the error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, stats

from analysis.arrays import Floats
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.planning.study_design import PlanningError

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
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
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
