"""What metrics are compared with: the stimuli of one family, or the pairs of them that met.

Throughout, S is the number of stimuli (or pairs), C of conditions (or pairs of conditions), R of
raters, T of items, M of metrics and B of bootstrap replicates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from analysis.arrays import Codes, Floats
from analysis.ratings.estimands import estimand_of
from analysis.statistics.agreement.rating_units import Words, texts
from analysis.statistics.clustered_variance import two_way_intervals
from analysis.statistics.intervals import clustered

if TYPE_CHECKING:
    import pandas as pd

    from analysis.ratings.breakdowns import Family

STIMULUS = "stimulus"
WITHIN = "stimulus within condition"
CONDITION = "condition"
BETWEEN = " ~ "  # the conditions of a pair; no condition's key holds it


@dataclass(frozen=True)
class Units:
    """The stimuli, or pairs of stimuli, of one family, with their ratings.

    ``own`` and ``other`` (S,) name the stimulus and the one that it is compared with (empty where
    clips are rated alone), ``condition`` and ``item`` (S,) are codes, ``human`` (S,) is the mean
    score and ``ratings`` (S,) their number. ``total`` and ``count`` (S, R) hold the sums and the
    numbers of the scores of each rater. A pair stands the same way round in all its ratings
    (`turned_pairs`); scores are turned with it.
    """

    estimand: str
    own: Words
    other: Words
    condition: Codes
    conditions: tuple[str, ...]
    item: Codes
    human: Floats
    ratings: Codes
    total: sparse.csr_array[Any, Any]
    count: sparse.csr_array[Any, Any]
    n_items: int
    compared: bool
    unit: Codes  # (n,) of each rating, with its rater and score as below
    rater: Codes
    score: Floats

    @property
    def n_raters(self) -> int:
        """The number of raters, R."""
        return int(self.total.shape[1])

    @property
    def signed(self) -> bool:
        """Whether scores say which side of a pair is better: sides may be named in either order."""
        return self.compared and estimand_of(self.estimand).prefers

    def centred(self, score: Floats) -> Floats:
        """Scores around the one that favours neither side, where they have sides."""
        return np.asarray(estimand_of(self.estimand).centred(score) if self.signed else score)

    @property
    def sides(self) -> list[tuple[str, str]]:
        """The two conditions of each of the C pairs of conditions."""
        named = (name.split(BETWEEN) for name in self.conditions)
        return [(first, rest[0] if rest else "") for first, *rest in named]

    def names(self) -> list[str]:
        """The S stimuli or pairs in words."""
        return [
            f"{own} – {other}" if other else str(own)
            for own, other in zip(self.own, self.other, strict=True)
        ]

    def stimuli(self) -> list[str]:
        """Every stimulus that is rated or compared with, once."""
        return list(dict.fromkeys([*self.own, *(name for name in self.other if name)]))

    def only(self, selected: NDArray[np.bool_]) -> Units:
        """Return the ``selected`` (S,) stimuli or pairs, with their conditions and raters."""
        rated = selected[self.unit]
        conditions, code = np.unique(self.condition[selected], return_inverse=True)
        items, item = np.unique(self.item[selected], return_inverse=True)
        raters, rater = np.unique(self.rater[rated], return_inverse=True)
        place = np.cumsum(selected) - 1
        return replace(
            self,
            **{
                name: getattr(self, name)[selected] for name in ("own", "other", "human", "ratings")
            },
            condition=code.astype(np.int64),
            conditions=tuple(self.conditions[c] for c in conditions),
            item=item.astype(np.int64),
            total=self.total[selected][:, raters],
            count=self.count[selected][:, raters],
            n_items=len(items),
            unit=place[self.unit[rated]].astype(np.int64),
            rater=rater.astype(np.int64),
            score=self.score[rated],
        )

    def values(self, by_stimulus: pd.Series) -> Floats:
        """A metric's values (S,), by its values of the stimuli; NaN where there is none.

        Of pairs it is the difference of both, of ABX the size of the difference.
        """
        own = by_stimulus.reindex(self.own).to_numpy(dtype=np.float64)
        if not self.compared:
            return own
        apart = own - by_stimulus.reindex(self.other).to_numpy(dtype=np.float64)
        both = np.where(self.other != "", apart, own)
        unsigned = estimand_of(self.estimand).discriminates
        return np.asarray(np.abs(both) if unsigned else both, dtype=np.float64)

    def intervals(self, level: float) -> list[tuple[float, float | None, float | None]]:
        """Mean score and two-way clustered interval of each of the C conditions."""
        condition, item = self.condition[self.unit], self.item[self.unit]
        n = len(self.conditions)
        low, high = float(self.score.min(initial=0.0)), float(self.score.max(initial=0.0))
        ends = estimand_of(self.estimand).scale_for(low, high) if len(self.score) else None
        means = clustered(self.score, condition, self.rater, item, n, ends=ends)
        ends_of_means = [bounds or (None, None) for bounds, _ in two_way_intervals(means, level)]
        return [
            (mean, *bounds)
            for mean, bounds in zip(means.value.tolist(), ends_of_means, strict=True)
        ]

    def half_widths(self, level: float) -> Floats:
        """Half of the t interval of each stimulus' mean (S,); NaN with fewer than two ratings."""
        n = self.ratings
        apart = self.score - self.human[self.unit]
        squares = np.bincount(self.unit, weights=apart**2, minlength=len(n))
        empty = np.full(len(n), np.nan)
        variance = np.divide(squares, n - 1, out=empty, where=n > 1)
        t = special.stdtrit(np.maximum(n - 1, 1), (1 + level) / 2)
        return np.asarray(t * np.sqrt(variance / n), dtype=np.float64)


