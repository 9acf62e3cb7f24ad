"""What a perfect metric could reach, and one rater against the others, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.formatting import listed
from analysis.ratings.estimands import estimand_of
from analysis.report.content import Column, Table
from analysis.report.part import PartInput
from analysis.report.parts.against_people.metric_data import Gathered
from analysis.report.parts.against_people.metric_tables import (
    BOTH_ORDERS,
    NAMES,
    Ceilings,
    ordered,
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
)

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
