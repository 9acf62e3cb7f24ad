"""Raters whom ITU-R BT.500 would reject: far off too often, and to both sides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.statistics.agreement.agreement_result import Names, Row, Scores, coded

LEAST = 6  # ratings of a unit: of fewer none can be two SDs from their mean
_OFTEN, _TO_ONE_SIDE = 0.05, 0.3


@dataclass(frozen=True)
class Bt500(Row):
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
