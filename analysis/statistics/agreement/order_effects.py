"""Fatigue and order effects: by position and block, and from the trial before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.statistics.agreement.agreement_result import (
    NOTHING,
    Agreement,
    AgreementError,
    Bounds,
    CodedRatings,
    Names,
    Scores,
    coded,
)
from analysis.statistics.agreement.versus_rest import rest_means
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.intervals import t_interval

CLUSTERED = "clustered over raters, t(raters-1)"
_ROUNDS, _TOLERANCE = 500, 1e-12


@dataclass(frozen=True)
class PositionRow(FlatRow):
    """The mean score (or share of traps passed) at one position or block, in score units."""

    place: str
    value: float
    low: float | None
    high: float | None
    level: float
    interval: str
    n_ratings: int
    n_raters: int
    note: str = ""


def by_position(
    place: Names, rater: Names, score: Scores, *, level: float = 0.95
) -> list[PositionRow]:
    """The mean of the scores (n,) at each place (trial position, block, third of a session).

    For traps, score is 1 passed and 0 failed. Places keep the order in which they sort as numbers
    where they are numbers, else as text. Interval: CR0 clustered over raters (Liang and Zeger
    1986), t with raters - 1 degrees; None with a note under two raters.
    """
    ratings = coded(place, rater, score)
    places = []
    for code in sorted(range(len(ratings.units)), key=lambda c: _as_number(ratings.units[c])):
        rows = ratings.unit == code
        y, who = ratings.y[rows], np.unique(ratings.rater[rows], return_inverse=True)[1]
        mean, raters = float(y.mean()), int(who.max()) + 1
        se = float((np.bincount(who, weights=y - mean) ** 2).sum()) ** 0.5 / len(y)
        bounds, note = _t_bounds(mean, se, raters, level)
        low, high = bounds or (None, None)
        name, n = ratings.units[code], len(y)
        places.append(PositionRow(name, mean, low, high, level, CLUSTERED, n, raters, note))
    return places


def trend(
    unit: Names, rater: Names, score: Scores, position: Scores, *, level: float = 0.95
) -> Agreement:
    """The change of the score per trial (score units per position), within raters and units.

    Ratings (n,) with their position in the session; raters' and units' own levels are taken away
    from both sides (two-way fixed effects), so that who answered and what was heard cannot
    pretend a trend. For traps, give 1 passed and 0 failed. Clustered over raters. Undefined, with
    the reason, when position does not vary within raters and units. Frisch-Waugh-Lovell with
    alternating projections: Gaure (2013), Comput. Stat. Data Anal. 66; Liang and Zeger (1986).
    """
    ratings, (x,) = _with(unit, rater, score, position)
    return _within("trend_per_trial", ratings, x, level, "position")


def carry_over(
    unit: Names,
    rater: Names,
    session: Names,
    score: Scores,
    position: Scores,
    *,
    level: float = 0.95,
) -> Agreement:
    """How much a rating rises per score unit that the clip just before was better (n,).

    The clip before counts by the mean of the *other* raters' ratings of it. Above 0 is
    assimilation, below 0 contrast. Raters' and units' own levels are taken away; clustered over
    raters. Undefined, with the reason, without earlier trials that others rated. Sequential
    effects in ratings: DeCarlo and Cross (1990), J. Exp. Psychol. Gen. 119.
    """
    everything = coded(unit, rater, score)
    known = ~np.isnan(np.asarray(score, dtype=np.float64))
    sessions = np.array([str(s) for s in session], dtype=object)[known]
    at = np.asarray(position, dtype=np.float64)[known]
    quality = rest_means(everything)
    _, code = np.unique(sessions, return_inverse=True)
    order = np.lexsort((at, everything.rater, code))
    before = np.full(len(at), np.nan)
    follows = (code[order][1:] == code[order][:-1]) & (
        everything.rater[order][1:] == everything.rater[order][:-1]
    )
    follows &= ~np.isnan(at[order][1:]) & ~np.isnan(at[order][:-1])  # nothing says what came before
    before[order[1:][follows]] = quality[order[:-1][follows]]
    has_before = ~np.isnan(before)
    ratings = everything.subset(has_before)
    return _within("carry_over", ratings, before[has_before], level, "the trial before")


def _as_number(name: str) -> tuple[int, float, str]:
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name


def _t_bounds(value: float, se: float, groups: int, level: float) -> tuple[Bounds, str]:
    if groups < 2:
        return None, "one rater only: no interval"
    if se <= 1e-12:
        return None, "raters do not differ here: no interval"
    return t_interval(value, se, groups - 1, level), ""


def _with(
    unit: Names, rater: Names, score: Scores, *others: Scores
) -> tuple[CodedRatings, tuple[Floats, ...]]:
    """Ratings whose score and every other value is known, with those values."""
    y = np.array(score, dtype=np.float64)
    columns = [np.asarray(other, dtype=np.float64) for other in others]
    for column in columns:
        if len(column) != len(y):
            raise AgreementError(f"{len(column)} positions for {len(y)} scores: give one each")
        y[np.isnan(column)] = np.nan
    known = ~np.isnan(y)
    return coded(unit, rater, y), tuple(column[known] for column in columns)


def _within(name: str, ratings: CodedRatings, x: Floats, level: float, what: str) -> Agreement:
    if not len(ratings.y):
        return ratings.undefined(name, level, NOTHING, CLUSTERED)
    if len(np.unique(ratings.rater)) < 2:
        why = "one rater only: how raters differ is unknown"
        return ratings.undefined(name, level, why, CLUSTERED)
    left_x, left_y = swept(x, ratings), swept(ratings.y, ratings)
    variation = float(left_x @ left_x)
    if variation <= 1e-9 * max(1.0, float(x @ x)):
        why = f"{what} does not vary within raters and clips: no trend can be told"
        return ratings.undefined(name, level, why, CLUSTERED)
    slope = float(left_x @ left_y) / variation
    rest = left_x * (left_y - slope * left_x)
    sums = np.bincount(ratings.rater, weights=rest)
    se = float((sums**2).sum()) ** 0.5 / variation
    bounds, note = _t_bounds(slope, se, len(np.unique(ratings.rater)), level)
    return ratings.measured(name, slope, bounds, level, CLUSTERED, note)


def swept(values: Floats, ratings: CodedRatings) -> Floats:
    """The values (n,) with rater and unit means taken away, by alternating projections."""
    rest = np.array(values, dtype=np.float64)
    size = max(1.0, float(np.abs(rest).max()))
    for _ in range(_ROUNDS):
        before = rest
        for group in (ratings.rater, ratings.unit):
            rest = rest - _group_means(rest, group)[group]
        if float(np.abs(rest - before).max()) < _TOLERANCE * size:
            break
    return rest


def _group_means(values: Floats, group: Codes) -> Floats:
    counts = np.maximum(np.bincount(group), 1)
    return np.asarray(np.bincount(group, weights=values) / counts, dtype=np.float64)
