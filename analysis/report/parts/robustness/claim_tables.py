"""The picture and the tables of how often each claim stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from analysis.formatting import listed
from analysis.report.content import Column, Figure, Table, column, table_row
from analysis.report.parts.robustness.claim_rows import Fate, Followed, Standing
from analysis.report.ranking import key_of
from analysis.statistics.robustness import Outcome
from analysis.statistics.robustness.variants import ITEM, RATER

MOST_SHOWN = 25  # claims in the picture, those nearest to falling first
MOST_VARIANTS = 300
EXTREMES = 2  # raters, and items, shown at each end
MAIN = "The report itself"
_NOTE = (
    "Stands: claimed again, in the same direction. Lowest and highest are of analyses on the scale "
    "of the scores. To turn: so many raters, or items, would have to go, those who favour it most "
    "first, for the difference to have the other sign; – it never does."
)


@table_row
class VariantRow:
    """One other analysis, and what does not stand in it."""

    kind: str = column("What is other")
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
            stands, of = each.stands(kind)
            share = stands / of if of else None
            rows.append(
                {"row": _pair(each), "column": kind, "value": share, "text": f"{stands}/{of}"}
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
        for fate in _shown(each, kind):
            found = fate.found
            if found is not None:
                name = f"{fate.variant.name}{_mark(fate.outcome)}"
                rows.append(_line(kind, name, found.value, found.low, found.high))
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
    yield Table.of(
        VariantRow,
        "robustness_variants",
        "Other analyses, and what does not stand in them",
        rows[:MOST_VARIANTS],
        note=" ".join(notes),
        about=standing.ranking.title,
        folded=True,
    )


def _claim_row(each: Followed, kinds: Sequence[str]) -> dict[str, Any]:
    claim, values = each.claim, [value for value, _ in each.values()]
    row: dict[str, Any] = {
        "condition": claim.condition,
        "versus": claim.versus,
        "value": claim.value,
        "low": claim.low,
        "high": claim.high,
        "lowest": min(values, default=None),
        "highest": max(values, default=None),
        "raters_to_turn": each.raters_to_turn,
        "raters": each.raters,
        "items_to_turn": each.items_to_turn,
        "items": each.items,
        "share": each.share,
    }
    for place, kind in enumerate(kinds):
        stands, of = each.stands(kind)
        row[f"kind_{place}"] = f"{stands:,} of {of:,}"
    return row


def _variant_row(
    kind: str, name: str, broken: Sequence[tuple[Followed, Outcome]], claims: int
) -> VariantRow:
    def of(which: Outcome) -> str:
        return listed([_pair(each) for each, outcome in broken if outcome == which], 3)

    rest = of(Outcome.OPEN), of(Outcome.TURNED), of(Outcome.GONE)
    return VariantRow(kind, name, claims - len(broken), claims, *rest)


def _shown(each: Followed, kind: str) -> list[Fate]:
    own = [f for f in each.fates if f.variant.kind == kind and f.variant.same_scale and f.found]
    if kind not in (RATER, ITEM) or len(own) <= 2 * EXTREMES:
        return own
    own.sort(key=lambda fate: fate.found.value if fate.found else 0.0)
    return [*own[:EXTREMES], *own[-EXTREMES:]]


def _line(
    group: str, name: str, value: float, low: float | None, high: float | None
) -> dict[str, Any]:
    return {"group": group, "name": name, "value": value, "low": low, "high": high}


def _mark(outcome: Outcome) -> str:
    return "" if outcome == Outcome.STANDS else f" ({outcome.value})"


def _pair(each: Followed) -> str:
    return f"{each.claim.condition} − {each.claim.versus}"
