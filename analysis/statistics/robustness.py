"""Whether what a report claims stands under other rules, without one rater or item, otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse, stats

from analysis.arrays import Codes, Floats, distinct_codes
from analysis.ratings.breakdowns import Cell
from analysis.ratings.estimands import family_title
from analysis.ratings.grouping import Breakdown
from analysis.ratings.large_tables import LARGE
from analysis.statistics.agreement.rater_bias import subject_model
from analysis.statistics.clustered_variance import limits_of
from analysis.statistics.comparisons.pairwise_contrasts import declared_families, pair_contrasts
from analysis.statistics.comparisons.simultaneous import Decision, decide_pairs
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.intervals import Clustered, clustered, rater_weights
from analysis.statistics.rater_models import dawid_skene, severity
from analysis.statistics.sensitivity import Scheme

if TYPE_CHECKING:
    import pandas as pd


Names = tuple[str, str]


class Outcome(StrEnum):
    """What becomes of a claimed difference in another analysis."""

    STANDS = "stands"  # claimed again, in the same direction
    OPEN = "not claimed"  # the same direction, but no longer claimed
    TURNED = "turned"  # the other direction
    GONE = "not compared"  # one of the two has too little left


@dataclass(frozen=True)
class Claim:
    """A difference that the report claims: ``condition`` minus ``versus``, for the whole family."""

    condition: str
    versus: str
    value: float
    low: float
    high: float

    @property
    def names(self) -> Names:
        return self.condition, self.versus


@dataclass(frozen=True)
class VariantDifference:
    """A difference in one analysis: None for bounds that were not computed; what was claimed."""

    value: float
    low: float | None
    high: float | None
    claimed: bool


@dataclass(frozen=True)
class Variant:
    """One other analysis: its kind, its name, and the differences in it by both names.

    ``same_scale``: they are on the scale of the scores, so that their sizes compare.
    """

    kind: str
    name: str
    differences: Mapping[Names, VariantDifference]
    same_scale: bool = True


@dataclass(frozen=True)
class Comparison:
    """The conditions of one family that are compared, and the differences it decides.

    ``families`` are the declared ones, each as pairs of codes; ``alphas`` the p of a difference
    alone at which its family's adjusted p is 1 - level. ``decisions`` by both names.
    """

    cell: Cell
    families: Sequence[Sequence[tuple[int, int]]]
    alphas: Sequence[float]
    decisions: Mapping[Names, Decision]
    level: float

    @property
    def claims(self) -> list[Claim]:
        """What is claimed, the higher condition first."""
        claimed = []
        for (a, b), one in self.decisions.items():
            if one.low is None or one.high is None or not one.claimed:
                continue
            if one.value >= 0:
                claimed.append(Claim(a, b, one.value, one.low, one.high))
            else:
                claimed.append(Claim(b, a, 0.0 - one.value, 0.0 - one.high, 0.0 - one.low))
        return claimed

    def decided(self, kind: str, name: str, means: Clustered) -> Variant:
        """Another analysis of the same conditions, by the report's whole procedure."""
        differences = {}
        for pairs in self.families:
            for one in decide_pairs(pairs, self.cell.names, means, level=self.level):
                differences[one.condition, one.versus] = VariantDifference(
                    one.value, one.low, one.high, one.claimed
                )
        return Variant(kind, name, differences)

    def nearby(self, kind: str, name: str, means: Clustered) -> Variant:
        """An analysis of nearly the same ratings: the adjustment is that of the report itself.

        The joint distribution of the tests hardly moves when one rater or item goes, and costs
        most of the time; the differences, their variances and degrees of freedom are made anew.
        """
        differences: dict[Names, VariantDifference] = {}
        names = self.cell.names
        enough = np.minimum.reduce([means.n_ratings, means.n_raters, means.n_items]) >= 2
        for pairs, alpha in zip(self.families, self.alphas, strict=True):
            testable = [pair for pair in pairs if enough[pair[0]] and enough[pair[1]]]
            limits = limits_of(pair_contrasts(testable, len(names)), means)
            low, high = limits.bounds(alpha)
            for (a, b), value, *ends in zip(
                testable, limits.value.tolist(), low.tolist(), high.tolist(), strict=True
            ):
                known = ends[0] == ends[0]  # no NaN
                claimed = known and (ends[0] > 0 or ends[1] < 0)
                least, most = ends if known else (None, None)
                differences[names[a], names[b]] = VariantDifference(value, least, most, claimed)
        return Variant(kind, name, differences)


