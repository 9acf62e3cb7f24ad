"""Hypotheses that are tested: better, non-inferior and equivalent, for new items and these alone.

Non-inferiority and equivalence are decided against a margin that is declared with them: the lower
bound of the interval lies above minus the margin, or the whole interval lies within it, which is
two one-sided tests (Schuirmann 1987).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from analysis.arrays import Floats
from analysis.ratings.breakdowns import Family, cells, families
from analysis.ratings.estimands import estimand_of
from analysis.ratings.grouping import Breakdown
from analysis.statistics.clustered_variance import limits_of, too_few
from analysis.statistics.comparisons.hypothesis_sentences import EQUIVALENT, Hypothesis
from analysis.statistics.comparisons.p_adjustment import sidak, sidak_level
from analysis.statistics.intervals import Clustered, clustered, for_these_items

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Verdict:
    """The difference with its interval and one-sided p (None: no test), and whether it is shown.

    Interval and p hold for all hypotheses at once.
    """

    low: float | None = None
    high: float | None = None
    p: float | None = None
    shown: bool | None = None


@dataclass(frozen=True)
class HypothesisTest:
    """A hypothesis in one task and criterion: ``condition`` minus ``versus`` in scores.

    ``level`` is that of the interval for this hypothesis alone. ``note`` says why there is no test.
    """

    hypothesis: Hypothesis
    title: str
    value: float | None
    level: float
    new_items: Verdict
    these_items: Verdict
    note: str = ""
    decimals: int = 3  # of scores of this kind

    @property
    def main(self) -> Verdict:
        """The verdict that the hypothesis asks for."""
        return self.these_items if self.hypothesis.these_items else self.new_items


def decide_hypotheses(
    ratings: pd.DataFrame, hypotheses: Sequence[Hypothesis], level: float = 0.95
) -> list[HypothesisTest]:
    """Every hypothesis in every task and criterion that has both conditions, all at once.

    By Šidák (1967). Better and non-inferior: one-sided at (1 - level) / 2, the interval of level.
    Equivalent: two one-sided tests at 1 - level, the interval of 2 level - 1. The variance is that
    of all differences (`clustered_variance`); for these items it is clustered by raters alone.
    """
    places = [(each, place) for each in hypotheses for place in _places(ratings, each)]
    m = max(1, len(places))
    results = []
    for each in hypotheses:
        mine = [place for owner, place in places if owner is each]
        results += [_test_hypothesis(each, *place, level, m) for place in mine] or [
            _absent(each, ratings, level)
        ]
    return results


Place = tuple[Family, Clustered, Floats]


def _places(ratings: pd.DataFrame, hypothesis: Hypothesis) -> Iterator[Place]:
    """The families that have both conditions, their means, and the contrast (C,) of the two."""
    pair = hypothesis.condition, hypothesis.versus
    for family in families(ratings):
        if hypothesis.task and hypothesis.task not in (family.group["task"], family.title):
            continue
        estimand = estimand_of(family.estimand)
        if family.in_pairs and estimand.prefers:
            yield from _of_pairs(family, pair)
        elif not family.in_pairs and not estimand.in_pairs:
            for cell in cells(family, Breakdown()):
                if set(pair) <= set(cell.names):
                    codes = cell.condition, cell.rater, cell.item
                    means = clustered(cell.y, *codes, len(cell.names), ends=cell.ends)
                    row = np.zeros(len(cell.names))
                    row[cell.names.index(pair[0])] = 1.0
                    row[cell.names.index(pair[1])] = -1.0
                    yield family, means, row


def _of_pairs(family: Family, pair: tuple[str, str]) -> Iterator[Place]:
    """Paired comparisons, seen from the first of the two; scores are around the neutral one."""
    estimand = estimand_of(family.estimand)
    sides = family.table[["condition", "versus_condition"]].to_numpy(dtype=str)
    met = np.sort(sides, axis=1)
    names, code = np.unique(met, axis=0, return_inverse=True)
    code = code.reshape(-1)
    wanted = np.flatnonzero((names == sorted(pair)).all(axis=1))
    if not len(wanted):
        return
    first = np.where(names[code, 0] == sides[:, 0], 1.0, -1.0)
    y = estimand.centred(family.table["score"].to_numpy(dtype=np.float64)) * first
    ends = None
    if family.ends:
        low, high = (float(estimand.centred(end)) for end in family.ends)
        ends = low, high
    means = clustered(y, code, family.rater, family.item, len(names), ends=ends)
    row = np.zeros(len(names))
    row[wanted[0]] = 1.0 if names[wanted[0], 0] == pair[0] else -1.0
    yield family, means, row


def _test_hypothesis(
    hypothesis: Hypothesis, family: Family, means: Clustered, row: Floats, level: float, m: int
) -> HypothesisTest:
    new, these = (
        _verdict(hypothesis, each, row, estimand_of(family.estimand).lowest_is_best, level, m)
        for each in (means, for_these_items(means))
    )
    notes = [too_few(means, int(code)) for code in np.flatnonzero(row)]
    return HypothesisTest(
        hypothesis,
        family.title,
        float(row @ np.nan_to_num(means.value)),
        _two_sided(hypothesis, level),
        new,
        these,
        "" if new.p is not None else next(filter(None, notes), "the ratings do not vary"),
        estimand_of(family.estimand).decimals,
    )


def _verdict(
    hypothesis: Hypothesis, means: Clustered, row: Floats, low_is_best: bool, level: float, m: int
) -> Verdict:
    if any(too_few(means, int(code)) for code in np.flatnonzero(row)):
        return Verdict()
    limits = limits_of(row[None], means)
    if not limits.known[0]:
        return Verdict()
    alpha = 1 - _two_sided(hypothesis, sidak_level(level, m))
    low, high = (float(end[0]) for end in limits.bounds(alpha))
    sign, margin = -1.0 if low_is_best else 1.0, hypothesis.margin
    value = sign * float(limits.value[0])
    worst, best = (-high, -low) if low_is_best else (low, high)
    above = _one_sided(limits.p_against(-sign * margin)[0], value, -margin)
    if hypothesis.kind != EQUIVALENT:
        return Verdict(low, high, sidak(2 * min(above, 0.5), m) / 2, worst > -margin)
    below = _one_sided(limits.p_against(sign * margin)[0], -value, -margin)
    return Verdict(low, high, sidak(max(above, below), m), worst > -margin and best < margin)


def _one_sided(p: float, value: float, null: float) -> float:
    """The p of a value above ``null``, from the two-sided one."""
    return float(p / 2 if value > null else 1 - p / 2)


def _two_sided(hypothesis: Hypothesis, level: float) -> float:
    """The level of the interval that decides."""
    return 2 * level - 1 if hypothesis.kind == EQUIVALENT else level


def _absent(hypothesis: Hypothesis, ratings: pd.DataFrame, level: float) -> HypothesisTest:
    rated = set(ratings["condition"].astype(str)) | set(ratings["versus_condition"].astype(str))
    missing = [n for n in (hypothesis.condition, hypothesis.versus) if n not in rated]
    where = f" in {hypothesis.task}" if hypothesis.task else ""
    what = " and ".join(missing)
    note = f"no ratings of {what}" if missing else f"no task{where} has ratings of both"
    none = Verdict()
    return HypothesisTest(hypothesis, hypothesis.task, None, level, none, none, note)


def name_conditions(
    hypothesis: Hypothesis, names: Iterable[str], labels: dict[str, str]
) -> Hypothesis:
    """The hypothesis with conditions by their names in the ratings, where it has their labels."""
    known = set(names)
    by_label = {label.casefold(): key for key, label in labels.items()}
    sides = (
        side if side in known else by_label.get(side.casefold(), side)
        for side in (hypothesis.condition, hypothesis.versus)
    )
    condition, versus = sides
    return replace(hypothesis, condition=condition, versus=versus)
