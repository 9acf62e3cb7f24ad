"""Comparisons of pairs: who is preferred and by how much, order effects, strengths, ABX."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from analysis.ratings.breakdowns import Family, families
from analysis.ratings.estimands import estimand_of, keys_where
from analysis.report.content import Content
from analysis.report.part import Part, PartInput
from analysis.report.parts.pairs.abx_shares import right
from analysis.report.parts.pairs.circular_preferences import rounds
from analysis.report.parts.pairs.preferred_pairs import preferred
from analysis.report.parts.pairs.strengths import strengths
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.pair_ratings import PairRatings, from_table


class Pairs(Part):
    """Every pair that met; the strengths behind all pairs; whether preferences go in circles."""

    key = "pairs"
    version = "2"
    title = "Comparisons of pairs"
    order = 22

    def applies(self, inputs: PartInput) -> bool:
        kept = inputs.kept
        named = kept["versus_condition"] != ""
        return bool((kept["estimand"].isin(keys_where("in_pairs")) & named).any())

    def make(self, inputs: PartInput) -> Content:
        found = [family for family in families(inputs.kept) if family.in_pairs]
        if not found:
            raise ValueError("no rated comparisons are left: see what the rules leave out")
        pieces = []
        for place, family in enumerate(found):
            about = family.title
            inputs.progress(place / len(found), about)
            suffix = f"_{place + 1}" if len(found) > 1 else ""
            piece = _of_family(family, about, suffix, inputs.options.level)
            pieces.append(_titled(piece, about) if len(found) > 1 else piece)
        return together(pieces)


def together(pieces: Iterable[Content]) -> Content:
    """Several pieces as one, each kind in their order; a method that is told twice is told once."""
    each = list(pieces)
    return Content(
        sentences=[text for piece in each for text in piece.sentences],
        figures=[figure for piece in each for figure in piece.figures],
        tables=[table for piece in each for table in piece.tables],
        warnings=list(dict.fromkeys(text for piece in each for text in piece.warnings)),
        methods=list(dict.fromkeys(text for piece in each for text in piece.methods)),
    )


def _of_family(family: Family, about: str, suffix: str, level: float) -> Content:
    table = family.table
    alone = table["versus_condition"] == ""
    same = table["condition"] == table["versus_condition"]
    use = table[~alone & ~same]
    told = []
    if alone.any():
        told.append(f"{int(alone.sum())} ratings name no other condition and are left out here.")
    if same.any():
        told.append(f"{int(same.sum())} ratings compare a condition with itself: left out here.")
    if not len(use):
        return Content(warnings=told)
    estimand = estimand_of(family.estimand)
    if estimand.discriminates:
        return together([right(use, about, suffix, level), Content(warnings=told)])
    ratings = from_table(use)
    shares = estimand.neutral != 0
    made = [preferred(ratings, about, suffix, level, shares)]
    made += _models(ratings, about, suffix, level)
    return together([*made, Content(warnings=told)])


def _models(ratings: PairRatings, about: str, suffix: str, level: float) -> list[Content]:
    made = []
    for make in (strengths, rounds):
        try:
            made.append(make(ratings, about, suffix, level))
        except Undefined as why:
            made.append(Content(warnings=[f"{about}: {why}."]))
    return made


def _titled(piece: Content, about: str) -> Content:
    """The piece's words and titles with what they are about."""
    return Content(
        sentences=[f"{about}: {text}" for text in piece.sentences],
        figures=[replace(each, title=f"{each.title} ({about})") for each in piece.figures],
        tables=[replace(each, title=f"{each.title} ({about})") for each in piece.tables],
        warnings=[x if x.startswith(about) else f"{about}: {x}" for x in piece.warnings],
        methods=piece.methods,
    )