def comparison_of(cell: Cell, reference: str, level: float) -> Comparison:
    """The declared families of a cell, decided as a report decides them."""
    named, anchors = cell.roles_of(reference)
    codes = cell.condition, cell.rater, cell.item
    means = clustered(cell.y, *codes, len(cell.names), ends=cell.ends)
    families, alphas = [], []
    decisions: dict[Names, Decision] = {}
    for pairs in declared_families(cell.names, named, anchors).values():
        decided = decide_pairs(pairs, cell.names, means, level=level)
        families.append(pairs)
        alphas.append(_local_alpha(decided, level))
        decisions |= {(one.condition, one.versus): one for one in decided}
    return Comparison(cell, families, alphas, decisions, level)


def outcome(claim: Claim, variant: Variant) -> tuple[Outcome, VariantDifference | None]:
    """What becomes of a claim, and its difference there, seen from the claim's first condition."""
    difference = variant.differences.get(claim.names)
    if difference is None:
        other = variant.differences.get((claim.versus, claim.condition))
        difference = None if other is None else _turn_difference(other)
    if difference is None:
        return Outcome.GONE, None
    if difference.value <= 0:
        return Outcome.TURNED, difference
    return (Outcome.STANDS if difference.claimed else Outcome.OPEN), difference


def _turn_difference(difference: VariantDifference) -> VariantDifference:
    low, high = (None if end is None else 0.0 - end for end in (difference.high, difference.low))
    return VariantDifference(0.0 - difference.value, low, high, difference.claimed)


def _local_alpha(decided: Sequence[Decision], level: float) -> float:
    """The p alone that a simultaneous interval of the family stands for."""
    return next((one.alpha for one in decided if one.alpha is not None), 1 - level)


@dataclass(frozen=True)
class _Sums:
    """Cross products (C, C) over groups: sums by sums, sums by counts, counts, and presence."""

    ss: Floats
    sn: Floats
    nn: Floats
    met: Floats

    @classmethod
    def from_dense(cls, s: Floats, n: Floats) -> _Sums:
        """Of dense sums and counts (G, C)."""
        there = (n > 0).astype(np.float64)
        return cls(s.T @ s, s.T @ n, n.T @ n, there.T @ there)

    def less(self, other: _Sums) -> _Sums:
        return _Sums(
            self.ss - other.ss, self.sn - other.sn, self.nn - other.nn, self.met - other.met
        )

    def plus(self, other: _Sums) -> _Sums:
        return _Sums(
            self.ss + other.ss, self.sn + other.sn, self.nn + other.nn, self.met + other.met
        )

    def around(self, mean: Floats, count: Floats) -> Floats:
        """Cross products (C, C) of the groups' contributions to the means."""
        shifted = self.ss - self.sn * mean - (self.sn * mean).T + self.nn * np.outer(mean, mean)
        weight = np.divide(1.0, count, out=np.zeros_like(count), where=count > 0)
        return np.asarray(shifted * np.outer(weight, weight), dtype=np.float64)

    def loads(self, count: Floats) -> Floats:
        """Cross products (C, C) of the groups' weights in the means."""
        weight = np.divide(1.0, count, out=np.zeros_like(count), where=count > 0)
        return np.asarray(self.nn * np.outer(weight, weight), dtype=np.float64)


