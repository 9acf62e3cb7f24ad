"""How the scale is used: each rater's mean, spread and steps; and the SOS hypothesis of a panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

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
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.intervals import naive_interval, percentile_interval

T_OVER_RATINGS = "t over the rater's ratings"


@dataclass(frozen=True)
class ScaleUse(FlatRow):
    """One rater's use of the scale, in score units; shares are of the rater's ratings, 0..1.

    ``shares`` (K,) go with the steps asked about, ``off_scale`` is the share of other values.
    ``half_steps`` is the share of ratings between whole points (None on a scale without half
    steps) and ``half_steps_p`` the chance of so few, or fewer, if the rater used them as often as
    the others did. ``ends`` is the share at the two ends.
    """

    rater: str
    n_ratings: int
    mean: float
    low: float | None
    high: float | None
    level: float
    interval: str
    sd: float | None
    lowest: float
    highest: float
    n_steps_used: int
    shares: tuple[float, ...]
    off_scale: float
    ends: float
    half_steps: float | None
    half_steps_p: float | None
    note: str = ""


def scale_use(
    rater: Names, score: Scores, steps: Sequence[float], *, level: float = 0.95
) -> list[ScaleUse]:
    """Each rater's use of the ``steps`` (K,) of a scale, for ratings (n,); NaN scores left out.

    Empty without ratings. Raises AgreementError when fewer than two steps are given or they do
    not ascend. Shares are plain counts; ``half_steps_p`` is a binomial lower tail (Clark et al.
    2019 rate in half steps; some raters never use them). The mean's interval is naive t.
    """
    places = np.asarray(steps, dtype=np.float64)
    if len(places) < 2 or (np.diff(places) <= 0).any():
        raise AgreementError("give two or more steps of the scale, ascending")
    ratings = coded(np.zeros(len(score), dtype=int), rater, score)
    step = np.clip(np.searchsorted(places, ratings.y - 1e-9), 0, len(places) - 1)
    known = np.abs(places[step] - ratings.y) < 1e-6
    n_raters = len(ratings.raters)
    counts = np.bincount(
        ratings.rater[known] * len(places) + step[known], minlength=n_raters * len(places)
    ).reshape(n_raters, len(places))
    has_halves = bool((np.abs(places - np.rint(places)) > 1e-6).any())
    between = np.abs(ratings.y - np.rint(ratings.y)) > 1e-6
    halves = np.bincount(ratings.rater[between], minlength=n_raters)
    totals = np.bincount(ratings.rater, minlength=n_raters)
    order = np.argsort(ratings.rater, kind="stable")
    parts = np.split(ratings.y[order], np.cumsum(totals)[:-1]) if n_raters else []
    uses = []
    for code, y in enumerate(parts):
        others = int(totals.sum() - totals[code])
        rate = (halves.sum() - halves[code]) / others if has_halves and others else None
        mine = y, counts[code], int(halves[code])
        uses.append(_one(ratings.raters[code], *mine, has_halves, rate, level))
    return uses


def _one(
    rater: str,
    y: np.ndarray,
    counts: np.ndarray,
    halves: int,
    has_halves: bool,
    rate: float | None,
    level: float,
) -> ScaleUse:
    n = len(y)
    bounds = naive_interval(y, level)
    note = "" if bounds else "one rating only: no interval"
    if bounds and np.ptp(y) == 0:
        bounds, note = None, "the same score throughout: no interval"
    low, high = bounds or (None, None)
    return ScaleUse(
        rater=rater,
        n_ratings=n,
        mean=float(y.mean()),
        low=low,
        high=high,
        level=level,
        interval=T_OVER_RATINGS,
        sd=float(np.std(y, ddof=1)) if n > 1 else None,
        lowest=float(y.min()),
        highest=float(y.max()),
        n_steps_used=int((counts > 0).sum()),
        shares=tuple(float(c) / n for c in counts),
        off_scale=1 - float(counts.sum()) / n,
        ends=float(counts[0] + counts[-1]) / n,
        half_steps=halves / n if has_halves else None,
        half_steps_p=None if rate is None else float(special.bdtr(halves, n, rate)),
        note=note,
    )


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

    Ratings (n,) on a scale with these ``ends``; a lies in 0..1: about .1 for clear-cut tasks, .3
    for hard ones. The unbiased variance of n ratings reaches n / (n - 1) times the most that their
    mean allows, so a fit to few ratings can exceed 1; then value and bounds are 1 at most, and the
    note has the fit. Undefined, with the reason, without units of two ratings or when all means
    lie on the ends. The interval resamples units. Raises AgreementError
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
    if fitted > 1:
        notes.append(f"the fit is {fitted:.3f}, and a is 1 at most: too few ratings per unit")
    fitted, bounds = min(fitted, 1.0), bounds and (min(bounds[0], 1.0), min(bounds[1], 1.0))
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
