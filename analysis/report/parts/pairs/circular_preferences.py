"""Preferences that go round: circular triads of majorities and of each rater, consistency."""

from __future__ import annotations

from itertools import combinations

from analysis.formatting import first_of
from analysis.name_spans import condition_span
from analysis.report.content import Column, Content, Table
from analysis.report.part import FamilyInput
from analysis.statistics.pairs.comparison_graph import (
    TriadsSummary,
    circular_triads,
    triads_summary,
    wins_of,
)
from analysis.statistics.pairs.pair_ratings import PairRatings

FEWEST = 3
MOST_CONDITIONS = 60
MOST_NAMED = 5
COLUMNS = (
    Column("name", "Judged by"),
    Column("judges", "Judges", "count"),
    Column("triads", "Triads", "count"),
    Column("circular", "Circular", "count"),
    Column("share", "Circular share", "number"),
    Column("share_by_chance", "By coin tosses", "number", 2),
    Column("mean_consistence", "Consistency (1: none circular)", "number"),
    Column("judges_with_all_pairs", "Judges with all pairs", "count"),
)
NOTE = (
    "A triad counts where all three of its pairs are decided, the coefficient where a judge "
    "decided every pair."
)
METHOD = (
    "Circular triads (a over b, b over c, c over a) and the coefficient of consistence by Kendall "
    "and Babington Smith (1940); a triad of coin tosses is circular with a chance of 0.25."
)


def rounds(ratings: PairRatings, family: FamilyInput) -> Content:
    """How often preferences go in circles: nothing to say of fewer than three conditions."""
    if not FEWEST <= len(ratings.names) <= MOST_CONDITIONS:
        return Content()
    majority = triads_summary(circular_triads(ratings, ()))
    each = triads_summary(circular_triads(ratings, ("rater",)))
    if not majority["triads"]:
        return Content()
    rows = [
        {"name": "majorities of all answers", **majority},
        {"name": "each rater by itself", **each},
    ]
    key, about = f"triads{family.suffix}", family.title
    table = Table(key, "Preferences that go round", COLUMNS, rows, NOTE, about, folded=True)
    return Content(
        sentences=[_sentence(ratings, majority)],
        tables=[table],
        warnings=_warnings(each),
        methods=[METHOD],
    )


def going_round(ratings: PairRatings) -> list[str]:
    """The circular triads of majorities in words, such as ``a over b over c over a``."""
    wins, names = wins_of(ratings), ratings.names
    beats = wins > wins.T
    circles = []
    for i, j, k in combinations(range(len(names)), 3):
        for a, b, c in ((i, j, k), (i, k, j)):
            if beats[a, b] and beats[b, c] and beats[c, a]:
                circles.append(" over ".join(condition_span(names[code]) for code in (a, b, c, a)))
    return circles


def _sentence(ratings: PairRatings, majority: TriadsSummary) -> str:
    circular, triads = majority["circular"], majority["triads"]
    if not circular:
        return f"No majority goes round: {triads} triads, none circular."
    circles = going_round(ratings)
    which = f": {first_of(circles, MOST_NAMED, '; ')}" if circles else ""
    return (
        f"{circular} of {triads} triads of majorities go round{which}. "
        "No single order of the conditions says all of these preferences."
    )


def _warnings(each: TriadsSummary) -> list[str]:
    if each["share"] is None or each["triads"] < 10 or each["share"] < each["share_by_chance"]:
        return []
    share = f"{each['share'] * 100:.0f} %"
    round_ = f"Within raters {share} of the triads go round, no fewer than by coin tosses (25 %)"
    return [f"{round_}: raters were not consistent, or the conditions hardly differ."]