def without_each(
    y: Floats,
    condition: Codes,
    rater: Codes,
    item: Codes,
    n_conditions: int,
    chosen: Iterable[int] | None = None,
    ends: tuple[float, float] | None = None,
) -> Iterator[tuple[int, Clustered]]:
    """The code of each rater (or of those chosen), and the means without that rater's ratings.

    As `intervals.clustered` of the rest; a condition of which nothing is left has 0 ratings and
    NaN for a mean. For items give ``item`` as ``rater`` and turn the result by `sides_turned`.
    """
    counts = np.bincount(condition, minlength=n_conditions).astype(np.float64)
    sums = np.bincount(condition, weights=y, minlength=n_conditions)
    origin = np.divide(sums, counts, out=np.zeros(n_conditions), where=counts > 0)
    centred = y - origin[condition]
    by_rater = _dense(centred, condition, rater, n_conditions)
    by_item = _dense(centred, condition, item, n_conditions)
    both, owner, of_item = _both(rater, item)
    s_both, n_both = _sparse(centred, condition, both, n_conditions)
    all_raters, all_items = _Sums.from_dense(*by_rater), _Sums.from_dense(*by_item)
    there = n_both.sign()
    products = (s_both, s_both), (s_both, n_both), (n_both, n_both), (there, there)
    all_both = _Sums(*(np.asarray((a.T @ b).toarray(), np.float64) for a, b in products))
    total = by_rater[0].sum(axis=0)
    squares = _dense(centred**2, condition, rater, n_conditions)[0]
    every_square, groups = squares.sum(axis=0), (len(by_rater[0]), int(item.max(initial=-1)) + 1)
    starts = np.searchsorted(owner, np.arange(len(by_rater[0]) + 1))
    for code in range(len(by_rater[0])) if chosen is None else chosen:
        own = slice(starts[code], starts[code + 1])
        s, n = s_both[own].toarray(), n_both[own].toarray()
        item_codes = of_item[own]
        old = by_item[0][item_codes], by_item[1][item_codes]
        raters = all_raters.less(_Sums.from_dense(*(each[code : code + 1] for each in by_rater)))
        items = all_items.less(_Sums.from_dense(*old)).plus(
            _Sums.from_dense(old[0] - s, old[1] - n)
        )
        pairs = all_both.less(_Sums.from_dense(s, n))
        left = np.rint(counts - by_rater[1][code])
        mean = np.full(n_conditions, np.nan)
        np.divide(total - by_rater[0][code], left, out=mean, where=left > 0)
        items_lost = int(((old[1] - n).sum(axis=1) < 0.5).sum())
        within = np.divide(
            every_square - squares[code], left, out=np.zeros(n_conditions), where=left > 0
        )
        yield (
            code,
            Clustered(
                value=origin + mean,
                **_forms(mean, left, raters, items, pairs),
                squared_weights=np.divide(1.0, left, out=np.zeros_like(left), where=left > 0),
                within=np.maximum(within - np.nan_to_num(mean) ** 2, 0.0),
                n_ratings=left.astype(np.int64),
                groups=(groups[0] - 1, groups[1] - items_lost),
                ends=ends,
            ),
        )


def sides_turned(means: Clustered) -> Clustered:
    """The same with raters and items in each other's place."""
    return replace(
        means,
        by_rater=means.by_item,
        by_item=means.by_rater,
        n_raters=means.n_items,
        n_items=means.n_raters,
        shared_raters=means.shared_items,
        shared_items=means.shared_raters,
        of_raters=means.of_items,
        of_items=means.of_raters,
        groups=(means.groups[1], means.groups[0]),
    )


def _forms(mean: Floats, left: Floats, raters: _Sums, items: _Sums, pairs: _Sums) -> dict[str, Any]:
    known = np.nan_to_num(mean)
    met = [np.rint(each.met).astype(np.int64) for each in (raters, items)]
    return {
        "by_rater": raters.around(known, left),
        "by_item": items.around(known, left),
        "by_both": pairs.around(known, left),
        "of_raters": raters.loads(left),
        "of_items": items.loads(left),
        "of_both": pairs.loads(left),
        "n_raters": np.diag(met[0]).copy(),
        "n_items": np.diag(met[1]).copy(),
        "shared_raters": met[0],
        "shared_items": met[1],
    }


