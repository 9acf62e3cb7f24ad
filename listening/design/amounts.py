"""What tasks come to before anything is stored: screens and sessions, by the planning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import fmean
from typing import Any, Protocol

from listening.design.blocks import plan_blocks
from listening.design.studyfile import StudyFile, TaskEntry
from listening.design.studyfile.drawing import is_scattered, only_drawn, takes_of
from listening.methods import StimulusRef, method_named
from listening.methods.method import PlannedTrial


class Asked(Protocol):
    """A task, of a file or stored."""

    @property
    def block_size(self) -> int: ...
    @property
    def ratings_per_stimulus(self) -> int: ...
    @property
    def blocks_per_session(self) -> int: ...
    @property
    def repeat_items(self) -> bool: ...
    @property
    def material(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Amount:
    """One task: `trials` are screens of one replicate, `ratings` those of all."""

    columns: int  # conditions, or pairs of them
    items: int
    trials: int
    ratings: int
    sessions: int
    screens_each: int  # of a session, without traps
    clips_together: float  # rated on one screen


def amount_of(trials: Sequence[PlannedTrial], task: Asked) -> Amount:
    """Counted in the blocks that opening the study would plan; each replicate has as many."""
    blocks = 0
    if trials and task.block_size > 0:
        planned = plan_blocks(
            trials,
            block_size=task.block_size,
            replicates=1,
            seed=0,
            repeat_items=task.repeat_items,
            scattered=is_scattered(task.material.get("draw", {})),
        )
        blocks = sum(1 for _ in planned)
    in_session = max(task.blocks_per_session, 1)
    return Amount(
        columns=len({trial.column for trial in trials}),
        items=len({trial.item for trial in trials}),
        trials=len(trials),
        ratings=len(trials) * task.ratings_per_stimulus,
        sessions=ceil(blocks * task.ratings_per_stimulus / in_session),
        screens_each=task.block_size * in_session,
        clips_together=fmean(len(trial.rated) for trial in trials) if trials else 1.0,
    )


def sessions_of(needs: Iterable[int], task_plan: str) -> int:
    """Sessions that fill all tasks once: each rater takes all of them, or one."""
    return sum(needs) if task_plan == "one" else max(needs, default=0)


def material_of(study: StudyFile, task: TaskEntry) -> list[StimulusRef]:
    """What a task rates, by places in the study: its conditions, or all that settings did not
    make, of these what was drawn; never traps."""
    conditions = {c.key: c for c in study.conditions}
    items = {item.key: n for n, item in enumerate(study.items)}
    takes = takes_of(task, {item.key: item.dimension for item in study.items})
    named = task.conditions or [c.key for c in study.conditions if not c.derived]
    return [
        StimulusRef(n, items[s.item], s.condition, conditions[s.condition].role)
        for n, s in enumerate(study.stimuli)
        if s.condition in named and takes(s)
    ]


def trials_of(study: StudyFile, task: TaskEntry) -> list[PlannedTrial]:
    """The screens of one replicate, by places in the study."""
    planned = method_named(task.method).trials(material_of(study, task), task.options)
    return only_drawn(planned, task.draw, {n: item.key for n, item in enumerate(study.items)})
