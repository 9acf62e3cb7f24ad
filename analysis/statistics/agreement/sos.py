"""The SOS hypothesis: how the spread of opinions goes with their mean, in one parameter a."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Floats
from analysis.statistics.agreement.agreement_result import (
    ALL_EQUAL,
    NOTHING,
    Agreement,
    AgreementError,
    CodedRatings,
    Names,
    Scores,
    coded,
)
from analysis.statistics.intervals import percentile_interval

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
    ratings = coded(unit, rater, score)
    if (
        len(ratings.y)
        and not ends[0] - 1e-9 <= ratings.y.min() <= ratings.y.max() <= ends[1] + 1e-9
    ):
        raise AgreementError(
            f"a score lies outside the scale {ends[0]:g}..{ends[1]:g}; give its ends"
        )
    mean, variance, left = _spread(ratings)
    g = (mean - ends[0]) * (ends[1] - mean)
    fitted = _fit(g, variance, ratings.y)
    if isinstance(fitted, str):
        why = ratings.undefined("sos_a", level, fitted, BOOTSTRAP)
        return SosFit(why, mean, variance, np.empty((0, 2)))
    bounds = _bounds(g, variance, level, replicates, seed)
    notes = [f"{left} units with one rating are left out"] if left else []
    notes += [] if bounds else ["too few units: no interval"]
    x = np.linspace(*ends, 101)
    parabola = np.column_stack([x, fitted * (x - ends[0]) * (ends[1] - x)])
    a = ratings.measured("sos_a", fitted, bounds, level, BOOTSTRAP, "; ".join(notes))
    return SosFit(a, mean, variance, parabola)


def _spread(ratings: CodedRatings) -> tuple[Floats, Floats, int]:
    """Mean and variance (n - 1) of the units with two ratings or more; how many have fewer."""
    n = len(ratings.units)
    count = np.bincount(ratings.unit, minlength=n)
    mean = np.bincount(ratings.unit, weights=ratings.y, minlength=n) / np.maximum(count, 1)
    around = (ratings.y - mean[ratings.unit]) ** 2
    square = np.bincount(ratings.unit, weights=around, minlength=n)
    several = count > 1
    return mean[several], square[several] / (count[several] - 1), int((~several).sum())


def _bounds(
    g: Floats, variance: Floats, level: float, replicates: int, seed: int
) -> tuple[float, float] | None:
    """Percentile bounds of a over units drawn with replacement."""
    if len(g) < 2:
        return None
    rng = np.random.default_rng(seed)
    top, below = g * variance, g**2
    values = np.full(replicates, np.nan)
    for b in range(replicates):
        drawn = rng.integers(0, len(g), len(g))
        size = float(below[drawn].sum())
        if size > 0:
            values[b] = float(top[drawn].sum()) / size
    return percentile_interval(values, level)


def _fit(g: Floats, variance: Floats, y: Floats) -> float | str:
    if not len(y):
        return NOTHING
    if not len(g):
        return "no unit has two ratings: the spread is undefined"
    if np.ptp(y) == 0:
        return ALL_EQUAL
    if float(g @ g) <= 0:
        return "every mean lies on an end of the scale: the spread is undefined"
    return float(g @ variance) / float(g @ g)