def _both(rater: Codes, item: Codes) -> tuple[Codes, Codes, Codes]:
    """Codes (n,) of rater-and-item groups in the order of raters; of each its rater and item."""
    width = int(item.max(initial=0)) + 1
    joint, both = np.unique(rater * width + item, return_inverse=True)
    return both.astype(np.int64), joint // width, joint % width


def _dense(y: Floats, condition: Codes, group: Codes, n_conditions: int) -> tuple[Floats, Floats]:
    s, n = _sparse(y, condition, group, n_conditions)
    return s.toarray(), n.toarray()


def _sparse(
    y: Floats, condition: Codes, group: Codes, n_conditions: int
) -> tuple[sparse.csr_array, sparse.csr_array]:
    shape = (int(group.max(initial=-1)) + 1, n_conditions)
    s = sparse.csr_array((y, (group, condition)), shape=shape)
    n = sparse.csr_array((np.ones(len(y)), (group, condition)), shape=shape)
    return s, n


GroupSums = tuple[Floats, Floats]  # sums and counts (C, G) of the ratings of each group


def group_sums(y: Floats, condition: Codes, group: Codes) -> GroupSums:
    """The sums and counts of scores by condition and group, of codes (n,)."""
    shape = int(condition.max(initial=-1)) + 1, int(group.max(initial=-1)) + 1
    cell = condition * shape[1] + group
    size = shape[0] * shape[1]
    sums = np.bincount(cell, y, minlength=size).astype(np.float64)
    counts = np.bincount(cell, minlength=size).astype(np.float64)
    return sums.reshape(shape), counts.reshape(shape)


def fewest_to_turn(sums: GroupSums, pair: tuple[int, int]) -> tuple[int | None, int]:
    """So many raters (or items) without whom mean a - mean b of a pair has the other sign.

    ``sums`` are `group_sums` by rater, or by item. Those who pull the difference most in its
    direction go first, by their first-order influence; the difference is computed exactly after
    each (Broderick, Giordano and Meager 2020: the maximum influence perturbation). Another choice
    of raters might need fewer, so the number is an upper bound. None where it never turns while
    both conditions have ratings; and how many there are.
    """
    s, n = (each[list(pair)] for each in sums)
    there = int(((n > 0).any(axis=0)).sum())
    count, total = n.sum(axis=1), s.sum(axis=1)
    if not count.all():
        return None, there
    mean = total / count
    sign = np.sign(mean[0] - mean[1])
    if sign == 0:
        return 0, there
    pull = ((s - n * mean[:, None]) / count[:, None]) * np.array([[1.0], [-1.0]])
    order = np.argsort(-sign * pull.sum(axis=0), kind="stable")
    left = count[:, None] - np.cumsum(n[:, order], axis=1)
    rest = total[:, None] - np.cumsum(s[:, order], axis=1)
    means = np.divide(rest, left, out=np.full_like(rest, np.nan), where=left > 0.5)
    turned = np.flatnonzero(sign * (means[0] - means[1]) < -1e-12)
    return (int(turned[0]) + 1 if len(turned) else None), there


MOST_FOR_P910 = 200_000  # ratings; above, the subject model takes too long
LEAST_STEPS = 5  # different scores; with fewer, who always says the same would weigh most
ROUNDS = 300  # of the subject model
LEAST_WEIGHT = 1e-3
FEW_SWEEPS = 450  # of the Bayesian model: weights need no more
PSEUDO = 0.5  # of confusion matrices, for raters with few labels
EVERY_RATER = "every rater weighs the same"
RANKS = "ranks in place of scores"
OWN_SCALE = "each rater's scores as z of their own"
SEVERITY = "rater severity taken out, steadier raters weigh more (Bayesian)"
DAWID_SKENE = "raters weigh by informedness (Dawid and Skene)"
MOST_FOR_GIBBS, MOST_LABELS = 50_000, 7
LEAST_COMPETENCE = 0.05
P910 = "rater bias taken out, steadier raters weigh more (P.910)"


@dataclass(frozen=True)
class Way:
    """One way: its name, its means, and whether they are on the scale of the scores."""

    name: str
    means: Clustered
    same_scale: bool


