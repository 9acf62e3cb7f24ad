"""Rater bias and inconsistency by ITU-T P.910, and whom ITU-R BT.500 would reject."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse, stats

from analysis.arrays import Codes, Floats
from analysis.statistics.agreement.agreement_result import (
    NOTHING,
    CodedRatings,
    Names,
    Scores,
    coded,
)
from analysis.statistics.flat_row import FlatRow

METHOD = "subject model (P.910): normal for the bias, chi-squared for the inconsistency"
LEAST_SHARE = 0.1  # no rater's noise is taken for less than this share of the panel's
_ROUNDS, _TOLERANCE = 2000, 1e-10
AT_FLOOR = (
    "the published algorithm gives this rater all weight: the inconsistency stands at its floor"
)


@dataclass(frozen=True)
class RaterBias(FlatRow):
    """One rater: bias (mean distance from the recovered scores) and inconsistency (noise SD).

    Both in score units, each with a standard error and an interval at ``level``; None where they
    cannot be estimated, ``note`` says why. ``weight`` is 1 / inconsistency^2 against the panel's
    mean weight: 1 is a rater who counts as much as the others.
    """

    rater: str
    bias: float | None
    bias_se: float | None
    bias_low: float | None
    bias_high: float | None
    inconsistency: float | None
    inconsistency_se: float | None
    inconsistency_low: float | None
    inconsistency_high: float | None
    weight: float | None
    level: float
    interval: str
    n_ratings: int
    note: str = ""


@dataclass(frozen=True)
class SubjectModel:
    """The fitted model: raters, and the recovered score of each unit with its standard error.

    ``units`` (U,) names, ``quality`` and ``quality_se`` float64 (U,) in score units; ``converged``
    after ``rounds``; ``note`` warns when the panel falls apart.
    """

    raters: list[RaterBias]
    units: tuple[str, ...]
    quality: Floats
    quality_se: Floats
    converged: bool
    rounds: int
    note: str = ""


def subject_model(
    unit: Names,
    rater: Names,
    score: Scores,
    *,
    level: float = 0.95,
    unbiased: bool = False,
    sided: bool = True,
    rounds: int = _ROUNDS,
) -> SubjectModel:
    """y = quality(unit) + bias(rater) + inconsistency(rater) * noise, for ratings (n,).

    Biases average 0 over the raters that share units. Empty result with a note when there are no
    ratings or one rater. Li, Bampis, Krasula, Janowski and Katsavounidis (2020), A simple model
    for subject behavior in subjective experiments, Algorithm 1 (alternating projection); ITU-T
    P.910 (2023), Annex E. Standard errors as there: 1/sqrt(sum of 1/s_i^2) for a unit,
    s_i/sqrt(n_i) for a bias, s_i/sqrt(2 n_i) for an inconsistency.

    The published algorithm takes a rater's noise from distances to scores that this very rater
    pulled along: all noise comes out too small (by 4 to 5 % in usual panels), and quiet raters
    seem quieter round by round, sometimes until one has all weight. ``unbiased`` divides each mean
    square by the mean share of weight that the others hold, and takes n_i less its share of the
    units' scores as the degrees of an inconsistency. Where the sign of a unit's scores means
    nothing (``sided`` False), a bias has no direction: none is fitted. In both, noise is floored
    at a tenth of the panel's median, so that a chance fit does not take everything; raters there
    are told. After ``rounds`` it stops, converged or not: with few ratings per rater on a coarse
    scale it may never settle.
    """
    ratings = coded(unit, rater, score)
    if not len(ratings.y):
        return SubjectModel([], (), np.empty(0), np.empty(0), True, 0, NOTHING)
    if len(ratings.raters) < 2:
        note = "one rater only: bias and inconsistency are undefined"
        mean = _means(ratings.y, ratings.unit, len(ratings.units))
        empty = np.full(len(mean), np.nan)
        return SubjectModel([], ratings.units, mean, empty, True, 0, note)
    part = _parts(ratings)
    quality, bias, noise, done = _alternate(ratings, part, unbiased, sided, rounds)
    weights = 1 / np.maximum(noise[ratings.rater], 1e-300) ** 2
    information = np.bincount(ratings.unit, weights=weights, minlength=len(quality))
    parts = int(part.max()) + 1
    note = ""
    if parts > 1:
        note = f"raters fall into {parts} groups that share no unit: biases compare within a group"
    left = np.bincount(ratings.rater, minlength=len(ratings.raters)).astype(np.float64)
    if unbiased:
        share = weights / information[ratings.unit]
        left -= sided + np.bincount(ratings.rater, weights=share, minlength=len(left))
    raters = _raters(ratings, bias, noise, left, level)
    if not sided:
        raters = [
            replace(each, bias=None, bias_se=None, bias_low=None, bias_high=None) for each in raters
        ]
    floored = sum(each.note == AT_FLOOR for each in raters)
    if floored:
        which = "rater stands" if floored == 1 else "raters stand"
        why = f"{floored} {which} at the floor of inconsistency, with the most weight there can be"
        note = "; ".join(filter(None, (note, why)))
    return SubjectModel(
        raters,
        ratings.units,
        quality,
        np.asarray(information**-0.5, dtype=np.float64),
        done < rounds,
        done,
        note,
    )


def _alternate(
    ratings: CodedRatings, part: Codes, unbiased: bool, sided: bool, most: int
) -> tuple[Floats, Floats, Floats, int]:
    y, unit, rater = ratings.y, ratings.unit, ratings.rater
    n_units, n_raters = len(ratings.units), len(ratings.raters)
    alone = np.bincount(unit, minlength=n_units)[unit] < 2  # tells nothing of its rater
    shared = ~alone if (~alone).any() else np.ones(len(y), dtype=bool)
    counts = np.bincount(rater[shared], minlength=n_raters)
    quality = _means(y, unit, n_units)
    bias, noise = np.zeros(n_raters), np.ones(n_raters)
    rounds = 0
    for rounds in range(1, most + 1):  # noqa: B007
        if sided:
            bias = _means((y - quality[unit])[shared], rater[shared], n_raters)
            bias -= _means(bias, part, int(part.max()) + 1)[part]
        rest = y - quality[unit] - bias[rater]
        square = _means(rest[shared] ** 2, rater[shared], n_raters)
        if unbiased:
            weight = 1 / noise[rater] ** 2
            share = weight / np.bincount(unit, weights=weight, minlength=n_units)[unit]
            own_share = _means((1 - share)[shared], rater[shared], n_raters)
            own_share -= sided / np.maximum(counts, 2)  # the bias
            square = square / np.maximum(own_share, 1e-6)
        noise = _floor_noise(np.sqrt(square), counts)
        weight = 1 / noise[rater] ** 2
        before = quality
        total = np.bincount(unit, weights=weight, minlength=n_units)
        quality = np.bincount(unit, weights=weight * (y - bias[rater]), minlength=n_units) / total
        if float(np.abs(quality - before).max()) < _TOLERANCE:
            break
    return quality, bias, noise, rounds


def _floor_noise(noise: Floats, counts: Codes) -> Floats:
    """Noise SDs kept off 0; a rater with fewer than 3 shared ratings gets the panel's median."""
    middle = _median(noise, counts)
    filled = np.where(counts >= 3, noise, middle)
    return np.maximum(filled, max(LEAST_SHARE * middle, 1e-9))


