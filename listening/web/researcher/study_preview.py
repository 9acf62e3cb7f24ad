"""What a study that is not open yet asks and plays: wording, scale, clips to hear, plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from listening.design.amounts import Amount, amount_of, sessions_of, trials_of
from listening.design.preview_trials import scales_of
from listening.design.studyfile import StimulusEntry, StudyFile, TaskEntry
from listening.design.studyfile.drawing import drawn_of
from listening.design.traps import TrapPlan
from listening.methods import Scale, method_named

MOST_SYSTEMS = 24
MOST_CLIPS = 2  # of each
MOST_ANSWERS = 12  # more are said by their ends


def what_it_is(study: StudyFile, address: Callable[[StimulusEntry], str]) -> dict[str, Any]:
    """`study` holds what its settings make; `address` is that of a clip."""
    tasks = [_task(study, task) for task in study.tasks]
    systems = [c for c in study.conditions if not c.derived]
    by_condition: dict[str, list[StimulusEntry]] = {c.key: [] for c in systems}
    for entry in study.stimuli:
        by_condition.get(entry.condition, []).append(entry)
    return {
        "tasks": tasks,
        "sessions": sessions_of((t["amount"].sessions for t in tasks), study.task_plan),
        "ratings": sum(task["amount"].ratings for task in tasks),
        "systems": [
            {
                "key": c.key,
                "label": c.label or c.key,
                "role": c.role if c.role != "test" else "",
                "count": len(by_condition[c.key]),
                "clips": [
                    {"item": entry.item, "url": address(entry)}
                    for entry in by_condition[c.key][:MOST_CLIPS]
                ],
            }
            for c in systems[:MOST_SYSTEMS]
        ],
        "more_systems": max(len(systems) - MOST_SYSTEMS, 0),
    }


def _task(study: StudyFile, task: TaskEntry) -> dict[str, Any]:
    method = method_named(task.method)
    amount: Amount = amount_of(trials_of(study, task), task)
    questions = [
        {"question": criterion.question, "help": criterion.help_text, "scale": _scale(scale)}
        for criterion, scale in zip(task.criteria, scales_of(task), strict=True)
    ]
    traps = TrapPlan.from_dict(task.traps)
    return {
        "task": task,
        "method": method.title,
        "questions": questions,
        "amount": amount,
        "drawn": drawn_of(task),
        "traps": traps.sets_for(task.block_size) * traps.traps_per_set * task.blocks_per_session,
        "reasons": task.justification.get("required") if task.justification else None,
    }


def _scale(scale: Scale) -> str:
    """Its answers, as raters read them."""
    words = [
        f"{step.label} {step.text}" if step.text and step.text != step.label else step.label
        for step in scale.steps
    ]
    if scale.span is not None:
        low, high, step = scale.span
        return f"{low:g} to {high:g} in steps of {step:g}" + (f": {', '.join(words)}" * bool(words))
    if scale.widget == "text":
        return f"words of their own, at most {scale.longest} characters"
    if scale.widget == "ranking":
        return "an order, the best first"
    return ", ".join(words) if len(words) <= MOST_ANSWERS else f"{words[0]} to {words[-1]}"