def ways_of(cell: Cell, models: bool = False) -> Iterator[Way]:
    """All ways that these ratings allow; each keeps raters and items as clusters.

    ``models``: also those that take seconds.
    """
    n = len(cell.names)
    codes = cell.condition, cell.rater, cell.item, n
    weights = rater_weights(cell.condition, cell.rater, n)
    yield Way(EVERY_RATER, clustered(cell.y, *codes, weights, cell.ends), True)
    steps = len(np.unique(cell.y))
    if len(cell.y) <= MOST_FOR_P910 and steps >= LEAST_STEPS:
        y, weights = _p910(cell)
        yield Way(P910, clustered(y, *codes, weights), True)
    if models and len(cell.y) <= MOST_FOR_GIBBS and steps >= LEAST_STEPS:
        y, weights = _severity(cell)
        yield Way(SEVERITY, clustered(y, *codes, weights), True)
    labels = sorted(set(cell.labels))
    if steps < LEAST_STEPS and 2 <= len(labels) <= MOST_LABELS:
        for name, weight in _of_labels(cell, labels):
            shares = weighted_within(weight[cell.rater], cell.condition, n)
            yield Way(name, clustered(cell.y, *codes, shares, cell.ends), True)
    if steps > 2:
        ranks = np.asarray(stats.rankdata(cell.y), dtype=np.float64)
        yield Way(RANKS, clustered(ranks, *codes), False)
    yield Way(OWN_SCALE, clustered(_own_scale(cell.y, cell.rater), *codes), False)


def weighted_within(weight: Floats, condition: Codes, n_conditions: int) -> Floats:
    """Weights (n,) that sum to 1 within each condition."""
    total = np.bincount(condition, weights=weight, minlength=n_conditions)
    return np.asarray(weight / total[condition], dtype=np.float64)


def _own_scale(y: Floats, rater: Codes) -> Floats:
    """z within each rater (n,); 0 of who always gave the same."""
    n = np.maximum(np.bincount(rater), 1)
    mean = np.bincount(rater, weights=y) / n
    around = y - mean[rater]
    sd = np.sqrt(np.bincount(rater, weights=around**2) / n)[rater]
    return np.divide(around, sd, out=np.zeros_like(around), where=sd > 1e-12)


def unit_of(cell: Cell) -> Codes:
    """Codes (n,) of what was rated: a condition's clip of an item."""
    width = int(cell.item.max(initial=0)) + 1
    return distinct_codes(cell.condition * width + cell.item)[1]


def _severity(cell: Cell) -> tuple[Floats, Floats]:
    model = severity(unit_of(cell), cell.rater, cell.y, sweeps=FEW_SWEEPS)
    weights = weighted_within(model.weight[cell.rater], cell.condition, len(cell.names))
    return cell.y - model.bias[cell.rater], weights


def _of_labels(cell: Cell, labels: list[str]) -> Iterator[tuple[str, Floats]]:
    """What each rater (R,) weighs by the models of labels."""
    place = {label: code for code, label in enumerate(labels)}
    label_codes = np.array([place[label] for label in cell.labels], dtype=np.int64)
    unit, k = unit_of(cell), len(labels)
    weight = dawid_skene(unit, cell.rater, label_codes, k, pseudo=PSEUDO).informedness
    yield DAWID_SKENE, np.maximum(weight, LEAST_COMPETENCE)


def _p910(cell: Cell) -> tuple[Floats, Floats]:
    """Scores less their rater's bias, and weights by 1 / inconsistency^2, of the subject model."""
    width = int(cell.item.max(initial=0)) + 1
    unit = np.char.mod("%d", cell.condition * width + cell.item)
    rater = np.char.mod("%d", cell.rater)
    model = subject_model(unit, rater, cell.y, unbiased=True, rounds=ROUNDS)
    known = {int(each.rater): each for each in model.raters}
    raters = int(cell.rater.max(initial=-1)) + 1
    bias, weight = np.zeros(raters), np.ones(raters)
    for code, each in known.items():
        bias[code] = each.bias or 0.0
        weight[code] = max(each.weight or 1.0, LEAST_WEIGHT)
    weights = weighted_within(weight[cell.rater], cell.condition, len(cell.names))
    return cell.y - bias[cell.rater], weights


