"""Whose a study is, and the traps that it plans."""

from __future__ import annotations

from typing import Any, TypedDict

from listening.design.traps import TrapPlan
from listening.models import Study, Task


class PlannedTrap(TypedDict):
    """A kind of trap in a task's plan: of every ``count``, ``pass_at_least`` must be passed."""

    kind: str
    count: int
    pass_at_least: int


def trap_plans(study: str) -> dict[str, list[PlannedTrap]]:
    """The traps of each task that has some, by the task's key, in the order of the tasks."""
    tasks = Task.objects.filter(study__key=study).order_by("order")
    plans = {task.key: TrapPlan.from_dict(task.traps).kinds for task in tasks}
    return {
        key: [PlannedTrap(kind=k.kind, count=k.count, pass_at_least=k.pass_at_least) for k in kinds]
        for key, kinds in plans.items()
        if kinds
    }


class StudyHead(TypedDict):
    """What another room's page shows of a study."""

    key: str
    title: str


def study_head(study: str, user: Any) -> StudyHead | None:
    """The study, if it is this researcher's or they are a superuser; else None."""
    studies = Study.objects.filter(key=study)
    found = (studies if user.is_superuser else studies.filter(owner=user.pk)).first()
    return StudyHead(key=found.key, title=found.title) if found else None
