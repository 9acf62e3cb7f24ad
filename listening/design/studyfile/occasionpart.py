"""Whether questionnaires between tasks and blocks fit the tasks of the study, and their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from listening.design.occasions import BETWEEN_BLOCKS, Column, TaskPlan, columns_of, occasions_of
from listening.design.studyfile.entries import TaskEntry
from listening.design.studyfile.problems import Notebook, did_you_mean, quoted


def plans_of(tasks: Iterable[Any]) -> list[TaskPlan]:
    """Of tasks as a study folder or the database has them."""
    return [TaskPlan(task.key, task.blocks_per_session) for task in tasks]


def check_occasions(
    questionnaires: Sequence[Mapping[str, Any]], tasks: Sequence[TaskEntry], notes: Notebook
) -> None:
    """Every task that is named is one of the study's, and every questionnaire is asked at all."""
    plans = plans_of(tasks)
    known = [plan.key for plan in plans if plan.key]
    for n, questionnaire in enumerate(questionnaires, start=1):
        where = f"questionnaires[{n}]"
        strange = [key for key in questionnaire.get("task", ()) if key not in known]
        for key in strange:
            what = f"The study has no task “{key}”."
            notes.toml(f"{where}.task", what, did_you_mean(key, known))
        if questionnaire["when"] == BETWEEN_BLOCKS and not strange:
            _check_blocks(questionnaire, plans, where, notes)
    _check_columns(questionnaires, plans, notes)


def _check_blocks(
    questionnaire: Mapping[str, Any], plans: Sequence[TaskPlan], where: str, notes: Notebook
) -> None:
    asked = {occasion.task_key for occasion in occasions_of(questionnaire, plans)}
    named = questionnaire.get("task", ())
    never = [p for p in plans if p.key not in asked and (p.key in named or not (named or asked))]
    if not never:
        return
    every = questionnaire["every"]
    counts = ", ".join(f"{plan.blocks} of {quoted([plan.key])}" for plan in never)
    what = f"This would never be asked: a session has no block after {every} ({counts})."
    remedy = 'Raise blocks_per_session, name other tasks, or write when = "after_task".'
    if any(plan.blocks > 1 for plan in never):
        remedy = f"Lower every. {remedy}"
    notes.toml(f"{where}.{'task' if named else 'when'}", what, remedy)


def _check_columns(
    questionnaires: Sequence[Mapping[str, Any]], plans: Sequence[TaskPlan], notes: Notebook
) -> None:
    """No two answers share a column of sessions.csv: one of them would be lost there."""
    first: dict[str, Column] = {}
    for n, questionnaire in enumerate(questionnaires, start=1):
        for column in columns_of(questionnaire, plans):
            if first.setdefault(column.name, column) != column:
                what = f"Other answers have the column {column.name} of sessions.csv already."
                notes.toml(f"questionnaires[{n}].key", what, "Give it another key.")
                break