RULES, MORE = "Other rules", "One more rule"
RATER, ITEM, WAYS = "Without one rater", "Without one item", "Other analyses"
KINDS = (RULES, MORE, RATER, ITEM, WAYS)
MOST_LEFT_OUT = 1000  # raters, and items, that are left out one by one

Told = Callable[[float], None]


def under_rules(
    tables: Iterable[tuple[Scheme, pd.DataFrame]], kind: str, reference: str, level: float
) -> dict[str, list[Variant]]:
    """By the title of its family: the comparison of the ratings that each scheme keeps."""
    estimator = MeanScore(
        Breakdown(), intervals=("two_way",), weightings=("ratings",), reference=reference
    )
    variants: dict[str, list[Variant]] = {}
    for (name, _), table in tables:
        by_title: dict[str, dict[Names, VariantDifference]] = {}
        for one in estimator.contrasts(table, level=level):
            if one.interval.startswith("naive"):
                continue
            title = family_title({"estimand": one.estimand, **one.group})
            differences = by_title.setdefault(title, {})
            differences[one.condition, one.versus] = VariantDifference(
                one.value, one.low_all, one.high_all, bool(one.claimed)
            )
        for title, differences in by_title.items():
            variants.setdefault(title, []).append(Variant(kind, name, differences))
    return variants


def left_out(
    comparison: Comparison, names: Mapping[str, list[str]], seed: int, tell: Told
) -> Iterator[Variant]:
    """The comparison without each rater, then without each item (of many, some drawn by seed).

    ``names`` are those of the codes of ``rater`` and ``item``. Of more than `LARGE` ratings nothing
    is left out.
    """
    cell = comparison.cell
    if len(cell.y) > LARGE:
        return  # none of so many raters moves a mean
    sides = (RATER, "rater", cell.rater, cell.item), (ITEM, "item", cell.item, cell.rater)
    for half, (kind, column, own, other) in enumerate(sides):
        chosen = chosen_codes(own, seed)
        without = without_each(
            cell.y, cell.condition, own, other, len(cell.names), chosen, cell.ends
        )
        for done, (code, means) in enumerate(without):
            if done % 50 == 0:
                tell((half + done / len(chosen)) / 2)
            turned = means if kind == RATER else sides_turned(means)
            yield comparison.nearby(kind, names[column][code], turned)


def chosen_codes(codes: Codes, seed: int) -> list[int]:
    """Those that are left out one by one: all there are, or so many of them drawn."""
    there = np.unique(codes)
    if len(there) > MOST_LEFT_OUT:
        there = np.sort(np.random.default_rng(seed).choice(there, MOST_LEFT_OUT, replace=False))
    return [int(code) for code in there]


def in_other_ways(comparison: Comparison, models: bool = False) -> Iterator[Variant]:
    """The comparison in each other way that the ratings allow; see `ways_of`."""
    for way in ways_of(comparison.cell, models):
        variant = comparison.decided(WAYS, way.name, way.means)
        yield variant if way.same_scale else Variant(WAYS, way.name, variant.differences, False)


def of_intervals(rows: Iterable[Mapping[str, Any]], title: str) -> Iterator[Variant]:
    """What the report's other intervals of the same differences say, each for itself alone."""
    by_interval: dict[str, dict[Names, VariantDifference]] = {}
    for row in rows:
        other = not row["interval"].startswith(("naive", "two-way"))
        overall = row["breakdown"] == str(Breakdown()) and row["weighting"] == "ratings"
        if other and overall and family_title(row) == title and row["low"] is not None:
            away = row["low"] > 0 or row["high"] < 0
            one = VariantDifference(row["value"], row["low"], row["high"], away)
            by_interval.setdefault(row["interval"], {})[row["condition"], row["versus"]] = one
    for name, differences in by_interval.items():
        yield Variant(WAYS, f"{name.partition(',')[0]}, each difference alone", differences)
