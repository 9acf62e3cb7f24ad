"""What a perfect metric could reach, one rater against the others, and preferences, as tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.formatting import listed, percent
from analysis.name_spans import family_prefix
from analysis.ratings.estimands import estimand_of
from analysis.report.content import Column, Content, Table
from analysis.report.part import PartInput
from analysis.report.parts.against_people.metric_data import Gathered
from analysis.report.parts.against_people.metric_tables import (
    BOTH_ORDERS,
    FEW,
    NAMES,
    Ceilings,
    ordered,
    top_of,
    words_of,
)
from analysis.statistics.agreement import noise_ceiling
from analysis.statistics.metric_agreement import (
    CONDITION,
    STIMULUS,
    WITHIN,
    Units,
    condition_ceiling,
    one_against_others,
    preferred_share,
)
from analysis.statistics.metric_agreement.metric_correlations import AS_IS

MANY_UNITS, MANY_RATINGS = 1000, 100_000
MOST_SETS = 6  # of clips that metrics miss: each takes as long as the ceilings over all clips


@dataclass(frozen=True)
class CeilingsOf:
    """What a perfect metric could reach: over all units, and over those that a metric scored."""

    over_all: Ceilings
    by_metric: Mapping[str, Ceilings]  # of metrics that miss some; the same sets are shared
    rows: Sequence[dict[str, Any]]  # of a table
    untold: Sequence[str] = ()  # metrics that miss some, beyond as many sets as are computed

    def of(self, metric: str) -> Ceilings:
        """The ceilings over the units of which this metric has a value; empty: not computed."""
        return {} if metric in self.untold else self.by_metric.get(metric, self.over_all)


def ceilings_of(of: Gathered, inputs: PartInput) -> CeilingsOf:
    """The ceilings of a family, each over the very units of a correlation; once for all parts."""
    key = ("ceilings", of.family.estimand, *of.family.group.values())
    if key not in inputs.shared:
        inputs.shared[key] = _ceilings_of(of, inputs)
    found: CeilingsOf = inputs.shared[key]
    return found


def _ceilings_of(of: Gathered, inputs: PartInput) -> CeilingsOf:
    over_all = _ceilings(of.units, of, inputs)
    sets: dict[bytes, Ceilings] = {}
    by_metric: dict[str, Ceilings] = {}
    rows = _rows(over_all, of, "")
    untold = []
    for metric in ordered(of):
        kept = np.isfinite(of.values[metric])
        if kept.all():
            continue
        held = kept.tobytes()
        if held not in sets and len(sets) >= MOST_SETS:
            untold.append(metric)
            continue
        if held not in sets:
            sets[held] = _ceilings(of.units.only(kept), of, inputs)
        by_metric[metric] = sets[held]
    for ceilings in sets.values():
        alike = [of.called(name) for name, own in by_metric.items() if own is ceilings]
        rows += _rows(ceilings, of, listed(alike, 3))
    return CeilingsOf(over_all, by_metric, rows, untold)


def _rows(ceilings: Ceilings, of: Gathered, metrics: str) -> list[dict[str, Any]]:
    return [
        {"unit": words_of(unit, of), "statistic": NAMES[name], "scored_by": metrics, **row}
        for (unit, name), row in ceilings.items()
    ]


def _ceilings(units: Units, of: Gathered, inputs: PartInput) -> Ceilings:
    options = inputs.options
    seed = int(np.random.default_rng(of.family.seed(options.seed)).integers(2**31))
    many = len(units.score) > MANY_RATINGS
    splits, replicates = (
        (10, 200) if many else (40, 200) if len(units.own) > MANY_UNITS else (100, 500)
    )
    ceilings: dict[tuple[str, str], dict[str, Any]] = {}
    inside = units.condition[units.unit] if len(units.conditions) > 1 else None
    for unit in (STIMULUS, WITHIN) if inside is not None else (STIMULUS,):
        for statistic, name in (("spearman", "srcc"), ("pearson", "plcc")):
            half, reliability, top = noise_ceiling(
                units.unit,
                units.rater,
                units.score,
                statistic=statistic,
                splits=splits,
                replicates=replicates,
                level=options.level,
                seed=seed,
                within=inside if unit == WITHIN else None,
                neutral=estimand_of(units.estimand).neutral if units.signed else None,
            )
            ceilings[unit, name] = {
                "split_half": half.value,
                "reliability": reliability.value,
                "ceiling": top.value,
                "ceiling_low": top.low,
                "ceiling_high": top.high,
                "n": top.n_units,
                "note": top.note,
            }
    for each in condition_ceiling(units, level=options.level, seed=seed):
        row = each.row()
        row |= {"ceiling_low": row.pop("low"), "ceiling_high": row.pop("high")}
        ceilings[CONDITION, str(row.pop("statistic"))] = row
    return ceilings


def ceiling_table(of: Gathered, ceilings: CeilingsOf, suffix: str) -> list[Table]:
    """Split halves, and one rater against the others."""
    rows = list(ceilings.rows)
    columns = [
        Column("unit", "Per"),
        Column("statistic", "Coefficient"),
        Column("split_half", "Between halves", "number"),
        Column("reliability", "Spearman-Brown", "number"),
        Column("ceiling", "Ceiling", "number"),
        Column("ceiling", "Ceiling, interval", "interval"),
        Column("n", "n", "count"),
        *[Column("scored_by", "Over what is scored by")] * bool(ceilings.by_metric),
        Column("note", "Note"),
    ]
    note = (
        "Halves of the raters, drawn many times: how their means correlate, the same for the mean "
        "of all raters (Spearman-Brown), and its root, the correlation that a metric could reach "
        "which knew the true scores. Within conditions the means of these are taken away from both "
        "halves. Intervals: from a bootstrap over stimuli; per condition the middle of the splits."
    )
    note += BOTH_ORDERS * of.units.signed
    if ceilings.by_metric:
        note += " Metrics without a value for some clips have a ceiling over the others alone."
    if ceilings.untold:
        told = listed([of.called(name) for name in ceilings.untold])
        note += f" Not computed, as they miss yet other clips: {told}."
    named = "What a perfect metric could reach"
    tables = [Table(f"ceiling{suffix}", named, columns, rows, note, of.title, True)]
    alone = {each.statistic: each for each in one_against_others(of.units)}
    if alone:
        lines = [
            {"statistic": NAMES[name], "value": alone[name].value}
            | {"n_raters": alone[name].n_raters}
            | {"low": alone[name].low, "high": alone[name].high}
            for name in ("srcc", "plcc", "krcc")
        ]
        columns = [
            Column("statistic", "Coefficient"),
            Column("value", "Mean over raters", "number", sign=True),
            Column("interval", "Middle half of the raters", "interval"),
            Column("n_raters", "Raters", "count"),
        ]
        note = (
            "Each rater left out in turn and correlated with the mean of the others, over the same "
            "clips (5 or more). A metric above this follows the others better than one rater does."
            f"{BOTH_ORDERS * of.units.signed}"
        )
        named = "One rater against the others"
        tables.append(Table(f"one_rater{suffix}", named, columns, lines, note, of.title, True))
    return tables


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
