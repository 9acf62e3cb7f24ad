"""Table 4: systems under their task, by language, with a column for each criterion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from analysis.formatting import words_of
from analysis.ratings.breakdowns import Breakdown, Family
from analysis.report.content import Column, Content, Table
from analysis.report.emphasis import LEGEND, UNRANKED, with_best
from analysis.report.part import PartInput
from analysis.report.parts.att import compared
from analysis.statistics.estimators.mean_score import MeanScore

if TYPE_CHECKING:
    from analysis.statistics.estimator import Estimate

PAPER = "NVV-SuperBench"
PRINTED = 2  # decimals of the paper's table
HEADINGS = {  # of the preset's criteria, in the paper's abbreviations
    "nvv_effect": "NVV PE",
    "instruction_following": "IF",
    "nvv_instruction": "NVV IF",
    "nvv_accuracy": "NVV accuracy",
}
_NOTE = (
    "Mean and, after ±, half of the naive interval, as the paper prints it: it takes every rating "
    "as independent and is usually too narrow. The CSV has the interval that lets raters and items "
    "vary. A dash: the criterion is not asked of this task. PE: perceptual effect; IF: instruction "
    "following. Marks hold within a task and language. "
)
Row = dict[str, Any]
Tasks = Mapping[str, Sequence[Family]]


def means_table(tasks: Tasks, inputs: PartInput) -> Content:
    """Tasks as groups, in each the languages, in each the systems, all in the study's order."""
    criteria = list(dict.fromkeys(name_of(each) for found in tasks.values() for each in found))
    if not criteria:
        return Content()
    rows: list[Row] = []
    compare = compared(pd.concat([each.table for found in tasks.values() for each in found]))
    for task, found in tasks.items():
        for language in languages_of(found, inputs):
            mine = list(_rows(task, language, found, compare, inputs))
            rows += [_worded(row, criteria) for row in with_best(mine, criteria, decimals=PRINTED)]
    columns = [Column(compare, "System"), Column("language", "Language")]
    columns += [Column(f"{name}_text", heading_of(name)) for name in criteria]
    title = f"Table 4 of {PAPER}: MOS by system and language"
    return Content(tables=[Table("table4", title, columns, rows, _NOTE + LEGEND, group="task")])


def _rows(
    task: str, language: str, found: Sequence[Family], compare: str, inputs: PartInput
) -> Iterator[Row]:
    rows: dict[str, Row] = {}
    for family in found:
        table = family.table[family.table["language"] == language]
        if not len(table):
            continue
        name = name_of(family)
        beside = set(table[compare][table["role"] == "reference"])
        for system, (own, naive) in _means(table, compare, inputs).items():
            row = rows.setdefault(system, {"task": task, compare: system, "language": language})
            row[UNRANKED] = system in beside
            row |= {name: own.value, f"{name}_low": own.low, f"{name}_high": own.high}
            row |= {f"{name}_half": _half(naive), f"{name}_n": own.n_ratings}
    for system in inputs.ordered(compare, rows):
        yield rows[system]


def _means(table: Any, compare: str, inputs: PartInput) -> dict[str, tuple[Estimate, Estimate]]:
    """The clustered and the naive estimate of each system."""
    estimator = MeanScore(Breakdown(compare), ("two_way",), ("ratings",))
    made = estimator.fit(table, level=inputs.options.level, seed=inputs.options.seed)
    naive = {row.condition: row for row in made if row.interval.startswith("naive")}
    own = (row for row in made if not row.interval.startswith("naive"))
    return {row.condition: (row, naive[row.condition]) for row in own}


def _worded(row: Row, criteria: Sequence[str]) -> Row:
    for name in criteria:
        if name in row:
            half = row[f"{name}_half"]
            text = f"{row[name]:.2f}" + (f" ± {half:.2f}" if half is not None else "")
            row[f"{name}_text"] = text.replace(" ", "\u00a0")  # one line
            row[f"{name}_text_mark"] = row.get(f"{name}_mark", "")
    return row


def _half(row: Estimate) -> float | None:
    return None if row.low is None or row.high is None else (row.high - row.low) / 2


def name_of(family: Family) -> str:
    """What a column of the family is called: its criterion."""
    return family.group["criterion"] or family.estimand


def heading_of(criterion: str) -> str:
    """What a table calls a criterion: as the paper does, else its key in words."""
    return HEADINGS.get(criterion) or words_of(criterion)


def task_title(task: str, inputs: PartInput) -> str:
    """What the study calls a task; of a file, its key in words."""
    tasks = inputs.facts.get("tasks", ()) if inputs.facts else ()
    return next((t["title"] for t in tasks if t["task"] == task and t["title"]), words_of(task))


def languages_of(found: Sequence[Family], inputs: PartInput) -> list[str]:
    """The languages of these families' ratings, in the study's order."""
    return inputs.ordered(
        "language", {str(name) for each in found for name in each.table["language"].unique()}
    )
