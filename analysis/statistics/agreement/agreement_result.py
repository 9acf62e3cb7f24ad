"""What a measure of agreement gives back, and the coded ratings that it starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Codes, Floats
from analysis.statistics.flat_row import FlatRow

Names = Sequence[Any] | NDArray[Any]
Scores = Sequence[float] | NDArray[Any]
Bounds = tuple[float, float] | None
NOTHING = "no ratings: agreement is undefined"
ALL_EQUAL = "all ratings are equal: without variation agreement is undefined, neither 0 nor 1"


class AgreementError(ValueError):
    """Arguments that cannot be ratings: unequal lengths, infinite scores, an unknown choice."""


@dataclass(frozen=True)
class Agreement(FlatRow):
    """One measure of agreement with its interval and counts.

    ``value`` is None where the measure is undefined, ``low`` and ``high`` where there is no
    interval; ``note`` then says why, and may carry a warning otherwise. ``interval`` names how the
    interval was made.
    """

    statistic: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    interval: str
    n_units: int
    n_raters: int
    n_ratings: int
    note: str = ""


@dataclass(frozen=True)
class CodedRatings:
    """Ratings in long form: ``y`` float64 (n,), ``unit`` and ``rater`` int64 codes (n,) from 0.

    ``units`` and ``raters`` are the names behind the codes, sorted as text.
    """

    y: Floats
    unit: Codes
    rater: Codes
    units: tuple[str, ...]
    raters: tuple[str, ...]

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many units, raters and ratings there are."""
        return len(self.units), len(self.raters), len(self.y)

    def subset(self, rows: NDArray[np.bool_]) -> CodedRatings:
        """The ratings of some rows (n,), with all names."""
        return CodedRatings(
            self.y[rows], self.unit[rows], self.rater[rows], self.units, self.raters
        )

    def undefined(
        self, statistic: str, level: float, note: str, interval: str = "none"
    ) -> Agreement:
        """A measure that has no value on these ratings, with the reason."""
        return Agreement(statistic, None, None, None, level, interval, *self.counts, note)

    def measured(
        self,
        statistic: str,
        value: float,
        bounds: Bounds,
        level: float,
        interval: str,
        note: str = "",
    ) -> Agreement:
        """A measure with its interval; without bounds the note must say why."""
        low, high = bounds or (None, None)
        return Agreement(statistic, float(value), low, high, level, interval, *self.counts, note)

    def complete(self) -> tuple[Floats, str]:
        """The matrix of the units that every rater rated, and how many others are left out."""
        matrix = self.matrix() if len(self.y) else np.empty((0, 0))
        whole = matrix[~np.isnan(matrix).any(axis=1)] if matrix.size else matrix
        left = len(matrix) - len(whole)
        return whole, f"{left} units that not every rater rated are left out" if left else ""

    def matrix(self) -> Floats:
        """The ratings as float64 (U, R), NaN where none; several of one cell are averaged."""
        shape = (len(self.units), len(self.raters))
        at = self.unit * shape[1] + self.rater
        count = np.bincount(at, minlength=shape[0] * shape[1])
        total = np.bincount(at, weights=self.y, minlength=shape[0] * shape[1])
        empty = np.full(len(count), np.nan)
        mean = np.divide(total, count, out=empty, where=count > 0)
        return np.asarray(mean.reshape(shape), dtype=np.float64)

    def duplicates(self) -> int:
        """How many ratings repeat a unit and rater that was there before."""
        return len(self.y) - len(np.unique(self.unit * max(1, len(self.raters)) + self.rater))


def coded(unit: Names, rater: Names, score: Scores) -> CodedRatings:
    """Ratings (n,) of units by raters as codes; rows whose score is NaN are left out.

    Names may be of any type and are compared as text. Raises AgreementError when the lengths
    differ or a score is infinite.
    """
    y = np.asarray(score, dtype=np.float64)
    if not len(unit) == len(rater) == len(y):
        raise AgreementError(
            f"{len(unit)} units, {len(rater)} raters, {len(y)} scores: give one of each per rating"
        )
    if np.isinf(y).any():
        raise AgreementError("a score is infinite; give numbers, or NaN where there is none")
    known = ~np.isnan(y)
    units, unit_codes = _codes(unit, known)
    raters, rater_codes = _codes(rater, known)
    return CodedRatings(y[known], unit_codes, rater_codes, units, raters)


def _codes(names: Names, known: NDArray[np.bool_]) -> tuple[tuple[str, ...], Codes]:
    import pandas as pd

    code, distinct = pd.factorize(np.asarray(names, dtype=object)[known], use_na_sentinel=False)
    texts = np.array([str(name) for name in distinct], dtype=object)
    names_sorted, place = np.unique(texts, return_inverse=True)
    codes = place[code] if len(texts) else np.empty(0, dtype=np.int64)
    return tuple(str(name) for name in names_sorted), codes.astype(np.int64)
