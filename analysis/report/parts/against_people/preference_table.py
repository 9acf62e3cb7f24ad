"""Preferences of pairs against differences of metrics, as a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from analysis.formatting import percent
from analysis.name_spans import family_prefix
from analysis.report.content import Column, Content, Table
from analysis.report.part import PartInput
from analysis.report.parts.against_people.ceiling_tables import CeilingsOf
from analysis.report.parts.against_people.metric_data import Gathered
from analysis.report.parts.against_people.metric_tables import BOTH_ORDERS, FEW, top_of
from analysis.statistics.metric_agreement import STIMULUS, preferred_share
from analysis.statistics.metric_agreement.metric_correlations import AS_IS

COLUMNS = (
    Column("metric", "Metric"),
    Column("share", "Prefers the same", "percent"),
    Column("share_pct", "Interval, %", "interval", 1),
    Column("same", "Same side", "count"),
    Column("n", "Pairs", "count"),
    Column("ties_human", "People undecided", "count"),
    Column("ties_metric", "Metric undecided", "count"),
    Column("n_missing", "Missing", "count"),
    Column("srcc", "SRCC, both orders", "number", sign=True),
    Column("srcc", "SRCC, interval", "interval"),
    Column("ceiling", "Ceiling of SRCC", "number"),
    Column("note", "Note"),
)
NOTE = (
    "The share of pairs of clips of which the metric prefers the one that people prefer on the "
    "mean (50 % by guessing); pairs with a tie on either side are left out and counted. A "
    "metric whose direction is lower is turned; all others are taken as higher is better. "
    "SRCC: Spearman of the mean preference with the difference of the metric."
)


def preferences(
    of: Gathered,
    ceilings: CeilingsOf,
    inputs: PartInput,
    suffix: str,
    own: Collection[str] | None = None,
) -> Content:
    """How often each metric takes the side of people; nothing for ratings without sides.

    The sentence is about the best metric of all, or of its ``own``, which are about this aspect.
    """
    if not of.units.signed:
        return Content()
    options = inputs.options
    shares = preferred_share(
        of.units,
        of.values,
        lower_is_better=of.falls,
        level=options.level,
        replicates=options.replicates,
        seed=of.family.seed(options.seed),
    )
    rows: list[dict[str, Any]] = []
    for each in shares:
        row = each.row() | {"same": None if each.share is None else round(each.share * each.n)}
        order = of.number(each.metric, STIMULUS, "srcc", AS_IS)
        if order is not None:
            row |= {"srcc": order.value, "srcc_low": order.low, "srcc_high": order.high}
            row |= top_of(ceilings.of(each.metric), STIMULUS, "srcc")
        if each.n < FEW and each.share is not None:
            row |= {"share": None, "low": None, "high": None}
            row["note"] = f"fewer than {FEW} pairs: no share"
        rows.append(row)
    rows.sort(key=lambda row: (-(row["share"] if row["share"] is not None else -1), row["metric"]))
    for row in rows:
        for end in ("low", "high"):
            row[f"share_pct_{end}"] = None if row[end] is None else 100 * row[end]
    columns = [each for each in COLUMNS if each.key != "note" or any(row["note"] for row in rows)]
    named = "Preferences of pairs and differences of metrics"
    table = Table(f"preferences{suffix}", named, columns, rows, NOTE + BOTH_ORDERS, of.title)
    about = [row for row in rows if own is None or row["metric"] in own]
    return Content(sentences=[_sentence(of, about)] if about else [], tables=[table])


def _sentence(of: Gathered, rows: Sequence[Mapping[str, Any]]) -> str:
    """How often the best of these metrics takes the side of people."""
    best = rows[0]
    called = of.called(str(best["metric"]))
    if best["share"] is None:
        decided = max(row["n"] for row in rows)
        pairs = f"{decided} pair{'s' * (decided != 1)}"
        return (
            f"{family_prefix(of.title)}people and {called if len(rows) == 1 else 'a metric'} "
            "both prefer a side "
            f"in {pairs} only: too few to say how often they agree ({FEW} or more are needed)."
        )
    among = f"of {len(rows)} metrics, {called}" if len(rows) > 1 else called
    ends = " (no interval)"
    if best["low"] is not None:
        ends = f" [{best['low'] * 100:.0f}, {best['high'] * 100:.0f}]"
    sentence = (
        f"{family_prefix(of.title)}{among} prefers the clip that people prefer in "
        f"{percent(best['share'])}{ends} of {best['n']} pairs"
    )
    if best.get("srcc") is None:
        return f"{sentence}."
    order = (
        "" if best["srcc_low"] is None else f" [{best['srcc_low']:.2f}, {best['srcc_high']:.2f}]"
    )
    srcc = f"SRCC over both orders of each pair {best['srcc']:.2f}{order}".replace("-", "−")
    return f"{sentence} ({srcc})."
