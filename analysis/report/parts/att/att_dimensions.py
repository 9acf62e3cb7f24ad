"""Figure 2b and Table 6 of the paper: systems and their voices in each dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.formatting import enumerated
from analysis.name_spans import condition_span, family_prefix, family_span
from analysis.ratings.breakdowns import Family
from analysis.ratings.grouping import Breakdown
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.emphasis import LEGEND, UNRANKED, with_best
from analysis.report.part import PartInput
from analysis.report.parts.att.att_means import PAPER, means, references
from analysis.statistics.correlations import rank_distance
from analysis.statistics.estimator import Estimate

PRINTED = 4  # decimals of the paper's Table 6
_NOTE = (
    "Means of labels, voices and dimensions in the order of the study. With few labels in a cell "
    "its value is rough; the breakdown by voice and dimension has intervals."
)
_AVERAGES = "An average is that of the dimensions, each with equal weight; it is in the CSV."
_TAKEN = ("system", "voice", "overall", "average", UNRANKED)
Cells = dict[tuple[str, str], Estimate]


def _key(dimension: str) -> str:
    """Of the rows: the dimension's own name, unless another column has it."""
    return f"dimension {dimension}" if dimension in _TAKEN else dimension


def by_dimension(
    family: Family, compare: str, inputs: PartInput, title: str, suffix: str
) -> Content:
    """The systems in each dimension, and their order beside the one overall."""
    named = family.table[family.table["dimension"] != ""]
    if not len(named):
        told = (
            f"{family_prefix(title)}no dimensions are named (column dimension), so Figure 2b "
            "is not there."
        )
        return Content([told])
    overall = means(family.table, Breakdown(compare), inputs)
    overall.sort(key=lambda row: (-row.value, row.condition))
    made = means(named, Breakdown(compare, ("dimension",)), inputs)
    cells = {(row.condition, row.group["dimension"]): row for row in made}
    dimensions = inputs.ordered("dimension", {row.group["dimension"] for row in made})
    rows = [
        {"group": dimension, "name": each.condition}
        | {"value": cell.value, "low": cell.low, "high": cell.high}
        for dimension in dimensions
        for each in overall
        if (cell := cells.get((each.condition, dimension))) is not None
    ]
    figure = Figure(
        f"figure2b{suffix}",
        f"Figure 2b of {PAPER}: human-likeness of the systems in each "
        f"dimension{family_span(title, ' · {}')}",
        "intervals",
        rows,
        x="Human-likeness score",
        ends=(0.0, 1.0),
        note="In each dimension systems stand in the order of their means over all labels.",
        about=title,
    )
    table = _systems_table(family, compare, overall, cells, dimensions, title, suffix)
    return Content(list(_orders(overall, cells, dimensions)), [figure], [table])


def _systems_table(
    family: Family,
    compare: str,
    overall: Sequence[Estimate],
    cells: Cells,
    dimensions: Sequence[str],
    title: str,
    suffix: str,
) -> Table:
    beside = references(family.table, compare)
    rows: list[dict[str, Any]] = []
    for each in overall:
        row = {"system": each.condition, "overall": each.value, UNRANKED: each.condition in beside}
        for name in dimensions:
            cell = cells.get((each.condition, name))
            row[_key(name)] = None if cell is None else cell.value
        rows.append(row)
    columns = [Column("system", "System"), Column("overall", "Overall", "number")]
    columns += [Column(_key(name), name, "number") for name in dimensions]
    marked = with_best(rows, ["overall", *map(_key, dimensions)])
    heading = f"Human-likeness of the systems by dimension{family_span(title, ' · {}')}"
    return Table(f"dimensions{suffix}", heading, columns, marked, LEGEND, title)


def _orders(overall: Sequence[Estimate], cells: Cells, dimensions: Sequence[str]) -> list[str]:
    """How the order of the systems in each dimension differs from the one overall."""
    apart: dict[str, float] = {}
    for name in dimensions:
        both = [row for row in overall if (row.condition, name) in cells]
        if len(both) > 1:
            inside = np.array([cells[row.condition, name].value for row in both])
            distance = rank_distance(np.array([row.value for row in both]), inside)
            apart[name] = distance.distance
    if not apart:
        return []
    same = [name for name, distance in apart.items() if distance == 0]
    furthest = max(apart, key=lambda name: apart[name])
    told = f"In {len(same)} of {len(apart)} dimensions the systems stand in the order of all labels"
    if len(same) < len(apart):
        told += f"; furthest from it is {furthest}, with a normalised Kendall distance of "
        told += f"{apart[furthest]:.3f}"
    return [f"{told}."]


def by_voice(family: Family, compare: str, inputs: PartInput, title: str, suffix: str) -> Content:
    """Table 6, voices under their systems by dimension, with its heat map."""
    table = family.table
    lacking = [name for name in ("voice", "dimension") if not (table[name] != "").any()]
    if lacking:
        told = (
            f"{family_prefix(title)}Table 6 is not there, as no rating names a "
            f"{enumerated(lacking)}."
        )
        return Content([told])
    cells = means(table, Breakdown(compare, ("voice", "dimension")), inputs)
    dimensions = inputs.ordered("dimension", {row.group["dimension"] for row in cells})
    rows = _voice_rows(cells, compare, dimensions, table, inputs)
    rows = with_best(rows, list(map(_key, dimensions)), decimals=PRINTED)
    columns = [Column("voice", "Voice")]
    columns += [Column(_key(name), name, "number", PRINTED) for name in dimensions]
    named = (
        f"Table 6 of {PAPER}: human-likeness of voices by dimension{family_span(title, ' · {}')}"
    )
    drawn = [
        {"row": f"{row['system']} {row['voice']}", "column": name, "value": row.get(_key(name))}
        for row in rows
        for name in dimensions
    ]
    figure = Figure(
        f"voices{suffix}", named, "heatmap", drawn, "Dimension", "Voice", (0.0, 1.0), about=title
    )
    note = f"{_NOTE} {_AVERAGES} {LEGEND}"
    made = Table(f"table6{suffix}", named, columns, rows, note, title, group="system")
    return Content(_reach(rows), [figure], [made])


def _voice_rows(
    cells: Sequence[Estimate],
    compare: str,
    dimensions: Sequence[str],
    table: Any,
    inputs: PartInput,
) -> list[dict[str, Any]]:
    """A row per voice, in the study's order of systems and voices."""
    beside = references(table, compare)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for cell in cells:
        key = (cell.condition, cell.group["voice"])
        row = found.setdefault(key, {"system": key[0], "voice": key[1], UNRANKED: key[0] in beside})
        row[_key(cell.group["dimension"])] = cell.value
    for row in found.values():
        held = [row[_key(name)] for name in dimensions if _key(name) in row]
        row["average"] = sum(held) / len(held)
    systems = inputs.ordered(compare, (system for system, _ in found))
    voices = inputs.ordered("voice", (voice for _, voice in found))
    return [found[s, v] for s in systems for v in voices if (s, v) in found]


def _reach(rows: Sequence[dict[str, Any]]) -> list[str]:
    """From which to which voice each system reaches."""
    told = []
    for system in dict.fromkeys(row["system"] for row in rows):
        mine = sorted((r for r in rows if r["system"] == system), key=lambda row: row["average"])
        low, high = mine[0], mine[-1]
        if len(mine) > 1:
            told.append(
                f"{condition_span(system)} {low['average']:.2f} ({low['voice']}) to "
                f"{high['average']:.2f} "
                f"({high['voice']})"
            )
    return [f"Voices, by the average over dimensions: {'; '.join(told)}."] if told else []
