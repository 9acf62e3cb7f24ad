"""Each rater against the mean of the others: PLCC, SRCC, KRCC, QWK and MAE, with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.arrays import Floats
from analysis.statistics.agreement.agreement_result import (
    AgreementError,
    Bounds,
    CodedRatings,
    Names,
    Scores,
    coded,
)
from analysis.statistics.agreement.kappa import BOOTSTRAP, FIVE, ONE_CATEGORY, kappa
from analysis.statistics.correlations import FISHER, correlation, fisher_interval, in_both_orders
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.intervals import naive_interval

MEASURES = ("plcc", "srcc", "krcc", "qwk", "mae")
COEFFICIENTS = {"plcc": "pearson", "srcc": "spearman", "krcc": "kendall"}
T_OVER_UNITS = "t over units"
_MOST_PAIRED = 300  # ratings of a rater; above, all pairs of them take longer than sorting
NO_BOUNDS = "too few units that differ: no interval"
NO_OTHERS = "no unit of this rater was rated by others: undefined"


@dataclass(frozen=True)
class VersusRest(FlatRow):
    """One rater against the mean of the others, in one measure: a row of `versus_rest`.

    ``value`` is None where undefined, ``low`` and ``high`` where there is no interval; ``note``
    says why. ``n_units`` counts the units that the rater shares with others.
    """

    rater: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    interval: str
    n_units: int
    note: str = ""


def versus_rest(
    unit: Names,
    rater: Names,
    score: Scores,
    *,
    categories: Sequence[float] = FIVE,
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
    neutral: float | None = None,
) -> list[VersusRest]:
    """Five rows per rater (in the order of ``MEASURES``), for ratings (n,) in long form.

    A unit's rest is the mean of all its other ratings. plcc, srcc and krcc (tau-b) lie in -1..1
    with Fisher intervals; qwk rounds both sides half up to ``categories``, bootstrap over units
    (none for 0 ``replicates``); mae is in score units, not rounded, t over units. ``neutral`` is
    the score that favours neither side of a pair: plcc, srcc and krcc then count pairs in both
    orders (`analysis.statistics.correlations`). Undefined, with the reason, where a rater shares no
    unit or a side is constant. LFS-Bench, Table 6 (leave-one-rater-out).
    """
    if not 0 < level < 1:
        raise AgreementError(f"level {level} is not between 0 and 1")
    ratings = coded(unit, rater, score)
    rows: list[VersusRest] = []
    for code, (name, x, y) in enumerate(raters_and_rest(ratings)):
        rows += _rows(name, x, y, categories, level, replicates, [seed, code], neutral)
    return rows


def raters_and_rest(ratings: CodedRatings) -> Iterator[tuple[str, Floats, Floats]]:
    """Each rater's ratings (m,) of units that others rated too, and the others' means (m,)."""
    rest = rest_means(ratings)
    order = np.argsort(ratings.rater, kind="stable")
    ends = np.searchsorted(ratings.rater[order], np.arange(len(ratings.raters) + 1))
    for code, name in enumerate(ratings.raters):
        mine = order[ends[code] : ends[code + 1]]
        mine = mine[~np.isnan(rest[mine])]
        yield name, ratings.y[mine], rest[mine]


def rest_means(ratings: CodedRatings) -> Floats:
    """For each rating (n,), the mean of the other raters' ratings of its unit; NaN without any."""
    n_units, n_raters = len(ratings.units), max(1, len(ratings.raters))
    total = np.bincount(ratings.unit, weights=ratings.y, minlength=n_units)
    count = np.bincount(ratings.unit, minlength=n_units)
    cell, place = np.unique(ratings.unit * n_raters + ratings.rater, return_inverse=True)
    own = np.bincount(place, weights=ratings.y, minlength=len(cell))[place]
    held = np.bincount(place, minlength=len(cell))[place]
    others = count[ratings.unit] - held
    empty = np.full(len(ratings.y), np.nan)
    return np.asarray(
        np.divide(total[ratings.unit] - own, others, out=empty, where=others > 0), dtype=np.float64
    )


def coefficients(x: Floats, y: Floats) -> tuple[float | None, float | None, float | None]:
    """Pearson's r, Spearman's rho and Kendall's tau-b of x and y (n,); None where undefined.

    As `analysis.statistics.correlations.correlation`, without tests: quick for hundreds of raters.
    """
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None, None, None
    if len(x) > _MOST_PAIRED:
        r, rho, tau_b = (correlation(name, x, y) for name in COEFFICIENTS.values())
        return r, rho, tau_b
    up, across = np.sign(x[:, None] - x[None, :]), np.sign(y[:, None] - y[None, :])
    largest = float(np.abs(up).sum()) * float(np.abs(across).sum())
    tau = float((up * across).sum()) / largest**0.5
    ranks = up.sum(axis=1), across.sum(axis=1)  # twice the midranks, about their middle
    return _pearson(x, y), _pearson(*ranks), min(1.0, max(-1.0, tau))


def _pearson(x: Floats, y: Floats) -> float:
    x, y = x - x.mean(), y - y.mean()
    r = float(x @ y) / (float(x @ x) * float(y @ y)) ** 0.5
    return float(min(1.0, max(-1.0, r)))


def _rows(
    rater: str,
    x: Floats,
    y: Floats,
    categories: Sequence[float],
    level: float,
    replicates: int,
    seed: list[int],
    neutral: float | None,
) -> list[VersusRest]:
    n = len(x)
    sided = (x, y)
    if neutral is not None:
        sided = (in_both_orders(x - neutral), in_both_orders(y - neutral))
    values = coefficients(*sided) if n > 2 else (None, None, None)

    def row(
        measure: str, value: float | None, bounds: Bounds, interval: str, note: str
    ) -> VersusRest:
        low, high = bounds or (None, None)
        return VersusRest(rater, measure, value, low, high, level, interval, n, note)

    if n == 0:
        return [row(measure, None, None, "none", NO_OTHERS) for measure in MEASURES]
    rows = []
    for (measure, statistic), value in zip(COEFFICIENTS.items(), values, strict=True):
        bounds = None if value is None else fisher_interval(statistic, value, n, level)
        note = "" if bounds else _why(value, x, y, n)
        rows.append(row(measure, value, bounds, FISHER[statistic], note))
    mixed = int(np.random.default_rng(seed).integers(2**31))
    value, ends = kappa(x, y, "quadratic", categories, level, replicates, mixed)
    note = "" if ends else NO_BOUNDS
    rows.append(row("qwk", value, ends, BOOTSTRAP, ONE_CATEGORY if value is None else note))
    apart = np.abs(x - y)
    ends = naive_interval(apart, level)
    note = "" if ends else "one unit only: no interval"
    rows.append(row("mae", float(apart.mean()), ends, T_OVER_UNITS, note))
    return rows


def _why(value: float | None, x: Floats, y: Floats, n: int) -> str:
    if value is not None:
        return f"no interval from {n} units with a coefficient of {value:.3g}"
    if n < 3:
        return f"undefined: {n} of the 3 or more shared units needed"
    sides = [who for who, v in (("this rater", x), ("the rest", y)) if np.ptp(v) == 0]
    return f"undefined: {' and '.join(sides)} gave one score throughout"
