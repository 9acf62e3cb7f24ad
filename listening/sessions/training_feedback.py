"""What the page says after a training trial: the study's words, else plain ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from listening.methods import Scale
from listening.models import Stimulus, Task
from listening.sessions.answer_statements import LoadedTrial
from listening.sessions.task_rules import TaskRules


def training_feedback(
    rules: TaskRules, trial: LoadedTrial, right: bool, language: str
) -> dict[str, Any]:
    """What is said after one answer, in the words that the study has in this language."""
    task = Task.objects.get(pk=trial.task_id)  # its words may have been corrected
    words, first = task.translations.get(language, {}), rules.criteria[0]
    stimulus = Stimulus.objects.values_list("key", flat=True).get(pk=trial.stimulus_id)
    entry: Mapping[str, Any] = next((e for e in task.training if e["stimulus"] == stimulus), {})
    entry = {**entry, **words.get("training", {}).get(stimulus, {})}
    names = words.get("criteria", {}).get(first.key, {}).get("names", {})
    scale = Scale.from_dict(task.criteria.get(pk=first.pk).scale).named(names)
    return feedback_on(entry, json.loads(trial.expected), scale, right)


def feedback_on(
    entry: Mapping[str, Any], expected: Sequence[str], scale: Scale, right: bool
) -> dict[str, Any]:
    """The same for an entry of a task's training; without an expected answer none is right."""
    text = entry.get("right" if right or not expected else "wrong", "")
    words = [s.text or s.label for s in scale.steps if s.label in expected]
    return {"right": right if expected else None, "text": text, "expected": words or expected}
