"""The mean of the scores: MOS, CMOS, HLS, DMOS …, with two-way clustered and naive intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd

from analysis.arrays import Codes, Floats, distinct_codes
from analysis.ratings.breakdowns import (
    Cell,
    Family,
    cells,
    coded_column,
    families,
    labelled_families,
    labels_in_order,
)
from analysis.ratings.grouping import Breakdown
from analysis.statistics.clustered_variance import (
    ALL_EQUAL,
    Bounds,
    too_few,
    two_way_intervals,
)
from analysis.statistics.comparisons.pairwise_contrasts import declared_families
from analysis.statistics.comparisons.simultaneous import Decision, decide_pairs
from analysis.statistics.estimator import Contrast, Estimate, Estimator
from analysis.statistics.intervals import (
    BOOTSTRAP,
    MOST_DRAWN,
    NAIVE,
    NAIVE_RATERS,
    NAIVE_WELCH,
    NAIVE_WELCH_RATERS,
    THESE_ITEMS,
    TWO_WAY,
    Clustered,
    PigeonholeWeights,
    clustered,
    for_these_items,
    has_no_width,
    naive_interval,
    percentile_interval,
    rater_weights,
    rating_weights,
    t_interval,
    t_test,
    welch_interval,
)
from analysis.statistics.mixed.linear_model import MIXED, ComponentVariance
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.options import INTERVALS, REPLICATES, USUAL_INTERVALS

WEIGHTINGS = ("ratings", "raters")


class MeanScore(Estimator):
    """MOS, CMOS, HLS per condition: the mean score, and the mean over raters of their means."""

    key = "mean_score"
    version = "1"

    def __init__(
        self,
        breakdown: Breakdown | None = None,
        intervals: Sequence[str] = USUAL_INTERVALS,
        weightings: Sequence[str] = WEIGHTINGS,
        replicates: int = REPLICATES,
        reference: str = "",
    ) -> None:
        self.breakdown = breakdown or Breakdown()
        self.reference = reference
        self.intervals = tuple(name for name in INTERVALS if name in intervals)
        self.weightings = tuple(name for name in WEIGHTINGS if name in weightings)
        self.replicates = replicates
        if set(intervals) - set(INTERVALS) or not self.intervals:
            raise ValueError(f"intervals are {' and '.join(INTERVALS)}, not {list(intervals)}")
        if set(weightings) - set(WEIGHTINGS) or not self.weightings:
            raise ValueError(f"weightings are {' and '.join(WEIGHTINGS)}, not {list(weightings)}")

    @classmethod
    def for_breakdown(
        cls,
        breakdown: Breakdown,
        *,
        intervals: Sequence[str],
        weightings: Sequence[str],
        replicates: int,
        reference: str = "",
    ) -> MeanScore:
        return cls(breakdown, intervals, weightings, replicates, reference)

    def fit(self, ratings: pd.DataFrame, *, level: float = 0.95, seed: int = 0) -> list[Estimate]:
        """One estimate per group, weighting and interval; the naive interval is always there."""
        estimates: list[Estimate] = []
        for study in self._cells(ratings, seed):
            estimates += study.estimates(level)
            del study  # before the next one is made: each holds columns of all ratings
        return estimates

    def contrasts(
        self, ratings: pd.DataFrame, *, level: float = 0.95, seed: int = 0
    ) -> list[Contrast]:
        """All differences between conditions of one group, per weighting and interval."""
        contrasts: list[Contrast] = []
        for study in self._cells(ratings, seed):
            contrasts += study.contrasts(level)
            del study
        return contrasts

    def shares(self, ratings: pd.DataFrame, *, level: float = 0.95) -> list[Estimate]:
        """The share of each label per group (estimand ``share of LABEL``), by ratings.

        What counts as a label, where clips are compared or an answer holds several, is said in
        `analysis.ratings.breakdowns`.
        """
        shares: list[Estimate] = []
        for family in (*families(ratings), *labelled_families(ratings)):
            for cell in cells(family, self.breakdown):
                shares += _shares(family, cell, level)
        return shares

    def _cells(self, ratings: pd.DataFrame, seed: int) -> Iterator[_WeightedCell]:
        for family in families(ratings):
            draws = None
            quick = len(family.table) * self.replicates <= MOST_DRAWN
            if "bootstrap" in self.intervals and quick:
                draws = PigeonholeWeights(
                    family.n_raters, family.n_items, self.replicates, family.seed(seed)
                )
            pools = {}
            if family.in_pairs and not self.breakdown.by:
                pools = {weighting: _pool(family, weighting) for weighting in self.weightings}
            for cell in cells(family, self.breakdown):
                model = _MixedModel(cell) if "mixed" in self.intervals else None
                for weighting in self.weightings:
                    yield _WeightedCell(
                        family,
                        cell,
                        weighting,
                        self.intervals,
                        draws,
                        model,
                        self.reference,
                        pools.get(weighting),
                    )


TOO_MANY = "not drawn of so many ratings: the clustered interval is made of the same sums"


class _MixedModel:
    """The mixed model of a cell, or why there is none."""

    def __init__(self, cell: Cell) -> None:
        self.name, self.problem = MIXED, ""
        try:
            self._variance = ComponentVariance(cell.y, cell.condition, cell.rater, cell.item)
            self.name = self._variance.name
        except NotEstimable as error:
            self.problem = f"no mixed model: {error}"

    def bounds(
        self, value: float, weights: Floats, level: float
    ) -> tuple[Bounds, float | None, str]:
        """Interval, p against 0 and a note, of the mean or difference that has these weights."""
        if self.problem:
            return None, None, self.problem
        se, degrees = self._variance.se_and_degrees(weights)
        return t_interval(value, se, degrees, level), t_test(value, se, degrees), ""


class _WeightedCell:
    """One cell under one weighting: its means, and every interval that was asked for."""

    def __init__(
        self,
        family: Family,
        cell: Cell,
        weighting: str,
        intervals: Sequence[str],
        draws: PigeonholeWeights | None,
        model: _MixedModel | None = None,
        reference: str = "",
        pool: Clustered | None = None,
    ) -> None:
        self.model, self.reference = model, reference
        self.family, self.cell, self.weighting = family, cell, weighting
        self.intervals = intervals
        self.by_rater = weighting == "raters"
        n = len(cell.names)
        self.weights = weights = _weights(cell.condition, cell.rater, n, self.by_rater)
        codes = cell.condition, cell.rater, cell.item
        self.means = replace(clustered(cell.y, *codes, n, weights, cell.ends), pool=pool)
        self.units = [self._units(cell.condition == code) for code in range(n)]
        self.replicates: Sequence[Floats | None] = [
            draws.means(cell.y[rows], cell.rater[rows], cell.item[rows], self.by_rater)
            for rows in (cell.condition == code for code in range(n))
            if draws is not None
        ] or [None] * n

    def _units(self, rows: np.ndarray) -> Floats:
        """What the naive interval takes as independent: ratings, or rater means."""
        y: Floats = self.cell.y[rows]
        if not self.by_rater:
            return y
        _, rater = distinct_codes(self.cell.rater[rows])
        return np.asarray(np.bincount(rater, weights=y) / np.bincount(rater), dtype=np.float64)

    def estimates(self, level: float) -> Iterator[Estimate]:
        """Every condition with every interval."""
        two_way = two_way_intervals(self.means, level)
        these_items = two_way_intervals(for_these_items(self.means), level)
        for code in range(len(self.cell.names)):
            yield from self._estimates(code, level, two_way[code])
            if "these_items" in self.intervals:
                yield self._estimate(code, level, THESE_ITEMS, *these_items[code])

    def _estimates(
        self, code: int, level: float, two_way: tuple[Bounds, str]
    ) -> Iterator[Estimate]:
        if "two_way" in self.intervals:
            bounds, note = two_way
            yield self._estimate(code, level, TWO_WAY, bounds, note)
        if "bootstrap" in self.intervals:
            bounds, note = self._bootstrap(self.replicates[code], too_few(self.means, code), level)
            yield self._estimate(code, level, BOOTSTRAP, bounds, note)
        if self.model is not None:
            own = self.weights * (self.cell.condition == code)
            bounds, _, note = self.model.bounds(float(self.means.value[code]), own, level)
            yield self._estimate(code, level, self.model.name, bounds, note)
        units = self.units[code]
        bounds = naive_interval(units, level)
        unit = "rater" if self.by_rater else "rating"
        note = "" if bounds else f"one {unit} only: no interval"
        if bounds and has_no_width(float(np.var(units)), units):
            value = float(self.means.value[code])
            bounds, note = (value, value), ALL_EQUAL[self.by_rater]
        name = NAIVE_RATERS if self.by_rater else NAIVE
        yield self._estimate(code, level, name, bounds, note)

    def contrasts(self, level: float) -> list[Contrast]:
        pairs = list(combinations(range(len(self.cell.names)), 2))
        contrasts: list[Contrast] = []
        if "two_way" in self.intervals:
            contrasts += self._two_way_contrasts(pairs, level)
        if "bootstrap" in self.intervals:
            for a, b in pairs:
                few = too_few(self.means, a) or too_few(self.means, b)
                first, second = self.replicates[a], self.replicates[b]
                difference = None if first is None or second is None else first - second
                bounds, note = self._bootstrap(difference, few, level)
                contrasts.append(self._contrast((a, b), level, BOOTSTRAP, bounds, None, note))
        contrasts += self._mixed_contrasts(pairs, level) + self._naive_contrasts(pairs, level)
        if "these_items" not in self.intervals:
            return contrasts
        means, names = for_these_items(self.means), self.cell.names
        for pair in pairs:
            (one,) = decide_pairs([pair], names, means, level=level)
            contrasts.append(self._decided(pair, level, THESE_ITEMS, one))
        return contrasts

    def _mixed_contrasts(self, pairs: list[tuple[int, int]], level: float) -> list[Contrast]:
        if self.model is None:
            return []
        contrasts = []
        for a, b in pairs:
            sign = (self.cell.condition == a).astype(float) - (self.cell.condition == b)
            value = float(self.means.value[a] - self.means.value[b])
            bounds, p, note = self.model.bounds(value, self.weights * sign, level)
            contrasts.append(self._contrast((a, b), level, self.model.name, bounds, p, note))
        return contrasts

    def _two_way_contrasts(self, pairs: list[tuple[int, int]], level: float) -> list[Contrast]:
        """Each difference alone and in the family that it was declared to be of."""
        names, means = self.cell.names, self.means
        reference, anchors = self.cell.roles_of(self.reference)
        decisions: dict[tuple[int, int], tuple[str, Decision]] = {}
        for family, declared in declared_families(names, reference, anchors).items():
            decided = decide_pairs(declared, names, means, level=level)
            decisions |= {pair: (family, one) for pair, one in zip(declared, decided, strict=True)}
        contrasts = []
        for pair in pairs:
            family, one = decisions.get(pair, ("", None))
            one = one or decide_pairs([pair], names, means, level=level)[0]
            contrast = self._decided(pair, level, TWO_WAY, one)
            if family:
                contrast = replace(
                    contrast,
                    family=family,
                    low_all=one.low,
                    high_all=one.high,
                    p_adjusted=one.p,
                    claimed=one.claimed if one.tested else None,
                )
            contrasts.append(contrast)
        return contrasts

    def _naive_contrasts(self, pairs: list[tuple[int, int]], level: float) -> list[Contrast]:
        tested = [welch_interval(self.units[a], self.units[b], level) for a, b in pairs]
        name = NAIVE_WELCH_RATERS if self.by_rater else NAIVE_WELCH
        contrasts = []
        for pair, test in zip(pairs, tested, strict=True):
            note = "" if test else "fewer than two values on one side: no test"
            if test and test[2] is None:
                note = "the ratings of each side are all equal: a test is undefined"
            bounds, p = ((test[0], test[1]), test[2]) if test else (None, None)
            contrasts.append(self._contrast(pair, level, name, bounds, p, note))
        return contrasts

    def _bootstrap(self, replicates: Floats | None, few: str, level: float) -> tuple[Bounds, str]:
        if few or replicates is None:
            return None, few or TOO_MANY
        bounds = percentile_interval(replicates, level)
        if bounds is None:
            return None, "too few raters or items: many bootstrap replicates hold no rating"
        return bounds, ALL_EQUAL[False] if bounds[0] == bounds[1] else ""

    def _estimate(
        self, code: int, level: float, interval: str, bounds: Bounds, note: str
    ) -> Estimate:
        low, high = bounds or (None, None)
        return Estimate(
            estimand=self.family.estimand,
            condition=self.cell.names[code],
            value=float(self.means.value[code]),
            low=low,
            high=high,
            level=level,
            interval=interval,
            n_ratings=int(self.means.n_ratings[code]),
            n_raters=int(self.means.n_raters[code]),
            n_items=int(self.means.n_items[code]),
            group=self.cell.group,
            weighting=self.weighting,
            note=note,
        )

    def _decided(
        self, pair: tuple[int, int], level: float, interval: str, one: Decision
    ) -> Contrast:
        bounds = None
        if one.low_alone is not None and one.high_alone is not None:
            bounds = one.low_alone, one.high_alone
        return self._contrast(pair, level, interval, bounds, one.p_alone, one.note)

    def _contrast(
        self,
        pair: tuple[int, int],
        level: float,
        interval: str,
        bounds: Bounds,
        p: float | None,
        note: str,
    ) -> Contrast:
        a, b = pair
        means = self.means
        low, high = bounds or (None, None)
        return Contrast(
            estimand=self.family.estimand,
            condition=self.cell.names[a],
            versus=self.cell.names[b],
            value=float(means.value[a] - means.value[b]),
            low=low,
            high=high,
            level=level,
            interval=interval,
            p=p,
            n_ratings=int(means.n_ratings[a] + means.n_ratings[b]),
            n_raters=int(means.n_raters[a] + means.n_raters[b] - means.shared_raters[a, b]),
            n_items=int(means.n_items[a] + means.n_items[b] - means.shared_items[a, b]),
            group=self.cell.group,
            weighting=self.weighting,
            note=note,
        )


def _weights(condition: Codes, rater: Codes, n: int, by_rater: bool) -> Floats:
    return rater_weights(condition, rater, n) if by_rater else rating_weights(condition, n)


def _pool(family: Family, weighting: str) -> Clustered:
    """All pairs of conditions that were compared, whose variance components are taken together."""
    table = family.table
    pair, names = coded_column(
        table["condition"].astype(str) + "\x1f" + table["versus_condition"].astype(str)
    )
    weights = _weights(pair, family.rater, len(names), weighting == "raters")
    y = table["score"].to_numpy(dtype=np.float64)
    return clustered(y, pair, family.rater, family.item, len(names), weights, family.ends)


def _shares(family: Family, cell: Cell, level: float) -> Iterator[Estimate]:
    for label, held in labels_in_order(cell, family.estimand):
        y = np.asarray(held, dtype=np.float64)
        codes = cell.condition, cell.rater, cell.item
        means = clustered(y, *codes, len(cell.names), ends=(0.0, 1.0))
        two_way = two_way_intervals(means, level)
        for code, name in enumerate(cell.names):
            bounds, note = two_way[code]
            naive = naive_interval(y[cell.condition == code], level, (0.0, 1.0))
            naive_note = "" if naive else "one rating only: no interval"
            for interval, (low, high), why in (
                (TWO_WAY, bounds or (None, None), note),
                (NAIVE, naive or (None, None), naive_note),
            ):
                yield Estimate(
                    estimand=f"share of {label}" if label else "share of no label",
                    condition=name,
                    value=float(means.value[code]),
                    low=low,
                    high=high,
                    level=level,
                    interval=interval,
                    n_ratings=int(means.n_ratings[code]),
                    n_raters=int(means.n_raters[code]),
                    n_items=int(means.n_items[code]),
                    group=cell.group,
                    note=why,
                )
