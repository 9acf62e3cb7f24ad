"""The noise ceiling: how well one half of the raters foretells the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

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
from analysis.statistics.correlations import signed_ranks
from analysis.statistics.intervals import percentile_interval

STATISTICS = ("pearson", "spearman")
BOOTSTRAP = "bootstrap over units, percentile, mean over splits"
SPLITS = 100
FEWEST_UNITS = 4
_MOST_GATHERED = 200_000


def noise_ceiling(
    unit: Names,
    rater: Names,
    score: Scores,
    *,
    statistic: str = "pearson",
    splits: int = SPLITS,
    level: float = 0.95,
    replicates: int = 500,
    seed: int = 0,
    within: Names | None = None,
    neutral: float | None = None,
) -> list[Agreement]:
    """Split-half reliability of the unit means, and the correlation a perfect metric could reach.

    Ratings (n,) are split at random into halves ``splits`` times: by raters where every rater
    rated every unit, else by ratings within each unit. ``split_half`` is the mean correlation of
    the halves, ``reliability`` = 2 r / (1 + r) (Spearman 1910, Brown 1910) that of the mean of all
    ratings, ``ceiling`` = sqrt(reliability) the correlation of that mean with the true scores
    (Lord and Novick 1968, eq. 3.6.4). ``within`` (n,) names each rating's group (condition): the
    groups' means are then taken away from both halves. ``neutral`` is the score that favours
    neither side of a pair: pairs then count in both orders (`analysis.statistics.correlations`),
    and nothing depends on which side is named first. Undefined, with the reason, for fewer than
    4 units with two ratings, one rater, or no variation. Raises AgreementError on an unknown
    statistic.
    """
    if statistic not in STATISTICS:
        raise AgreementError(f"statistic {statistic!r} is none of {', '.join(STATISTICS)}")
    names = [f"{name}_{statistic}" for name in ("split_half", "reliability", "ceiling")]
    signed = neutral is not None
    ratings = coded(unit, rater, np.asarray(score, dtype=np.float64) - (neutral or 0.0))
    paired = _with_two(ratings)
    why = _unfit(ratings, paired, signed)
    if why:
        return [ratings.undefined(name, level, why, BOOTSTRAP) for name in names]
    rng = np.random.default_rng(seed)
    halves = _halves(paired, splits, rng)
    if within is not None:
        group_of = {str(name): group for name, group in zip(unit, within, strict=True)}
        halves = _without_means(halves, [group_of[name] for name in paired.units])
        if halves.shape[2] < FEWEST_UNITS:
            why = f"{halves.shape[2]} units share a group, and {FEWEST_UNITS} or more are needed"
            return [ratings.undefined(name, level, why, BOOTSTRAP) for name in names]
    r = _mean(_correlations(halves, statistic, signed))
    if np.isnan(r):
        return [ratings.undefined(name, level, ALL_EQUAL, BOOTSTRAP) for name in names]
    few = halves[: max(2, min(20, _MOST_GATHERED // len(paired.units)))]
    if statistic == "spearman":
        few = _rank_halves(few, signed)  # once: of units drawn again it would take long
    drawn = np.full(replicates, np.nan)
    for b in range(replicates):
        units = rng.integers(0, few.shape[2], few.shape[2])
        drawn[b] = _mean(_correlations(few[:, :, units], "pearson", signed))
    steps: tuple[Callable[[Floats], Floats], ...] = (lambda r: r, _spearman_brown, _ceiling)
    return [
        _result(name, step, r, drawn, ratings, level)
        for name, step in zip(names, steps, strict=True)
    ]


def _with_two(ratings: CodedRatings) -> CodedRatings:
    count = np.bincount(ratings.unit, minlength=len(ratings.units))
    rows = count[ratings.unit] > 1
    unit = np.unique(ratings.unit[rows], return_inverse=True)[1].astype(np.int64)
    units = tuple(name for name, held in zip(ratings.units, count, strict=True) if held > 1)
    return CodedRatings(ratings.y[rows], unit, ratings.rater[rows], units, ratings.raters)


def _unfit(ratings: CodedRatings, paired: CodedRatings, signed: bool) -> str:
    if not len(ratings.y):
        return NOTHING
    if len(ratings.raters) < 2:
        return "one rater only: there are no halves of raters"
    if len(paired.units) < FEWEST_UNITS:
        return f"{len(paired.units)} of the {FEWEST_UNITS} or more units with two ratings needed"
    differ = np.any(paired.y) if signed else np.ptp(paired.y) > 0
    return "" if differ else ALL_EQUAL


def _halves(ratings: CodedRatings, splits: int, rng: np.random.Generator) -> Floats:
    """Means (S, 2, U) of the two halves in each split."""
    n_units, n_raters = len(ratings.units), len(ratings.raters)
    complete = len(ratings.y) == n_units * n_raters and ratings.duplicates() == 0
    means = np.empty((splits, 2, n_units))
    for s in range(splits):
        if complete:
            side = (rng.permutation(n_raters) % 2)[ratings.rater]
        else:
            order = np.argsort(ratings.unit + rng.random(len(ratings.y)))
            starts = np.searchsorted(ratings.unit[order], np.arange(n_units))
            rank = np.empty(len(order), dtype=np.int64)
            rank[order] = np.arange(len(order)) - starts[ratings.unit[order]]
            side = rank % 2
        for half in (0, 1):
            rows = side == half
            count = np.bincount(ratings.unit[rows], minlength=n_units)
            total = np.bincount(ratings.unit[rows], weights=ratings.y[rows], minlength=n_units)
            means[s, half] = total / count
    return means


def _without_means(halves: Floats, groups: Names) -> Floats:
    """The halves (S, 2, U) less the mean of each unit's group; units alone in theirs left out."""
    _, code, size = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    member = (code[:, None] == np.arange(len(size))).astype(np.float64)
    apart = halves - (halves @ member / size)[:, :, code]
    return np.asarray(np.round(apart[:, :, size[code] > 1], 12), dtype=np.float64)


