"""What a task asks of an answer, read once per process; and the clips of a trial under them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

from listening.common.secret_seeds import rng_of
from listening.design.occasions import asks_between
from listening.design.traps import TrapPlan
from listening.methods import Method, Part, PlannedTrial, Playback, Scale, method_named
from listening.models import Task


@dataclass(frozen=True)
class CriterionRules:
    """A criterion as answers are checked against it."""

    pk: int
    key: str
    scale: Scale


@dataclass(frozen=True)
class TaskRules:
    """What a task asks of an answer; of one whose blocks are planned, only words may change."""

    method: Method
    playback: Playback
    criteria: tuple[CriterionRules, ...]
    justification: Mapping[str, Any]
    traps: TrapPlan
    reopen_invalid: bool
    show_text: bool
    show_caption: bool
    autoplay: bool
    lease_s: int
    place: int  # of the task in its study, from 1
    asks_between: bool  # whether the study has questionnaires between tasks or blocks

    @property
    def judges_blocks(self) -> bool:
        """Whether a block whose traps failed goes to somebody else."""
        return self.reopen_invalid and bool(self.traps.kinds)


@lru_cache(maxsize=512)
def task_rules(task: int) -> TaskRules:
    row = Task.objects.select_related("study").get(pk=task)
    criteria = tuple(
        CriterionRules(c.pk, c.key, Scale.from_dict(c.scale))
        for c in row.criteria.order_by("order")
    )
    method = method_named(row.method)
    return TaskRules(
        method,
        method.playback(row.options),
        criteria,
        row.justification,
        TrapPlan.from_dict(row.traps),
        row.reopen_invalid,
        row.show_text,
        row.show_caption,
        row.autoplay,
        row.study.lease_s,
        row.order + 1,
        asks_between(row.study.questionnaires),
    )


def parts_of(method: Method, trial: Any, draws: str = "") -> list[Part]:
    """The clips of a trial as its rater meets them; a preview brings draws of its own."""
    planned = PlannedTrial(
        item=trial.item_id,
        column="",
        rated=(trial.stimulus_id, *trial.others),
        versus=trial.versus_id,
        context=tuple(trial.context),
    )
    rng = Random(draws) if draws else rng_of(trial.code)
    return method.parts(planned, versus_first=trial.versus_first, rng=rng)
