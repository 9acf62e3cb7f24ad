"""The variance of any contrast of clustered means of several studies, by raters and by items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.statistics.comparisons.clustered_variance import both_codes, two_way_sums

_LEAST_DF, _NONE = 0.5, 1e-15


@dataclass(frozen=True)
class Influence:
    """Ratings as contributions to means of cells (each (n,)), with the study (unit) of each.

    ``contribution`` is weight * (score - mean); ``weight`` sums to 1 within each cell.
    """

    contribution: Floats
    weight: Floats
    cell: Codes
    unit: Codes
    rater: Codes
    item: Codes

    def spread(self, row: Floats) -> tuple[float, float]:
        """Variance and degrees of freedom of a contrast (C,) of the cells' means.

        As `clustered_variance.spread_of`, with the factor G / (G - 1) and the degrees of freedom
        of each study by itself, put together after Satterthwaite: a study with few raters counts
        as much as it brings.
        """
        share = row[self.cell]
        used = share != 0
        moved = (share * self.contribution)[used]
        held = (np.abs(share) * self.weight)[used]
        unit, rater, item = self.unit[used], self.rater[used], self.item[used]
        by_rater, by_item, by_both = two_way_sums(moved, rater, item)
        of_raters, dr = _factor(moved, held, unit, rater)
        of_items, di = _factor(moved, held, unit, item)
        raters, items = by_rater * of_raters, by_item * of_items
        both = (by_rater + by_item - by_both) * (of_raters * of_items) ** 0.5
        variance = max(both, raters, items)
        if variance <= _NONE:
            return 0.0, min(dr, di)
        shares = (raters / variance) ** 2 / dr + (items / variance) ** 2 / di
        return variance, max(min(dr, di), 1.0 / shares)

    def covariance(self, rows: Floats) -> Floats:
        """The covariance (m, m) of contrasts (m, C), each variance as `spread` has it."""
        moved = rows[:, self.cell] * self.contribution
        sums = [_sums(moved, groups) for groups in (self.rater, self.item)]
        both = _sums(moved, both_codes(self.rater, self.item))
        raw = sums[0] @ sums[0].T + sums[1] @ sums[1].T - both @ both.T
        value, vector = np.linalg.eigh(raw)
        positive = (vector * np.maximum(value, 0.0)) @ vector.T
        own = np.array([self.spread(row)[0] for row in rows])
        now = np.diag(positive)
        factor = np.sqrt(np.divide(own, now, out=np.ones_like(own), where=now > _NONE))
        scaled = positive * np.outer(factor, factor)
        np.fill_diagonal(scaled, own)
        return np.asarray(scaled, dtype=np.float64)


def _factor(moved: Floats, held: Floats, unit: Codes, group: Codes) -> tuple[float, float]:
    """The factor G / (G - 1) and the degrees of freedom of groups, over the studies involved."""
    parts, degrees = [], []
    for each in np.unique(unit):
        mine = unit == each
        weights = np.bincount(group[mine], held[mine])
        effective = float(weights.sum() ** 2 / np.sum(weights**2))
        degrees.append(max(effective - 1.0, _LEAST_DF))
        parts.append(float(np.sum(np.bincount(group[mine], moved[mine]) ** 2)))
    part, df = np.array(parts), np.array(degrees)
    whole = float(part.sum())
    if whole <= _NONE:
        return 1.0 + 1.0 / float(df.min()), float(df.min())
    return float(part @ (1 + 1 / df)) / whole, whole**2 / float(np.sum(part**2 / df))


def _sums(moved: Floats, group: Codes) -> Floats:
    """The contributions (m, n) summed by group (m, G)."""
    return np.stack([np.bincount(group, row) for row in moved])
