"""Rules that judge a block by its traps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import numpy as np

from analysis.statistics.screening.rule import Reasons, Rule, no_reasons

if TYPE_CHECKING:
    import pandas as pd

Needed = tuple[tuple[str, int, int], ...]  # (kind of trap, passes, of)
_UNSAFE = re.compile(r"[%,=/\s]")


@dataclass(frozen=True)
class AttTraps(Rule):
    """A block counts only if each kind of trap was passed often enough (Audio Turing Test, 3.2).

    ``needed`` holds (kind, passes, set_size): of every ``set_size`` traps of the kind, ``passes``
    must be passed; a block that holds several such sets must pass in each. A block in which a trap
    is still unanswered is incomplete, and does not count. Kinds that a task never uses ask nothing.
    """

    key = "att_traps"
    title = "Audio Turing Test: traps failed"
    needed: Needed = (("flawed", 1, 1), ("human", 1, 2))
    methods: tuple[str, ...] = ("att",)

    def reasons(self, table: pd.DataFrame) -> Reasons:
        judged = table["method"].isin(self.methods).to_numpy(dtype=bool)
        reasons = no_reasons(table)
        for _, task in table[judged].groupby(["study", "task"], sort=False):
            used = tuple(need for need in self.needed if (task["trap"] == need[0]).any())
            at = table.index.get_indexer(task.index)
            reasons[at] = _verdicts(task, used, planned=False)
        return reasons

    def describe(self) -> str:
        traps = f"{_needed_text(self.needed)} ({', '.join(self.methods)} tasks)"
        return f"blocks that did not pass {traps}"


@dataclass(frozen=True)
class TaskTraps(Rule):
    """A block counts only if it passes the traps that the study plans for its task.

    ``plans`` holds (task, needed), whatever the task's method; ``needed`` is as in AttTraps. A
    block in which a planned trap is unanswered does not count. Other tasks are not judged.
    """

    key = "task_traps"
    title = "Traps of the study failed"
    plans: tuple[tuple[str, Needed], ...]

    def reasons(self, table: pd.DataFrame) -> Reasons:
        needed = dict(self.plans)
        reasons = no_reasons(table)
        for (_, name), task in table.groupby(["study", "task"], sort=False):
            if str(name) in needed:
                at = table.index.get_indexer(task.index)
                reasons[at] = _verdicts(task, needed[str(name)], planned=True)
        return reasons

    def describe(self) -> str:
        traps = "; ".join(f"{_needed_text(needed)} in task {task}" for task, needed in self.plans)
        return f"blocks that did not pass the study's traps: {traps}"

    def text(self) -> str:
        """The plans as `rule_from` reads them: TASK/KIND=PASSES/OF, commas between."""
        parts = [
            f"{task}/{_UNSAFE.sub(lambda match: quote(match[0], safe=''), kind)}"
            f"={passes}/{set_size}"
            for task, needed in self.plans
            for kind, passes, set_size in needed
        ]
        return ",".join(parts)


def task_traps(pairs: Sequence[Sequence[str]]) -> TaskTraps:
    plans: dict[str, list[tuple[str, int, int]]] = {}
    for name, passes in pairs:
        task, _, kind = name.partition("/")
        if not task or not kind:
            raise ValueError(f"task_traps: {name!r}; write TASK/KIND=passes/of, like att/human=1/2")
        plans.setdefault(task, []).append(needed_of(unquote(kind), passes))
    if not plans:
        raise ValueError("task_traps needs the plan; write task_traps:TASK/KIND=passes/of")
    return TaskTraps(tuple((task, tuple(needed)) for task, needed in plans.items()))


def _needed_text(needed: Needed) -> str:
    return " and ".join(
        f"{passes} of {set_size} “{kind}” traps" for kind, passes, set_size in needed
    )


def _verdicts(task: pd.DataFrame, needed: Needed, *, planned: bool) -> Reasons:
    """For each row of a task (n,): why its block does not count, or an empty text.

    What is not known to be planned is taken to be as much as some block of the task has.
    """
    block = task.groupby(["session", "block"], sort=False).ngroup().to_numpy(dtype=np.int64)
    blocks = int(block.max(initial=-1)) + 1
    kind = task["trap"].to_numpy(dtype=object)
    passed = task["trap_passed"].fillna(False).to_numpy(dtype=bool)
    verdict = np.full(blocks, "", dtype=object)
    for name, passes, set_size in needed:
        is_kind = kind == name
        shown = np.bincount(block[is_kind], minlength=blocks)
        right = np.bincount(block[is_kind & passed], minlength=blocks)
        wanted = passes * np.maximum(1, shown // set_size)
        whole = set_size if planned else min(set_size, shown.max())
        for i in np.flatnonzero((shown < whole) & (verdict == "")):
            verdict[i] = f"its block is incomplete: {shown[i]} “{name}” traps were answered"
        for i in np.flatnonzero((right < wanted) & (verdict == "")):
            result = f"{right[i]} of {shown[i]} “{name}” traps, {wanted[i]} needed"
            verdict[i] = f"its block passed {result}"
    return np.asarray(verdict[block], dtype=object)


def needed_of(kind: str, passes: str) -> tuple[str, int, int]:
    right, _, set_size = passes.partition("/")
    try:
        needed = (kind, int(right), int(set_size or right))
    except ValueError:
        needed = (kind, 0, 0)
    if not 1 <= needed[1] <= needed[2]:
        raise ValueError(f"{kind}={passes!r} is no trap rule; write passes/of, such as {kind}=1/2")
    return needed