def _floor(noise: Floats, counts: Codes) -> float:
    """The least that a noise SD can be, of SDs that were floored."""
    return max(LEAST_SHARE * _median(noise, counts), 1e-9)


def _median(noise: Floats, counts: Codes) -> float:
    enough = counts >= 3
    return float(np.median(noise[enough])) if enough.any() else float(np.median(noise))


def _means(values: Floats, group: Codes, n: int) -> Floats:
    total = np.bincount(group, weights=values, minlength=n)
    return np.asarray(total / np.maximum(np.bincount(group, minlength=n), 1), dtype=np.float64)


def _parts(ratings: CodedRatings) -> Codes:
    """The connected part (R,) that each rater belongs to through shared units."""
    n_units, n_raters = len(ratings.units), len(ratings.raters)
    edges = sparse.coo_array(
        (np.ones(len(ratings.y)), (ratings.unit, n_units + ratings.rater)),
        shape=(n_units + n_raters, n_units + n_raters),
    )
    _, label = sparse.csgraph.connected_components(edges, directed=False)
    return np.unique(label[n_units:], return_inverse=True)[1].astype(np.int64)


def _raters(
    ratings: CodedRatings, bias: Floats, noise: Floats, left: Floats, level: float
) -> list[RaterBias]:
    shared = np.bincount(ratings.unit, minlength=len(ratings.units))[ratings.unit] > 1
    n_shared = np.bincount(ratings.rater[shared], minlength=len(ratings.raters))
    n_all = np.bincount(ratings.rater, minlength=len(ratings.raters))
    z = float(stats.norm.ppf((1 + level) / 2))
    mean_weight = float(np.mean(noise[n_shared >= 3] ** -2)) if (n_shared >= 3).any() else 0.0
    floor = _floor(noise, n_shared) * (1 + 1e-9)
    biases = []
    for code, name in enumerate(ratings.raters):
        n = int(n_shared[code])
        if n < 3:
            note = f"{n} of the 3 or more ratings needed on units that others rated too"
            biases.append(_unknown(name, int(n_all[code]), level, note))
            continue
        b, s = float(bias[code]), float(noise[code])
        df = max(1.0, float(left[code]))
        b_se, s_se = s / n**0.5, s / (2 * df) ** 0.5
        tails = stats.chi2.ppf([(1 + level) / 2, (1 - level) / 2], df)
        why = AT_FLOOR if s <= floor else ""
        ends = (b - z * b_se, b + z * b_se, *(s * (df / tails) ** 0.5).tolist())
        biases.append(
            RaterBias(
                name, b, b_se, ends[0], ends[1], s, s_se, ends[2], ends[3],
                s**-2 / mean_weight, level, METHOD, int(n_all[code]), why,
            )
        )  # fmt: skip
    return biases