def units_of(family: Family) -> Units:
    """The stimuli or pairs of one family of ratings; ratings that name no stimulus are left out."""
    named = (family.table["stimulus"] != "").to_numpy(dtype=bool)
    table = family.table[named]
    own, other = texts(table, "stimulus"), texts(table, "versus_stimulus")
    condition, versus = texts(table, "condition"), texts(table, "versus_condition")
    score = table["score"].to_numpy(dtype=np.float64)
    compared = family.in_pairs
    if compared:
        turned = turned_pairs(condition, versus, own, other)
        own, other = np.where(turned, other, own), np.where(turned, own, other)
        condition, versus = (
            np.where(turned, versus, condition),
            np.where(turned, condition, versus),
        )
        score = np.where(turned, estimand_of(family.estimand).mirrored(score), score)
        condition = np.where(versus != "", condition + BETWEEN + versus, condition)
    else:
        other = np.full(len(own), "", dtype=object)
    joined = own + "\x1f" + other
    _, first, unit = np.unique(joined.astype(str), return_index=True, return_inverse=True)
    conditions, code = np.unique(condition[first].astype(str), return_inverse=True)
    n, rater = len(first), np.unique(family.rater[named], return_inverse=True)[1]
    item = np.unique(family.item[named], return_inverse=True)[1]
    shape = (n, int(rater.max(initial=-1)) + 1)
    total = sparse.csr_array((score, (unit, rater)), shape=shape)
    count = sparse.csr_array((np.ones(len(score)), (unit, rater)), shape=shape)
    ratings = np.bincount(unit, minlength=n)
    return Units(
        estimand=family.estimand,
        own=own[first],
        other=other[first],
        condition=code.astype(np.int64),
        conditions=tuple(str(name) for name in conditions),
        item=item[first].astype(np.int64),
        human=np.bincount(unit, weights=score, minlength=n) / np.maximum(ratings, 1),
        ratings=ratings.astype(np.int64),
        total=total,
        count=count,
        n_items=int(item.max(initial=-1)) + 1,
        compared=compared,
        unit=unit.astype(np.int64),
        rater=rater.astype(np.int64),
        score=score,
    )


def turned_pairs(condition: Words, versus: Words, own: Words, other: Words) -> NDArray[np.bool_]:
    """Which ratings (n,) are turned round, so that a pair is one unit whoever is named first.

    Where all are compared with one condition, it stays on the other side. Else names decide, of
    conditions or, within one, of stimuli; nothing that is computed depends on it.
    """
    if len(set(versus)) == 1 and not (condition == versus).any():
        return np.zeros(len(own), dtype=np.bool_)
    by_stimulus = (condition == versus) & (other < own)
    return np.asarray((versus < condition) & (versus != "") | by_stimulus, dtype=np.bool_)
