"""Preferences of pairs against differences of metrics, as a table."""

from __future__ import annotations

from typing import Any

from analysis.ratings.estimands import estimand_of
from analysis.report.content import Column, Content, Table
from analysis.report.part import PartInput
from analysis.report.parts.against_people.ceiling_tables import CeilingsOf
from analysis.report.parts.against_people.metric_data import Gathered
from analysis.report.parts.against_people.metric_tables import top_of
from analysis.statistics.metric_agreement import STIMULUS, preferred_share
from analysis.statistics.metric_agreement.metric_result import AS_IS


def preferences(of: Gathered, ceilings: CeilingsOf, inputs: PartInput, suffix: str) -> Content:
    """How often each metric takes the side of people; nothing for ratings without sides."""
    if not of.units.compared or not estimand_of(of.units.estimand).prefers:
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
        row = each.row()
        order = of.number(each.metric, STIMULUS, "srcc", AS_IS)
        if order is not None:
            row |= {"srcc": order.value, "srcc_low": order.low, "srcc_high": order.high}
            row |= top_of(ceilings.of(each.metric), STIMULUS, "srcc")
        rows.append(row)
    rows.sort(key=lambda row: (-(row["share"] if row["share"] is not None else -1), row["metric"]))
    columns = [
        Column("metric", "Metric"),
        Column("share", "Prefers the same", "percent"),
        Column("share_pct", "Interval, %", "interval", 1),
        Column("n", "Pairs", "count"),
        Column("ties_human", "People undecided", "count"),
        Column("ties_metric", "Metric undecided", "count"),
        Column("n_missing", "Missing", "count"),
        Column("srcc", "SRCC", "number", sign=True),
        Column("srcc", "SRCC, interval", "interval"),
        Column("ceiling", "Ceiling of SRCC", "number"),
    ]
    for row in rows:
        for end in ("low", "high"):
            row[f"share_pct_{end}"] = None if row[end] is None else 100 * row[end]
    if any(row["note"] for row in rows):
        columns.append(Column("note", "Note"))
    note = (
        "The share of pairs of clips of which the metric prefers the one that people prefer on the "
        "mean (50 % by guessing); pairs with a tie on either side are left out and counted. A "
        "metric whose direction is lower is turned; all others are taken as higher is better. "
        "SRCC: Spearman of the mean preference with the difference of the metric."
    )
    named = "Preferences of pairs and differences of metrics"
    table = Table(f"preferences{suffix}", named, columns, rows, note, of.title)
    best = rows[0] if rows else None
    warnings = []
    if best is not None and best["share"] is not None:
        ends = (
            "" if best["low"] is None else f" [{best['low'] * 100:.0f}, {best['high'] * 100:.0f}]"
        )
        warnings.append(
            f"{of.title}: {of.called(best['metric'])} prefers the clip that people prefer in "
            f"{best['share'] * 100:.0f} %{ends} of {best['n']} pairs."
        )
    return Content(sentences=warnings, tables=[table])
