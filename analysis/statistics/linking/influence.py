"""The variance of any contrast of clustered means of several studies, by raters and by items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from analysis.arrays import Codes, Floats
from analysis.statistics.clustered_variance import both_codes

_LEAST_DF, _NONE = 0.5, 1e-15


@dataclass(frozen=True)
class Influence:
    """Ratings as contributions to means of cells (each (n,)), and the study (unit) of each cell.

    ``contribution`` is weight * (score - mean); ``weight`` sums to 1 within each cell. Sums over
    clusters of squares are forms of what each two cells share: a contrast costs cells squared,
    however many ratings there are.
    """

    contribution: Floats
    weight: Floats
    cell: Codes
    unit: Codes  # (C,)
    rater: Codes
    item: Codes

    def spread(self, row: Floats) -> tuple[float, float]:
        """Variance and degrees of freedom of a contrast (C,) of the cells' means.

        As `clustered_variance.spread_of`, with the factor G / (G - 1) and the degrees of freedom
        of each study by itself, put together after Satterthwaite: a study with few raters counts
        as much as it brings.
        """
        used = np.flatnonzero(row)
        own = row[used]
        at = np.ix_(used, used)
        by_rater, by_item, by_both = (float(own @ form[at] @ own) for form in self._moved)
        of_raters, dr = self._factor(own, used, 0)
        of_items, di = self._factor(own, used, 1)
        raters, items = by_rater * of_raters, by_item * of_items
        both = (by_rater + by_item - by_both) * of_raters * of_items
        variance = max(both, raters, items)
        if variance <= _NONE:
            return 0.0, min(dr, di)
        shares = (raters / variance) ** 2 / dr + (items / variance) ** 2 / di
        return variance, max(min(dr, di), 1.0 / shares)

    def covariance(self, rows: Floats) -> Floats:
        """The covariance (m, m) of contrasts (m, C), each variance as `spread` has it."""
        raters, items, both = self._moved
        raw = rows @ (raters + items - both) @ rows.T
        value, vector = np.linalg.eigh((raw + raw.T) / 2)
        positive = (vector * np.maximum(value, 0.0)) @ vector.T
        own = np.array([self.spread(row)[0] for row in rows])
        now = np.diag(positive)
        factor = np.sqrt(np.divide(own, now, out=np.ones_like(own), where=now > _NONE))
        scaled = positive * np.outer(factor, factor)
        np.fill_diagonal(scaled, own)
        return np.asarray(scaled, dtype=np.float64)

    @cached_property
    def _moved(self) -> tuple[Floats, Floats, Floats]:
        """The forms (C, C) of contributions summed by rater, by item and by both."""
        groups = (self.rater, self.item, both_codes(self.rater, self.item))
        first, second, third = (self._form(self.contribution, group) for group in groups)
        return first, second, third

    @cached_property
    def _held(self) -> tuple[Floats, Floats]:
        """The same of weights, by rater and by item."""
        return self._form(self.weight, self.rater), self._form(self.weight, self.item)

    def _form(self, values: Floats, group: Codes) -> Floats:
        """Of each two cells the sum over groups of the products of their sums."""
        shape = (len(self.unit), int(group.max(initial=-1)) + 1)
        sums = csr_array((values, (self.cell, group)), shape=shape)
        return np.asarray((sums @ sums.T).toarray(), dtype=np.float64)

    def _factor(self, own: Floats, used: Codes, way: int) -> tuple[float, float]:
        """G / (G - 1) and the degrees of freedom of raters (0) or items (1), over the studies."""
        parts, degrees = [], []
        unit = self.unit[used]
        for each in np.unique(unit):
            row, at = own[unit == each], used[unit == each]
            size, block = np.abs(row), np.ix_(at, at)
            effective = float(size.sum() ** 2 / (size @ self._held[way][block] @ size))
            degrees.append(max(effective - 1.0, _LEAST_DF))
            parts.append(max(float(row @ self._moved[way][block] @ row), 0.0))
        part, df = np.array(parts), np.array(degrees)
        whole = float(part.sum())
        if whole <= _NONE:
            return 1.0 + 1.0 / float(df.min()), float(df.min())
        return float(part @ (1 + 1 / df)) / whole, whole**2 / float(np.sum(part**2 / df))
