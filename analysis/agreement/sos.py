"""The SOS hypothesis: how the spread of opinions goes with their mean, in one parameter a."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.agreement.result import (
    ALL_EQUAL,
    NOTHING,
    Agreement,
    AgreementError,
    Names,
    Scores,
    coded,
    measured,
    undefined,
)
from analysis.intervals import Floats, percentile_interval

BOOTSTRAP = "bootstrap over units, percentile"


@dataclass(frozen=True)
class SosFit:
    """The parameter a with its interval, and what a plot of it needs.

    ``mean`` and ``variance`` float64 (U,) are those of the units with two or more ratings;
    ``parabola`` (101, 2) holds points (mean, a * (mean - low) * (high - mean)) over the scale, or
    nothing where a is undefined.
    """

    a: Agreement
    mean: Floats
    variance: Floats
    parabola: Floats


def sos_parameter(
    unit: Names,
    rater: Names,
    score: Scores,
    *,
    ends: tuple[float, float] = (1.0, 5.0),
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
) -> SosFit:
    """a = sum(g v) / sum(g^2), v a unit's variance (n - 1), g = (mean - low)(high - mean).

    Ratings (n,) on a scale with these ``ends``; a lies in 0..1 but for small samples: about .1
    for clear-cut tasks, .3 for hard ones. Undefined, with the reason, without units of two
    ratings or when all means lie on the ends. The interval resamples units. Raises AgreementError
    when a score lies off the scale. Hossfeld, Schatz and Egger (2011), SOS: the MOS is not
    enough!, QoMEX, eq. 3, fitted by least squares through the origin.
    """
    low, high = ends
    ratings = coded(unit, rater, score)
    if len(ratings.y) and (ratings.y.min() < low - 1e-9 or ratings.y.max() > high + 1e-9):
        raise AgreementError(f"a score lies outside the scale {low:g}..{high:g}; give its ends")
    nothing = np.empty(0)
    if not len(ratings.y):
        why = undefined("sos_a", ratings, level, NOTHING, BOOTSTRAP)
        return SosFit(why, nothing, nothing, np.empty((0, 2)))
    count = np.bincount(ratings.unit, minlength=len(ratings.units))
    mean = np.bincount(ratings.unit, weights=ratings.y) / count
    square = np.bincount(ratings.unit, weights=(ratings.y - mean[ratings.unit]) ** 2)
    several = count > 1
    mean, variance = mean[several], square[several] / (count[several] - 1)
    g = (mean - low) * (high - mean)
    fitted = _fit(g, variance, ratings.y)
    if isinstance(fitted, str):
        why = undefined("sos_a", ratings, level, fitted, BOOTSTRAP)
        return SosFit(why, mean, variance, np.empty((0, 2)))
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(g), np.full(len(g), 1 / len(g)), size=replicates)
    below = drawn @ g**2
    replicate = np.divide(
        drawn @ (g * variance), below, out=np.full(replicates, np.nan), where=below > 0
    )
    bounds = percentile_interval(replicate, level) if len(g) > 1 else None
    note = "" if bounds else "too few units: no interval"
    if (~several).any():
        left = f"{int((~several).sum())} units with one rating are left out"
        note = "; ".join(filter(None, (left, note)))
    x = np.linspace(low, high, 101)
    parabola = np.column_stack([x, fitted * (x - low) * (high - x)])
    return SosFit(
        measured("sos_a", fitted, bounds, ratings, level, BOOTSTRAP, note), mean, variance, parabola
    )


def _fit(g: Floats, variance: Floats, y: Floats) -> float | str:
    if not len(g):
        return "no unit has two ratings: the spread is undefined"
    if np.ptp(y) == 0:
        return ALL_EQUAL
    if float(g @ g) <= 0:
        return "every mean lies on an end of the scale: the spread is undefined"
    return float(g @ variance) / float(g @ g)
