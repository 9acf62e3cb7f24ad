"""Comparisons of pairs: who is preferred and by how much, order effects, strengths, ABX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from analysis.name_spans import family_prefix
from analysis.ratings.breakdowns import Family
from analysis.ratings.estimands import estimand_of, keys_where
from analysis.report.content import Content, together, warned_once, worded
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.report.parts.pairs.abx_shares import right
from analysis.report.parts.pairs.circular_preferences import rounds
from analysis.report.parts.pairs.preferred_pairs import preferred
from analysis.report.parts.pairs.strengths import strengths
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.pair_ratings import from_table


class Pairs(FamilyPart):
    """Every pair that met; the strengths behind all pairs; whether preferences go in circles."""

    key = "pairs"
    version = "2"
    title = "Comparisons of pairs"
    order = 22
    nothing = "no rated comparisons are left: see what the rules leave out"

    def applies(self, inputs: PartInput) -> bool:
        kept = inputs.kept
        named = kept["versus_condition"] != ""
        return bool((kept["estimand"].isin(keys_where("in_pairs")) & named).any())

    def families(self, inputs: PartInput) -> Iterable[Family]:
        return [family for family in super().families(inputs) if family.in_pairs]

    def of_family(self, each: FamilyInput) -> Content:
        content = warned_once(together(_contents(each)))
        return worded(content, each.title) if each.of > 1 else content

    def of_all(self, contents: Sequence[Content], inputs: PartInput) -> Content:
        """Titles and words say already what they are about."""
        return warned_once(together(contents))


def _contents(each: FamilyInput) -> Iterator[Content]:
    table = each.family.table
    alone = table["versus_condition"] == ""
    same = table["condition"] == table["versus_condition"]
    use = table[~alone & ~same]
    estimand = estimand_of(each.family.estimand)
    if len(use) and estimand.discriminates:
        yield right(use, each)
    elif len(use):
        ratings = from_table(use)
        yield preferred(ratings, each, shares=estimand.neutral != 0)
        for make in (strengths, rounds):
            try:
                yield make(ratings, each)
            except Undefined as why:
                yield Content(warnings=[f"{family_prefix(each.title)}{why}."])
    if alone.any():
        text = f"{int(alone.sum())} ratings name no other condition and are left out here."
        yield Content(warnings=[text])
    if same.any():
        text = f"{int(same.sum())} ratings compare a condition with itself: left out here."
        yield Content(warnings=[text])