def _unknown(rater: str, n_ratings: int, level: float, note: str) -> RaterBias:
    four = (None, None, None, None)
    return RaterBias(rater, *four, *four, None, level, METHOD, n_ratings, note)


LEAST = 6  # ratings of a unit: of fewer none can be two SDs from their mean
_OFTEN, _TO_ONE_SIDE = 0.05, 0.3


@dataclass(frozen=True)
class Bt500(FlatRow):
    """One rater: how many of ``n_ratings`` lie far ``above`` and far ``below`` the others'."""

    rater: str
    n_ratings: int
    above: int
    below: int
    rejected: bool


def bt500(unit: Names, rater: Names, score: Scores) -> list[Bt500]:
    """The screening of observers of ITU-R BT.500-13 (2012), annex 2, 2.3.1, for ratings (n,).

    A rating is far off that lies 2 SDs (of the unit's ratings, n - 1) or more from the unit's mean
    where their kurtosis m4 / m2^2 is 2 to 4, sqrt(20) SDs elsewhere. A rater is rejected with more
    than 5 % of the ratings far off and |above - below| / (above + below) under 0.3: who is off to
    one side only has another opinion, not none. Units whose ratings are all equal have nothing far
    off. The Recommendation wants it once, for fewer than about 20 raters who are no experts.
    """
    ratings = coded(unit, rater, score)
    raters = len(ratings.raters)
    off = _side(ratings.y, ratings.unit, len(ratings.units))
    above, below = (np.bincount(ratings.rater[off == s], minlength=raters) for s in (1, -1))
    count = np.bincount(ratings.rater, minlength=raters)
    both = np.maximum(above + below, 1)
    rejected = (above + below > _OFTEN * count) & (np.abs(above - below) / both < _TO_ONE_SIDE)
    return [
        Bt500(name, int(count[r]), int(above[r]), int(below[r]), bool(rejected[r]))
        for r, name in enumerate(ratings.raters)
    ]


def _side(y: Floats, unit: Codes, units: int) -> Codes:
    """1 for each rating (n,) far above its unit's mean, -1 for one far below, else 0."""
    count = np.maximum(np.bincount(unit, minlength=units), 1)
    apart = y - (np.bincount(unit, weights=y, minlength=units) / count)[unit]
    apart[np.abs(apart) < 1e-12 * max(1.0, float(np.abs(y).max(initial=0.0)))] = 0.0
    second, fourth = (np.bincount(unit, weights=apart**k, minlength=units) / count for k in (2, 4))
    varies = (second > 0) & (count > 1)
    kurtosis = np.divide(fourth, second**2, out=np.zeros(units), where=varies)
    sd = np.sqrt(second * count / np.maximum(count - 1, 1))
    far = np.where((kurtosis >= 2) & (kurtosis <= 4), 2.0, 20**0.5) * sd
    beyond = varies[unit] & (np.abs(apart) >= far[unit] * (1 - 1e-12))
    return np.where(beyond, np.sign(apart), 0).astype(np.int64)
