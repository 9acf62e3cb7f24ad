"""The differences that a report claims, and what becomes of each in another analysis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from analysis.arrays import Floats
from analysis.ratings.breakdowns import Cell
from analysis.statistics.clustered_variance import limits_of
from analysis.statistics.comparisons.pairwise_contrasts import declared_families
from analysis.statistics.comparisons.simultaneous import Decision, decide_pairs
from analysis.statistics.intervals import Clustered, clustered

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
class Found:
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
    found: Mapping[Names, Found]
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
        found = []
        for (a, b), one in self.decisions.items():
            if one.low is None or one.high is None or not one.claimed:
                continue
            if one.value >= 0:
                found.append(Claim(a, b, one.value, one.low, one.high))
            else:
                found.append(Claim(b, a, 0.0 - one.value, 0.0 - one.high, 0.0 - one.low))
        return found

    def decided(self, kind: str, name: str, means: Clustered) -> Variant:
        """Another analysis of the same conditions, by the report's whole procedure."""
        found = {}
        for pairs in self.families:
            for one in decide_pairs(pairs, self.cell.names, means, level=self.level):
                found[one.condition, one.versus] = Found(one.value, one.low, one.high, one.claimed)
        return Variant(kind, name, found)

    def nearby(self, kind: str, name: str, means: Clustered) -> Variant:
        """An analysis of nearly the same ratings: the adjustment is that of the report itself.

        The joint distribution of the tests hardly moves when one rater or item goes, and costs
        most of the time; the differences, their variances and degrees of freedom are made anew.
        """
        found: dict[Names, Found] = {}
        names = self.cell.names
        enough = np.minimum.reduce([means.n_ratings, means.n_raters, means.n_items]) >= 2
        for pairs, alpha in zip(self.families, self.alphas, strict=True):
            kept = [pair for pair in pairs if enough[pair[0]] and enough[pair[1]]]
            limits = limits_of(_differences(kept, len(names)), means)
            low, high = limits.bounds(alpha)
            for (a, b), value, *ends in zip(
                kept, limits.value.tolist(), low.tolist(), high.tolist(), strict=True
            ):
                known = ends[0] == ends[0]  # no NaN
                claimed = known and (ends[0] > 0 or ends[1] < 0)
                least, most = ends if known else (None, None)
                found[names[a], names[b]] = Found(value, least, most, claimed)
        return Variant(kind, name, found)


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


def outcome(claim: Claim, variant: Variant) -> tuple[Outcome, Found | None]:
    """What becomes of a claim, and its difference there, seen from the claim's first condition."""
    found = variant.found.get(claim.names)
    if found is None:
        other = variant.found.get((claim.versus, claim.condition))
        found = None if other is None else _turned(other)
    if found is None:
        return Outcome.GONE, None
    if found.value <= 0:
        return Outcome.TURNED, found
    return (Outcome.STANDS if found.claimed else Outcome.OPEN), found


def _turned(found: Found) -> Found:
    low, high = (None if end is None else 0.0 - end for end in (found.high, found.low))
    return Found(0.0 - found.value, low, high, found.claimed)


def _local_alpha(decided: Sequence[Decision], level: float) -> float:
    """The p alone that a simultaneous interval of the family stands for."""
    return next((one.alpha for one in decided if one.alpha is not None), 1 - level)


def _differences(pairs: Sequence[tuple[int, int]], conditions: int) -> Floats:
    """Contrasts (m, C) of pairs of conditions."""
    rows = np.zeros((len(pairs), conditions))
    for place, (a, b) in enumerate(pairs):
        rows[place, a], rows[place, b] = 1.0, -1.0
    return rows