def _rank_halves(halves: Floats, signed: bool) -> Floats:
    return signed_ranks(halves, 2) if signed else np.asarray(stats.rankdata(halves, axis=2))


def _correlations(halves: Floats, statistic: str, signed: bool) -> Floats:
    """The correlation (S,) of the halves; NaN where one is constant, or favours no side."""
    x = _rank_halves(halves, signed) if statistic == "spearman" else halves
    x = x if signed else x - x.mean(axis=2, keepdims=True)
    a, b = x[:, 0], x[:, 1]
    size = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    flat = size <= 1e-12
    r = (a * b).sum(axis=1) / np.where(flat, 1.0, size)
    return np.asarray(np.where(flat, np.nan, r), dtype=np.float64)


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")


def _spearman_brown(r: Floats) -> Floats:
    """Of halves that are exactly opposite (r = -1), where the formula has no value, -1."""
    opposite = np.full_like(r, -1.0)
    return np.asarray(np.divide(2 * r, 1 + r, out=opposite, where=r > -1), dtype=np.float64)


def _ceiling(r: Floats) -> Floats:
    return np.sqrt(np.maximum(_spearman_brown(np.maximum(r, 0.0)), 0.0))


def _result(
    name: str,
    step: Callable[[Floats], Floats],
    r: float,
    drawn: Floats,
    ratings: CodedRatings,
    level: float,
) -> Agreement:
    value = float(step(np.array([r]))[0])
    bounds = percentile_interval(step(drawn), level)
    notes = [] if bounds else ["too few units that differ: no interval"]
    if r <= 0:
        notes.append("the halves do not agree at all: the ceiling is 0")
    return ratings.measured(name, value, bounds, level, BOOTSTRAP, "; ".join(notes))
