"""The fields that the pages of a draft show: what is in study.toml, beside what it may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from listening.design.draft_toml import roles
from listening.methods import Method, Scale, method_named
from listening.methods.paired import Paired


def question_fields(
    top: Mapping[str, Any], rows: Sequence[Mapping[str, str]]
) -> list[dict[str, Any]]:
    """One for each task: its words, its scale with the words at its answers, its criteria."""
    conditions = list(dict.fromkeys(row["condition"] for row in rows if not row.get("trap")))
    return [_task(n, task, conditions, top) for n, task in enumerate(top.get("tasks", []))]


def _task(
    place: int, task: Mapping[str, Any], conditions: list[str], top: Mapping[str, Any]
) -> dict[str, Any]:
    key = task.get("method", "")
    method = method_named(key) if key in Method.registry else None
    options = task.get("options", {})
    role = roles(dict(top))
    return {
        "place": place,
        "task": task,
        "method": method,
        "steps": _steps(method, options),
        "criteria": _criteria(method, task),
        "paired": isinstance(method, Paired),
        "conditions": conditions,
        "reference": [c for c in conditions if role.get(c) == "reference"],
        "wants_reference": method is not None and method.screen == "parallel",
        "has_step": key == "mos",
    }


def _steps(method: Method | None, options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The answers with their words; a scale of more than a dozen is a slider."""
    if method is None:
        return []
    try:
        scale: Scale = method.scale(options)
    except (ValueError, TypeError, KeyError, AttributeError):
        return []
    named = options.get("names", {})
    whole = [s for s in scale.steps if s.label.lstrip("-").isdecimal() or not _is_number(s.label)]
    return [
        {"label": step.label, "words": named.get(step.label, ""), "own": step.text}
        for step in whole
        if len(whole) <= 12
    ]


def _is_number(label: str) -> bool:
    return label.replace(".", "", 1).lstrip("-").isdecimal()


def _criteria(method: Method | None, task: Mapping[str, Any]) -> list[dict[str, Any]]:
    own = method.default_question if method else ""
    return [
        {"place": n, "key": c.get("key", ""), "question": c.get("question") or own, "entry": c}
        for n, c in enumerate(task.get("criteria", []))
    ]


def rater_fields(top: Mapping[str, Any]) -> dict[str, Any]:
    study = top.get("study", {})
    checks = [check.get("key") for check in study.get("checks", [])]
    return {
        "study": study,
        "texts": study.get("texts", {}),
        "codes": study.get("completion_codes", {}),
        "headphones": "huggins" in checks,
        "checks": [key for key in checks if key != "huggins"],
        "forms": [q.get("key") for q in top.get("questionnaires", [])],
        "tasks": list(enumerate(top.get("tasks", []))),
    }
