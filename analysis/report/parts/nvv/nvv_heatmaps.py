"""Figure 2: mean scores of systems by type of vocalisation, in each task and language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.ratings.breakdowns import Family
from analysis.ratings.estimands import estimand_of
from analysis.report.content import Content, Figure
from analysis.report.part import PartInput
from analysis.report.parts.att import compared
from analysis.report.parts.nvv.nvv_means import (
    PAPER,
    Tasks,
    heading_of,
    languages_of,
    name_of,
    task_title,
)
from analysis.report.parts.nvv.nvv_objective import Inventory

UNSUPPORTED, UNRATED = "–", "?"  # in cells without a value
ABOUT = "nvv"  # in the names of criteria about vocalisations, whose scale has a 0 for absent
_NOTE = (
    "Types in the study's order; systems by falling mean of their row. Colours run over the whole "
    "scale, so that panels can be compared."
)
_CELLS = f" {UNSUPPORTED}: the system does not support the type; {UNRATED}: supported, not rated."
_UNTOLD = (
    f" {UNRATED}: not rated. No inventory says which types a system supports: give its condition "
    "the attribute nvv_types."
)


def heatmaps(tasks: Tasks, known: Mapping[str, Inventory], inputs: PartInput) -> Content:
    """A panel for each language, criterion about vocalisations (or any), and task."""
    figures = []
    every = [family for found in tasks.values() for family in found]
    for language in languages_of(every, inputs):
        for task, found in tasks.items():
            about = [each for each in found if ABOUT in name_of(each).lower()]
            for family in about or found:
                figures += _panel(task, language, family, known, inputs)
    return Content(figures=figures)


def _panel(
    task: str, language: str, family: Family, known: Mapping[str, Inventory], inputs: PartInput
) -> list[Figure]:
    table = family.table[family.table["language"] == language]
    table = table[table["dimension"] != ""]
    if table["dimension"].nunique() < 2:
        return []
    criterion = name_of(family)
    grid = table.groupby([compared(table), "dimension"], observed=True)["score"].mean().unstack()
    kinds = inputs.ordered("dimension", map(str, grid.columns))
    place = {
        name: at for at, name in enumerate(inputs.ordered(compared(table), map(str, grid.index)))
    }
    means = grid.mean(axis=1)
    systems = sorted(map(str, grid.index), key=lambda name: (-means[name], place[name]))
    rows = [_cell(s, kind, grid.loc[s, kind], known.get(s)) for s in systems for kind in kinds]
    own = [name for name in systems if name in known]
    at = f" · {language}" if language else ""
    key = "-".join(part for part in ("heatmap", task, criterion, language) if part)
    title = f"Figure 2 of {PAPER}: mean {heading_of(criterion)} by type"
    title += f" · {task_title(task, inputs)}{at}"
    ends = _ends(family, criterion)
    note = _NOTE + (_CELLS if own or not known else "") + (_UNTOLD if not own else "")
    return [Figure(key, title, "heatmap", rows, "Type", "System", ends, note=note)]


def _cell(system: str, kind: str, mean: Any, inventory: Inventory | None) -> dict[str, Any]:
    """A cell; without a value it says why: not supported, or not rated."""
    row: dict[str, Any] = {"row": system, "column": kind, "value": None}
    if not pd.isna(mean):
        return {**row, "value": float(mean)}
    supported = inventory is None or inventory.holds(kind)
    return {**row, "text": UNRATED if supported else UNSUPPORTED}


def _ends(family: Family, criterion: str) -> tuple[float, float] | None:
    """The ends of the scale, with the 0 for an absent vocalisation."""
    absent = ABOUT in criterion.lower()
    scores = family.table["score"]
    scores = scores[scores > 0] if absent else scores  # the 0 is no point of the scale
    if not len(scores):
        return None
    ends = estimand_of(family.estimand).ends_for(float(scores.min()), float(scores.max()))
    return (0.0, ends[1]) if ends and absent else ends
