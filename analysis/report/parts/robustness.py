"""How often the claims stand: under other rules, without one rater or item, in other analyses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.citations import citation
from analysis.formatting import enumerated, interval_text, listed, number, percent
from analysis.name_spans import condition_span, family_prefix
from analysis.ratings.breakdowns import coded_column, items_of
from analysis.ratings.large_tables import LARGE
from analysis.report.content import (
    Column,
    Content,
    Figure,
    Table,
    add_family_titles,
    column,
    pick_cells,
    table_row,
    together,
)
from analysis.report.part import Part, PartInput
from analysis.report.parts.screening import one_rule_more
from analysis.report.ranking import Ranking, key_of, on_one_footing, rankings
from analysis.statistics.robustness import (
    ITEM,
    KINDS,
    MORE,
    MOST_LEFT_OUT,
    RATER,
    RULES,
    WAYS,
    Claim,
    Comparison,
    GroupSums,
    Outcome,
    Variant,
    VariantDifference,
    comparison_of,
    fewest_to_turn,
    group_sums,
    in_other_ways,
    left_out,
    of_intervals,
    outcome,
    under_rules,
)
from analysis.statistics.sensitivity import Scheme, in_force, schemes

if TYPE_CHECKING:
    import pandas as pd

    from analysis.statistics.screening.screened import Screened


RATER_MODELS = "rater_models"  # the part that asks for models of raters
METHOD = (
    "Every claimed difference was decided again under each other set of rules, in other analyses "
    f"(a multiverse analysis, {citation('steegen2016')}), and without each "
    "rater and each item in turn, where the adjustment for the family is that of the main analysis."
)


class Robustness(Part):
    """Each claimed difference in every other analysis: whether it stands there."""

    key = "robustness"
    version = "2"
    title = "Sensitivity analysis"
    order = 66

    def applies(self, inputs: PartInput) -> bool:
        return len(inputs.ratings) > 0

    def make(self, inputs: PartInput) -> Content:
        every = rankings(inputs)
        compared = on_one_footing(every)
        apart = list(_not_followed(every, compared))
        if not compared:
            none = "No two conditions can be compared, so no difference is claimed."
            return Content(apart or [none])
        by_rules = _by_rules(inputs)
        contents = []
        for place, ranking in enumerate(compared):
            inputs.progress(0.4 + 0.6 * place / len(compared), ranking.title)
            variants, same = by_rules
            contents.append(_of_one(inputs, ranking, variants.get(ranking.title, []), same))
        content = together(contents)
        whole = add_family_titles(content) if len(contents) > 1 else content
        return replace(whole, sentences=[*whole.sentences, *apart])


def _not_followed(every: Sequence[Ranking], compared: Sequence[Ranking]) -> Iterator[str]:
    """Why comparisons in pairs are not here: no differences of means are claimed of them."""
    here = {ranking.family_key for ranking in compared}
    met: dict[int, list[Ranking]] = {}
    for ranking in every:
        if ranking.versus and ranking.family_key not in here:
            met.setdefault(ranking.family_key, []).append(ranking)
    for some in met.values():
        title = some[0].title.removesuffix(f" · versus {some[0].versus}")
        pairs = sum(len(ranking.means) for ranking in some)
        why = "one pair was compared, which is held against no difference"
        if len(some) > 1 or pairs > 1:
            why = (
                f"{pairs} pairs were compared, not all with the same other condition, so their "
                "means have no common footing, and strengths, which also use indirect comparisons "
                "over a third condition, are fitted under the rules in force only"
            )
        yield (
            f"{family_prefix(title)}not followed through other analyses, as {why}. Each pair has "
            "its interval in “Paired comparisons”; what each rule leaves out, and the results "
            "under each, is in “Exclusions”."
        )


def _of_one(
    inputs: PartInput, ranking: Ranking, under: Sequence[Variant], same: Sequence[str]
) -> Content:
    options = inputs.options
    comparison = comparison_of(ranking.cell, options.reference, options.level)
    table = ranking.family.table
    items = items_of(table)
    names = {"rater": coded_column(table["rater"])[1], "item": coded_column(items)[1]}

    def tell(share: float) -> None:
        inputs.progress(0.4 + 0.6 * share, ranking.title)

    variants = [
        *under,
        *left_out(comparison, names, options.seed, tell),
        *in_other_ways(comparison, RATER_MODELS in options.parts),
        *of_intervals(inputs.report.get("contrasts", ()), ranking.title),
    ]
    standing = standing_of(ranking, comparison, variants)
    return Content(
        sentences=sentences(standing),
        figures=[*shares_figure(standing), *closest_figure(standing)],
        tables=[*claims_table(standing), *variants_table(standing, same)],
        warnings=[*warnings(standing), *_sampling_notes(standing)],
        methods=[METHOD] if standing.claims else [],
    )


def _by_rules(inputs: PartInput) -> tuple[dict[str, list[Variant]], list[str]]:
    """Other schemes of rules by family; and those left away, as they keep what another keeps."""
    rules, options = inputs.options.rules, inputs.options
    main = in_force(rules)
    seen = {inputs.screened.mark(rules)}
    known = [scheme for scheme in schemes(rules) if scheme[0] != main]
    more, added = one_rule_more(inputs)
    same: list[str] = []
    variants_of: dict[str, list[Variant]] = {}
    for kind, screened, some in ((RULES, inputs.screened, known), (MORE, more, added)):
        distinct = _distinct(screened, some, seen, same)
        by_title = under_rules(distinct, kind, options.reference, options.level)
        for title, variants in by_title.items():
            variants_of.setdefault(title, []).extend(variants)
    return variants_of, same


def _distinct(
    screened: Screened, some: Sequence[Scheme], seen: set[bytes], same: list[str]
) -> Iterator[tuple[Scheme, pd.DataFrame]]:
    for scheme in some:
        mark = screened.mark(scheme[1])
        if mark in seen:
            same.append(scheme[0])
        elif len(ratings := screened.kept(scheme[1])):
            seen.add(mark)
            yield scheme, ratings


def _sampling_notes(standing: Standing) -> Iterator[str]:
    cell = standing.comparison.cell
    if len(cell.y) > LARGE:
        yield (
            f"No rater or item was left out by itself, as there are over {LARGE:,} ratings. The "
            "table says how many would have to go for a difference to turn."
        )
        return
    many = [
        f"{MOST_LEFT_OUT:,} of {len(np.unique(codes)):,} {what}"
        for codes, what in ((cell.rater, "raters"), (cell.item, "items"))
        if len(np.unique(codes)) > MOST_LEFT_OUT
    ]
    if many:
        yield f"Only {enumerated(many)} were left out one by one, drawn by the seed."


@dataclass(frozen=True)
class Fate:
    """One claim in one other analysis."""

    variant: Variant
    outcome: Outcome
    difference: VariantDifference | None


@dataclass(frozen=True)
class TrackedClaim:
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
            (fate.difference.value, fate.variant)
            for fate in self.fates
            if fate.difference is not None and fate.variant.same_scale
        ]


@dataclass(frozen=True)
class Standing:
    """One comparison: its claims, the one nearest to falling first; all other analyses."""

    ranking: Ranking
    comparison: Comparison
    claims: Sequence[TrackedClaim]
    variants: Sequence[Variant]

    @property
    def kinds(self) -> list[str]:
        """The kinds of other analyses that there are."""
        there = {variant.kind for variant in self.variants}
        return [kind for kind in KINDS if kind in there]

    def broken(self, variant: Variant) -> list[tuple[TrackedClaim, Outcome]]:
        """The claims that do not stand in an analysis."""
        return self._fallen.get(id(variant), [])

    @cached_property
    def _fallen(self) -> dict[int, list[tuple[TrackedClaim, Outcome]]]:
        """The same of all analyses, by the identity of each: there are thousands."""
        fallen: dict[int, list[tuple[TrackedClaim, Outcome]]] = {}
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
    cell = comparison.cell
    sums = [group_sums(cell.y, cell.condition, group) for group in (cell.rater, cell.item)]
    followed = [_track_claim(comparison, claim, variants, sums) for claim in comparison.claims]
    followed.sort(key=lambda each: (each.share, each.margin))
    return Standing(ranking, comparison, followed, variants)


def _track_claim(
    comparison: Comparison, claim: Claim, variants: Sequence[Variant], sums: Sequence[GroupSums]
) -> TrackedClaim:
    names = comparison.cell.names
    pair = names.index(claim.condition), names.index(claim.versus)
    (raters, of_raters), (items, of_items) = (fewest_to_turn(each, pair) for each in sums)
    fates = [Fate(each, *outcome(claim, each)) for each in variants]
    return TrackedClaim(claim, fates, raters, of_raters, items, of_items)


MOST_SHOWN = 25  # claims in the picture, those nearest to falling first
MOST_VARIANTS = 300
EXTREMES = 2  # raters, and items, shown at each end
MAIN = "The report itself"
_NOTE = (
    "Stands: claimed again, in the same direction. Lowest and highest are of analyses on the scale "
    "of the scores. To turn: the number of raters, or items, to remove before the difference "
    "changes its sign, those who favour it most first; –: it never does."
)


@table_row
class VariantRow:
    """One other analysis, and what does not stand in it."""

    kind: str = column("Change")
    left_out: str = column("Which")
    stand: int = column("Claims that stand", "count")
    claims: int = column("of", "count")
    open: str = column("Not claimed")
    turned: str = column("Turned round")
    gone: str = column("Not compared")


def shares_figure(standing: Standing) -> Iterator[Figure]:
    """Claims down, kinds of analyses across: the share of analyses in which the claim stands."""
    if not standing.claims or not standing.kinds:
        return
    rows = []
    for each in standing.claims[:MOST_SHOWN]:
        for kind in standing.kinds:
            stands, analyses = each.stands(kind)
            share = stands / analyses if analyses else None
            rows.append(
                {"row": _pair(each), "column": kind, "value": share, "text": f"{stands}/{analyses}"}
            )
    more = len(standing.claims) - MOST_SHOWN
    note = "How many of the other analyses claim the difference again, in the same direction."
    if more > 0:
        note += f" {more} more claims, which stand more often, are in the table."
    title = standing.ranking.title
    yield Figure(
        key=key_of("robustness", 1, title),
        title="In how many other analyses each claim stands",
        drawing="heatmap",
        rows=rows,
        ends=(0.0, 1.0),
        note=note,
        about=title,
    )


def closest_figure(standing: Standing) -> Iterator[Figure]:
    """The claim nearest to falling in every other analysis, of raters and items the extremes."""
    if not standing.claims:
        return
    each, title = standing.claims[0], standing.ranking.title
    claim = each.claim
    rows = [_line(MAIN, _pair(each), claim.value, claim.low, claim.high)]
    for kind in standing.kinds:
        for fate in _shown_fates(each, kind):
            difference = fate.difference
            if difference is not None:
                mark = "" if fate.outcome == Outcome.STANDS else f" ({fate.outcome.value})"
                name = f"{fate.variant.name}{mark}"
                rows.append(_line(kind, name, difference.value, difference.low, difference.high))
    yield Figure(
        key=key_of("robustness", 2, title),
        title="The claim nearest to falling, in other analyses",
        drawing="intervals",
        rows=rows,
        x="Difference",
        at=(0.0,),
        decimals=standing.ranking.decimals,
        note="Intervals hold for the whole family, but for those named alone. Of raters and items "
        "left out, those that move it most. Analyses on another scale are in the table.",
        about=title,
    )


def claims_table(standing: Standing) -> Iterator[Table]:
    """One row per claim: its difference, how often it stands by kind, its extremes."""
    if not standing.claims:
        return
    title, decimals = standing.ranking.title, standing.ranking.decimals
    kinds = standing.kinds
    counts = [Column(f"kind_{n}", kind) for n, kind in enumerate(kinds)]
    yield Table(
        key="robustness_claims",
        title="Each claimed difference in other analyses",
        columns=[
            Column("condition", "Higher"),
            Column("versus", "Than"),
            Column("value", "Difference", "number", decimals, True),
            Column("interval", "Interval", "interval", decimals),
            *counts,
            Column("lowest", "Lowest", "number", decimals, True),
            Column("highest", "Highest", "number", decimals, True),
            Column("raters_to_turn", "Raters to turn", "count"),
            Column("items_to_turn", "Items to turn", "count"),
        ],
        rows=[_claim_row(each, kinds) for each in standing.claims],
        note=_NOTE,
        about=title,
    )


def variants_table(standing: Standing, same: Sequence[str]) -> Iterator[Table]:
    """Every analysis by rules and ways, and those with a rater or item less where a claim falls."""
    if not standing.claims:
        return
    rows = []
    for variant in standing.variants:
        broken = standing.broken(variant)
        if not broken and variant.kind in (RATER, ITEM):
            continue
        rows.append(_variant_row(variant.kind, variant.name, broken, len(standing.claims)))
    notes = ["Raters and items without whom all claims stand are not listed."]
    if same:
        notes.append(f"Not counted, as another set keeps the same ratings: {listed(same)}.")
    if len(rows) > MOST_VARIANTS:
        notes.append(f"{len(rows) - MOST_VARIANTS} more are not kept.")
    yield Table.from_rows(
        VariantRow,
        "robustness_variants",
        "Other analyses, and differences that do not hold in them",
        rows[:MOST_VARIANTS],
        note=" ".join(notes),
        about=standing.ranking.title,
        folded=True,
    )


def _claim_row(each: TrackedClaim, kinds: Sequence[str]) -> dict[str, Any]:
    claim, values = each.claim, [value for value, _ in each.values()]
    row: dict[str, Any] = {
        **pick_cells(claim, "condition", "versus", "value", "low", "high"),
        "lowest": min(values, default=None),
        "highest": max(values, default=None),
        **pick_cells(each, "raters_to_turn", "raters", "items_to_turn", "items", "share"),
    }
    for place, kind in enumerate(kinds):
        stands, analyses = each.stands(kind)
        row[f"kind_{place}"] = f"{stands:,} of {analyses:,}"
    return row


def _variant_row(
    kind: str, name: str, broken: Sequence[tuple[TrackedClaim, Outcome]], claims: int
) -> VariantRow:
    def claims_with(which: Outcome) -> str:
        return listed([_pair(each) for each, outcome in broken if outcome == which], 3)

    rest = claims_with(Outcome.OPEN), claims_with(Outcome.TURNED), claims_with(Outcome.GONE)
    return VariantRow(kind, name, claims - len(broken), claims, *rest)


def _shown_fates(each: TrackedClaim, kind: str) -> list[Fate]:
    own = [
        f for f in each.fates if f.variant.kind == kind and f.variant.same_scale and f.difference
    ]
    if kind not in (RATER, ITEM) or len(own) <= 2 * EXTREMES:
        return own
    own.sort(key=lambda fate: fate.difference.value if fate.difference else 0.0)
    return [*own[:EXTREMES], *own[-EXTREMES:]]


def _line(
    group: str, name: str, value: float, low: float | None, high: float | None
) -> dict[str, Any]:
    return {"group": group, "name": name, "value": value, "low": low, "high": high}


def _pair(each: TrackedClaim) -> str:
    return f"{each.claim.condition} − {each.claim.versus}"


OF_KIND = {
    RULES: "{} with another set of rules",
    MORE: "{} with one more rule",
    RATER: "{} without one rater",
    ITEM: "{} without one item",
    WAYS: "{} in other ways to analyse",
}
FEW = 0.05  # of the raters (or items), which alone carry a claim
NOTHING_CLAIMED = "No difference is claimed"


def sentences(standing: Standing) -> list[str]:
    """The answer in words; of a comparison without claims, where one would be claimed."""
    prefix = family_prefix(standing.ranking.title)
    if not standing.claims:
        return [f"{prefix}{_nothing(standing)}"]
    whole, every = standing.whole()
    among = _among(standing)
    what = f"All {len(standing.claims)} claimed differences{among} stand"
    if len(standing.claims) == 1:
        what = f"The claimed difference{among} stands"
    if whole == every:
        return [f"{prefix}{what} in every one of {every:,} other analyses. {_nearest(standing)}"]
    parts = [
        OF_KIND[kind].format("{:,} of {:,}".format(*standing.whole(kind)))
        for kind in standing.kinds
    ]
    share = percent(whole / every)
    text = f"{what} in {whole:,} of {every:,} other analyses ({share})"
    if len(standing.claims) > 1:
        text = f"{_each(standing)}. {what} together in {whole:,} of {every:,} ({share})"
    return [f"{prefix}{text}: {', '.join(parts)}. {_nearest(standing)}"]


def _among(standing: Standing) -> str:
    """Which differences these are: of comparisons, not those with the other side of a pair."""
    return " among the systems" * standing.ranking.family.in_pairs


def _each(standing: Standing) -> str:
    """In how many of the other analyses each claim stands by itself."""
    shares = sorted(each.share for each in standing.claims)
    every = f"of {len(standing.variants):,} other analyses"
    each = f"Each claimed difference{_among(standing)} stands in"
    if shares[0] == shares[-1]:
        return f"{each} {percent(shares[0])} {every}"
    middle = shares[len(shares) // 2]
    return (
        f"{each} {percent(shares[0])} to {percent(shares[-1])} {every} (median {percent(middle)})"
    )


def warnings(standing: Standing) -> Iterator[str]:
    """Claims that turn round somewhere, and those that a few raters or items carry."""
    prefix = family_prefix(standing.ranking.title)
    for each in standing.claims:
        turned = [f.variant for f in each.fates if f.outcome == Outcome.TURNED]
        if turned:
            where = listed([_where(f.kind, f.name) for f in turned], 3)
            yield f"{prefix}{_claim(each, standing)} turns round {where}."
    for what in ("raters", "items"):
        carried = []
        for each in standing.claims:
            count, total = each.raters_to_turn, each.raters
            if what == "items":
                count, total = each.items_to_turn, each.items
            if count is not None and count <= max(1, FEW * total):
                turns = f"(turned without {count} of {total} {what})"
                carried.append(f"{_claim_words(each, standing)} {turns}")
        if carried:
            shown = listed(carried, 3)
            yield f"{prefix}few {what} carry {shown}: look at them before you claim it."


def _nothing(standing: Standing) -> str:
    some = [
        v
        for v in standing.variants
        if any(difference.claimed for difference in v.differences.values())
    ]
    if not some:
        others = f"{len(standing.variants):,} other analyses"
        return f"{NOTHING_CLAIMED}, nor would one be in any of {others}."
    where = listed([_where(each.kind, each.name) for each in some], 3)
    return (
        f"{NOTHING_CLAIMED}. Some difference would be claimed in {len(some):,} of "
        f"{len(standing.variants):,} other analyses: {where}."
    )


def _nearest(standing: Standing) -> str:
    """The claim that is nearest to falling, with its interval, and how far it moves."""
    each, decimals = standing.claims[0], standing.ranking.decimals
    values = each.values()
    if not values:
        return f"Nearest to falling: {_claim(each, standing)}."
    if standing.ranking.low_is_best:
        values = [(0.0 - value, variant) for value, variant in values]
    low, high = min(values, key=lambda v: v[0]), max(values, key=lambda v: v[0])
    span = f"from {number(low[0], True, decimals)} ({_where(low[1].kind, low[1].name)})"
    span += f" to {number(high[0], True, decimals)} ({_where(high[1].kind, high[1].name)})"
    return f"Nearest to falling: {_claim(each, standing)}, elsewhere {span}."


def _claim(each: TrackedClaim, standing: Standing) -> str:
    """A claim with its interval, the better condition first: of ranks, that is the lower one."""
    claim, decimals = each.claim, standing.ranking.decimals
    low, high, value = claim.low, claim.high, claim.value
    if standing.ranking.low_is_best:
        low, high, value = 0.0 - high, 0.0 - low, 0.0 - value
    bounds = interval_text(low, high, None, decimals)
    return f"{_claim_words(each, standing)} ({number(value, True, decimals)} {bounds})"


def _claim_words(each: TrackedClaim, standing: Standing) -> str:
    best, other = condition_span(each.claim.condition), condition_span(each.claim.versus)
    return f"{other} over {best}" if standing.ranking.low_is_best else f"{best} over {other}"


def _where(kind: str, name: str) -> str:
    if kind in (RATER, ITEM):
        return f"without {'rater' if kind == RATER else 'item'} {name}"
    if kind == RULES:
        return f"under {name}" if name.endswith(("rule", "rules")) else f"under {name} alone"
    return name
