"""Figure 2a of the paper: the systems overall and by split, and whether both order them alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.formatting import enumerated
from analysis.name_spans import family_prefix, family_span
from analysis.ratings.breakdowns import Family
from analysis.ratings.grouping import Breakdown
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import PartInput
from analysis.report.parts.att.att_means import PAPER, means
from analysis.statistics.correlations import rank_distance
from analysis.statistics.estimator import Contrast, Estimate
from analysis.statistics.estimators.mean_score import MeanScore

_NOTE = (
    "Means of labels. The difference has a two-way clustered interval of its own; the splits have "
    "different items, so it is about how hard they are as much as about the system."
)


def by_split(family: Family, compare: str, inputs: PartInput, title: str, suffix: str) -> Content:
    """The systems overall and in each split; the check needs two splits, and says so else."""
    named = family.table[family.table["split"] != ""]
    splits = inputs.ordered("split", named["split"].unique())
    overall = means(family.table, Breakdown(compare), inputs)
    overall.sort(key=lambda row: (-row.value, row.condition))
    cells = {
        (row.condition, row.group["split"]): row
        for row in (means(named, Breakdown(compare, ("split",)), inputs) if splits else [])
    }
    figure = _figure(overall, cells, splits, title, suffix)
    if len(splits) != 2:
        held = enumerated(splits) or "none"
        told = (
            f"{family_prefix(title)}no check between splits, which takes two (column split); "
            f"named: {held}."
        )
        return Content([told], [figure])
    both = [row for row in overall if all((row.condition, name) in cells for name in splits)]
    if len(both) < 2:
        told = (
            f"{family_prefix(title)}no check between splits: fewer than two systems have "
            "ratings in both."
        )
        return Content([told], [figure])
    sentence = _sentence([row.condition for row in both], cells, splits)
    differences = _differences(named, compare, inputs)
    level = inputs.options.level
    table = _table(both, cells, differences, splits, level, (title, suffix))
    return Content([sentence], [figure], [table])


def _figure(
    overall: Sequence[Estimate],
    cells: dict[tuple[str, str], Estimate],
    splits: Sequence[str],
    title: str,
    suffix: str,
) -> Figure:
    rows = []
    for each in overall:
        inside = [(split, cells.get((each.condition, split))) for split in splits]
        for name, row in [("Overall", each), *inside]:
            if row is not None:
                drawn = {"name": name, "value": row.value, "low": row.low, "high": row.high}
                rows.append(drawn | {"group": each.condition})
    heading = f"Figure 2a of {PAPER}: human-likeness of the systems, overall"
    heading += " and by split" * bool(splits)
    return Figure(
        f"figure2a{suffix}",
        f"{heading}{family_span(title, ' · {}')}",
        "intervals",
        rows,
        x="Human-likeness score",
        ends=(0.0, 1.0),
        note="Systems by falling mean over all labels; two-way clustered intervals.",
        about=title,
    )


def _differences(named: Any, compare: str, inputs: PartInput) -> dict[str, Contrast]:
    """The difference between the two splits of each system."""
    made = MeanScore(Breakdown("split", (compare,)), ("two_way",), ("ratings",))
    every = made.contrasts(named, level=inputs.options.level, seed=inputs.options.seed)
    return {row.group[compare]: row for row in every if not row.interval.startswith("naive")}


def _sentence(
    systems: Sequence[str],
    cells: dict[tuple[str, str], Estimate],
    splits: Sequence[str],
) -> str:
    first, second = (np.array([cells[name, split].value for name in systems]) for split in splits)
    apart = rank_distance(first, second)
    p = "" if apart.p is None else f" (p {apart.p:.2g} against no agreement)"
    return (
        f"The splits {splits[0]} and {splits[1]} order the {len(systems)} systems with a "
        f"normalised Kendall distance of {apart.distance:.3f}{p}: 0 is the same order, 0.5 none in "
        "common."
    )


def _table(
    systems: Sequence[Estimate],
    cells: dict[tuple[str, str], Estimate],
    differences: dict[str, Contrast],
    splits: Sequence[str],
    level: float,
    named: tuple[str, str],
) -> Table:
    title, suffix = named
    ranks = {split: _ranks(systems, cells, split) for split in splits}
    rows = []
    for each in systems:
        name = each.condition
        row: dict[str, Any] = {"system": name, "overall": each.value}
        for number, split in enumerate(splits, start=1):
            row |= {f"split{number}": cells[name, split].value, f"rank{number}": ranks[split][name]}
        row |= _difference(differences.get(name), splits[0])
        rows.append(row)
    columns = [Column("system", "System"), Column("overall", "Overall", "number")]
    for number, split in enumerate(splits, start=1):
        columns.append(Column(f"split{number}", split, "number"))
        columns.append(Column(f"rank{number}", f"Place, {split}", "count"))
    columns.append(Column("difference", f"{splits[0]} − {splits[1]}", "number", sign=True))
    columns.append(Column("difference", f"{level:.0%}", "interval"))
    return Table(
        f"splits{suffix}",
        f"Systems by split{family_span(title, ' · {}')}",
        columns,
        rows,
        _NOTE,
        title,
    )


def _ranks(
    systems: Sequence[Estimate], cells: dict[tuple[str, str], Estimate], split: str
) -> dict[str, int]:
    """Places from 1; equal means share the better one."""
    values = {row.condition: cells[row.condition, split].value for row in systems}
    return {name: 1 + sum(v > value for v in values.values()) for name, value in values.items()}


def _difference(found: Contrast | None, first: str) -> dict[str, Any]:
    """The difference with its interval, the first split minus the second."""
    if found is None:
        return {"difference": None}
    low, high = found.low, found.high
    if found.condition == first:
        return {"difference": found.value, "difference_low": low, "difference_high": high}
    turned = (None if high is None else -high, None if low is None else -low)
    return {"difference": -found.value} | dict(
        zip(("difference_low", "difference_high"), turned, strict=True)
    )
