"""The claims of one comparison and what became of each in every other analysis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from analysis.report.ranking import Ranking
from analysis.statistics.robustness import (
    Claim,
    Comparison,
    Outcome,
    Variant,
    fewest_to_turn,
    outcome,
)
from analysis.statistics.robustness.claims import Found
from analysis.statistics.robustness.variants import KINDS


@dataclass(frozen=True)
class Fate:
    """One claim in one other analysis."""

    variant: Variant
    outcome: Outcome
    found: Found | None


@dataclass(frozen=True)
class Followed:
    """One claim, the higher-scored condition first, its fates, and how few turn it round.

    ``raters_to_turn`` of ``raters``: so many would have to go for the difference to have the other
    sign; None: it never turns. Likewise items.
    """

    claim: Claim
    fates: Sequence[Fate]
    raters_to_turn: int | None
    raters: int
    items_to_turn: int | None
    items: int

    def stands(self, kind: str) -> tuple[int, int]:
        """In how many of the analyses of a kind it stands."""
        own = [fate for fate in self.fates if fate.variant.kind == kind]
        return sum(fate.outcome == Outcome.STANDS for fate in own), len(own)

    @property
    def share(self) -> float:
        """Of all analyses, in which it stands."""
        return sum(fate.outcome == Outcome.STANDS for fate in self.fates) / max(len(self.fates), 1)

    @property
    def margin(self) -> float:
        """How far the interval stays from no difference, in units of its half width."""
        return self.claim.low / max((self.claim.high - self.claim.low) / 2, 1e-12)

    def values(self) -> list[tuple[float, Variant]]:
        """The differences on the scale of the scores, with their analyses."""
        return [
            (fate.found.value, fate.variant)
            for fate in self.fates
            if fate.found is not None and fate.variant.same_scale
        ]


@dataclass(frozen=True)
class Standing:
    """One comparison: its claims, the one nearest to falling first; all other analyses."""

    ranking: Ranking
    comparison: Comparison
    claims: Sequence[Followed]
    variants: Sequence[Variant]

    @property
    def kinds(self) -> list[str]:
        """The kinds of other analyses that there are."""
        there = {variant.kind for variant in self.variants}
        return [kind for kind in KINDS if kind in there]

    def broken(self, variant: Variant) -> list[tuple[Followed, Outcome]]:
        """The claims that do not stand in an analysis."""
        return self._fallen.get(id(variant), [])

    @cached_property
    def _fallen(self) -> dict[int, list[tuple[Followed, Outcome]]]:
        """The same of all analyses, by the identity of each: there are thousands."""
        fallen: dict[int, list[tuple[Followed, Outcome]]] = {}
        for each in self.claims:
            for fate in each.fates:
                if fate.outcome != Outcome.STANDS:
                    fallen.setdefault(id(fate.variant), []).append((each, fate.outcome))
        return fallen

    def whole(self, kind: str = "") -> tuple[int, int]:
        """In how many analyses (of a kind) every claim stands."""
        own = [each for each in self.variants if not kind or each.kind == kind]
        return sum(not self.broken(each) for each in own), len(own)


def standing_of(ranking: Ranking, comparison: Comparison, variants: Sequence[Variant]) -> Standing:
    """Every claim followed through every other analysis."""
    followed = [_followed(ranking, comparison, claim, variants) for claim in comparison.claims]
    followed.sort(key=lambda each: (each.share, each.margin))
    return Standing(ranking, comparison, followed, variants)


def _followed(
    ranking: Ranking, comparison: Comparison, claim: Claim, variants: Sequence[Variant]
) -> Followed:
    cell = comparison.cell
    pair = cell.names.index(claim.condition), cell.names.index(claim.versus)
    raters, of_raters = fewest_to_turn(cell.y, cell.condition, cell.rater, pair)
    items, of_items = fewest_to_turn(cell.y, cell.condition, cell.item, pair)
    fates = [Fate(each, *outcome(claim, each)) for each in variants]
    return Followed(claim, fates, raters, of_raters, items, of_items)
