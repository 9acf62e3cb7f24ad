"""What a perfect metric could reach, and one rater against the others, as tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis.report.content import Column, Table
from analysis.report.part import PartInput
from analysis.report.parts.against_people.metric_data import Gathered
from analysis.report.parts.against_people.metric_tables import NAMES, Ceilings, words_of
from analysis.statistics.agreement import noise_ceiling
from analysis.statistics.metric_agreement import (
    CONDITION,
    STIMULUS,
    WITHIN,
    condition_ceiling,
    one_against_others,
)

MANY_UNITS, MANY_RATINGS = 1000, 100_000


def ceilings_of(of: Gathered, inputs: PartInput) -> tuple[Ceilings, list[dict[str, Any]]]:
    """What a perfect metric could reach, for each kind of line; and rows of a table."""
    units, options = of.units, inputs.options
    seed = int(np.random.default_rng(of.family.seed(options.seed)).integers(2**31))
    many = len(units.score) > MANY_RATINGS
    splits, replicates = (
        (10, 200) if many else (40, 200) if len(units.own) > MANY_UNITS else (100, 500)
    )
    found: dict[tuple[str, str], dict[str, Any]] = {}
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
            )
            found[unit, name] = {
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
        found[CONDITION, str(row.pop("statistic"))] = row
    rows = [
        {"unit": words_of(unit, of), "statistic": NAMES[name], **row}
        for (unit, name), row in found.items()
    ]
    return found, rows


def ceiling_table(of: Gathered, rows: list[dict[str, Any]], suffix: str) -> list[Table]:
    """Split halves, and one rater against the others."""
    columns = [
        Column("unit", "Per"),
        Column("statistic", "Coefficient"),
        Column("split_half", "Between halves", "number"),
        Column("reliability", "Spearman-Brown", "number"),
        Column("ceiling", "Ceiling", "number"),
        Column("ceiling", "Ceiling, interval", "interval"),
        Column("n", "n", "count"),
        Column("note", "Note"),
    ]
    note = (
        "Halves of the raters, drawn many times: how their means correlate, the same for the mean "
        "of all raters (Spearman-Brown), and its root, the correlation that a metric could reach "
        "which knew the true scores. Within conditions the means of these are taken away from both "
        "halves. Intervals: from a bootstrap over stimuli; per condition the middle of the splits."
    )
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
        )
        named = "One rater against the others"
        tables.append(Table(f"one_rater{suffix}", named, columns, lines, note, of.title, True))
    return tables
