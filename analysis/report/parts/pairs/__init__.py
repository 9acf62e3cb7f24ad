"""Paired comparisons: who is preferred and by how much, order effects, strengths, ABX."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from analysis.arrays import Codes, Floats
from analysis.formatting import beware, counted, first_of, interval_text
from analysis.name_spans import condition_span, family_prefix
from analysis.ratings.breakdowns import Family
from analysis.ratings.estimands import estimand_of, keys_where
from analysis.report.content import (
    Column,
    Content,
    Figure,
    Table,
    column,
    columns_of,
    picked,
    table_row,
    together,
    warned_once,
    worded,
)
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.report.parts.pairs.preferred_pairs import preferred
from analysis.report.parts.pairs.strengths import strengths
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.comparison_graph import (
    TriadsSummary,
    circular_triads,
    triads_summary,
    wins_of,
)
from analysis.statistics.pairs.means_of_pairs import Measured, share_right, shares_right
from analysis.statistics.pairs.pair_ratings import PairRatings, pairs_of

if TYPE_CHECKING:
    import pandas as pd


class Pairs(FamilyPart):
    """Every pair that met; the strengths behind all pairs; whether preferences go in circles."""

    key = "pairs"
    version = "2"
    title = "Paired comparisons"
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
        ratings = pairs_of(use)
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


CHANCE = 0.5
MOST_DRAWN = 30
ABX_METHOD = (
    "ABX: the share of right answers against 0.5 (guessing), with a two-way clustered interval "
    "(raters, items) and, as if ratings were independent, Clopper and Pearson's exact interval "
    "and the exact one-sided binomial test. The pairs are adjusted together (Šidák 1967)."
)
ABX_NOTE = (
    "Exact: binomial, as if every answer were independent of the others; with several answers per "
    "rater the clustered interval is the one to quote."
)
NO_DIFFERENCE = "This does not show that there is no difference: see how far the interval reaches."


@table_row
class RightRow:
    """How often X was identified in the answers about a pair, or about all pairs."""

    name: str = column("Pair")
    value: float = column("Right", "number")
    low: float | None = column("{level} interval, all pairs at once", "interval", key="interval")
    high: float | None
    p: float | None = column("p against 0.5, adjusted", "p")
    alone_low: float | None
    alone_high: float | None
    p_alone: float | None
    right: int = column("Right answers", "count")
    n_ratings: int = column("Ratings", "count")
    n_raters: int = column("Raters", "count")
    n_items: int = column("Items", "count")
    naive_low: float = column("Exact interval", "interval", key="naive")
    naive_high: float
    exact_p: float = column("Exact p, more than guessed", "p")
    exact_p_two_sided: float
    made_by: str
    note: str


SHOWN = (
    *("name", "value", "low", "p", "naive_low", "exact_p"),
    *("right", "n_ratings", "n_raters", "n_items"),
)


def right(use: pd.DataFrame, each: FamilyInput) -> Content:
    """The pairs of an ABX test: how often X was identified; scores are 1 (right) and 0."""
    both = zip(use["condition"], use["versus_condition"], strict=True)
    pair = np.asarray([" and ".join(sorted(names)) for names in both], dtype=object)
    pairs, code = np.unique(pair, return_inverse=True)
    y, raters, items = _answers(use)
    shares = shares_right(y, code, raters, items, each.level)
    by_pair = [
        _row(str(name), use[pair == name], share, each.level)
        for name, share in zip(pairs, shares, strict=True)
    ]
    rows = by_pair
    if len(by_pair) > 1:
        share = share_right(y, raters, items, each.level)
        rows = [*by_pair, _row("all pairs", use, share, each.level)]
    key, title = f"abx{each.suffix}", "Right answers"
    figure = Figure(
        key,
        title,
        "intervals",
        picked(rows, ("name", "value", "low", "high", "naive_low", "naive_high")),
        x="share right",
        ends=(0.0, 1.0),
        at=(CHANCE,),
        about=each.title,
    )
    note = f"{ABX_NOTE} {beware(row.note for row in rows)}".strip()
    columns = columns_of(RightRow, *SHOWN, level=each.level)
    return Content(
        sentences=[_abx_sentence(rows[-1], each.level)],
        figures=[figure] if len(rows) <= MOST_DRAWN else [],
        tables=[Table.of(RightRow, key, title, rows, columns=columns, note=note, about=each.title)],
        warnings=_abx_warnings(by_pair, each.level),
        methods=[ABX_METHOD],
    )


def _answers(use: pd.DataFrame) -> tuple[Floats, Codes, Codes]:
    """Whether each answer is right (n,), and the codes of its rater and item (n,)."""
    y: Floats = use["score"].to_numpy(dtype=np.float64)
    item = use["item"].where(use["item"] != "", use["stimulus"])
    rater, items = (
        np.unique(x.to_numpy(dtype=object), return_inverse=True)[1] for x in (use["rater"], item)
    )
    return y, rater, items


def _row(name: str, use: pd.DataFrame, share: Measured, level: float) -> RightRow:
    y, rater, items = _answers(use)
    one_sided = stats.binomtest(int(y.sum()), len(y), CHANCE, "greater")
    two_sided = stats.binomtest(int(y.sum()), len(y), CHANCE)
    exact = two_sided.proportion_ci(level, "exact")
    return RightRow(
        name=name,
        value=share.value,
        low=share.low if share.low_all is None else share.low_all,
        high=share.high if share.high_all is None else share.high_all,
        p=share.p if share.p_adjusted is None else share.p_adjusted,
        alone_low=share.low,
        alone_high=share.high,
        p_alone=share.p,
        right=int(y.sum()),
        n_ratings=len(y),
        n_raters=len(np.unique(rater)),
        n_items=len(np.unique(items)),
        naive_low=float(exact.low),
        naive_high=float(exact.high),
        exact_p=float(one_sided.pvalue),
        exact_p_two_sided=float(two_sided.pvalue),
        made_by=share.interval,
        note=share.note,
    )


def _abx_sentence(row: RightRow, level: float) -> str:
    share = f"X was identified in {row.value * 100:.1f} % of {row.n_ratings} answers"
    if row.low is None or row.high is None:
        p = f"{row.exact_p:.3f}" if row.exact_p >= 0.001 else "below 0.001"
        share += f" (guessing: 50 %). No test for other listeners and items: {row.note}"
        return f"{share}; as if every answer were independent, exact p {p}."
    ends = interval_text(row.low * 100, row.high * 100, (0, 100), 1)
    if row.p is not None and row.p < 1 - level:
        which = "more" if row.value > CHANCE else "less"
        why = "" if which == "more" else " (are right and wrong mixed up?)"
        return f"{share} {ends}: {which} often than by guessing{why}."
    return f"{share} {ends}: not significantly different from guessing. {NO_DIFFERENCE}"


def _abx_warnings(rows: list[RightRow], level: float) -> list[str]:
    alpha = 1 - level
    weak = [
        row.name for row in rows if row.p is not None and row.exact_p_two_sided < alpha <= row.p
    ]
    why = "above guessing only if answers are taken as independent, which they are not"
    return [f"{', '.join(weak)}: {why}."] if weak else []


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
        return f"None of {counted(triads, 'triad')} of majority preferences is circular."
    circles = going_round(ratings)
    which = f": {first_of(circles, MOST_NAMED, '; ')}" if circles else ""
    return (
        f"{circular} of {counted(triads, 'triad')} of majority preferences "
        f"{'is' if circular == 1 else 'are'} circular{which}. "
        "No single order of the conditions fits all of these preferences."
    )


def _warnings(each: TriadsSummary) -> list[str]:
    if each["share"] is None or each["triads"] < 10 or each["share"] < each["share_by_chance"]:
        return []
    share = f"{each['share'] * 100:.0f} %"
    round_ = f"Within raters {share} of the triads go round, no fewer than by coin tosses (25 %)"
    return [f"{round_}: raters were not consistent, or the conditions hardly differ."]
