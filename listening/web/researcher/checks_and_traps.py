"""What a study asks around its trials, how easily a guess gets past it, and how raters fared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Any

from listening.checks import check_named
from listening.checks.check import CheckSettings
from listening.common.counted import counted
from listening.design.occasions import AFTER_TASK, TaskPlan, is_between, occasions_of
from listening.design.questionnaires import default_title, may_screen_out
from listening.design.studyfile.questionnaire_tables import plans_of
from listening.design.traps import TrapPlan
from listening.models import Study, Task
from listening.selectors.progress import (
    check_counts,
    odds_of_traps,
    questionnaire_counts,
)

EASY = 0.1  # a guess that gets past a check or a trap more often is warned of


def beforehand(study: Study) -> dict[str, Any]:
    """What the section “Before the trials” shows; its lists may be empty."""
    counts = check_counts(study.pk) if study.checks else {}
    return {
        "checks": [_check(study, entry, counts.get(entry["key"])) for entry in study.checks],
        "questionnaires": _questionnaires(study) if study.questionnaires else [],
        "tasks": [row for task in study.tasks.order_by("order") if (row := _task(task))],
    }


def chance_text(chance: float) -> str:
    """A probability in per cent with two digits that say something: 0.14 %, 1.8 %, 69 %."""
    percent = 100 * chance
    if percent == 0:
        return "0 %"
    if percent < 0.0001:
        return "below 0.0001 %"
    if percent > 99:
        return "100 %" if chance == 1 else f"{floor(10 * percent) / 10:g} %"
    decimals = max(0, 1 - floor(log10(percent)))
    written = f"{percent:.{decimals}f}"
    return f"{written.rstrip('0').rstrip('.') if '.' in written else written} %"


def _check(study: Study, entry: dict[str, Any], count: Any) -> dict[str, Any]:
    check = check_named(entry["key"])
    settings = check.settings(entry, language=study.language)
    once, overall = check.odds_once(settings), check.odds(settings)
    selects = settings.trials > 0
    return {
        "key": check.key,
        "title": settings.title,
        "settings": _settings_text(settings),
        "on_fail": settings.on_fail if selects else "",
        "once": chance_text(once) if selects else "",
        "overall": chance_text(overall) if selects else "",
        "easy": selects and settings.on_fail == "screen_out" and overall > EASY,
        "passed": count.passed if count else 0,
        "failed": count.failed if count else 0,
        "screened": count.screened if count else 0,
    }


def _settings_text(settings: CheckSettings) -> str:
    """How the check is set, in a line."""
    if not settings.trials:
        return "confirmed by the rater; cannot be failed"
    attempts = counted(settings.attempts, "attempt")
    parts = [f"{settings.pass_at_least} of {settings.trials} right", attempts]
    parts += [f"language {settings.language}"] if settings.language else []
    parts += [f"{name} {value:g}" for name, value in settings.numbers.items()]
    parts += [] if settings.feedback else ["no hints between attempts"]
    return ", ".join(parts)


def _questionnaires(study: Study) -> list[dict[str, Any]]:
    counts = questionnaire_counts(study.pk)
    plans = plans_of(study.tasks.order_by("order"))
    rows = []
    for questionnaire in study.questionnaires:
        count = counts.get(questionnaire["key"])
        rows.append(
            {
                "key": questionnaire["key"],
                "title": questionnaire_title(questionnaire),
                "when": occasion_text(questionnaire, plans),
                "questions": len(questionnaire["questions"]),
                "answered": count.answered if count else 0,
                "screened": count.screened if count else 0,
                "screens": any(may_screen_out(q) for q in questionnaire["questions"]),
            }
        )
    return rows


def occasion_text(questionnaire: Mapping[str, Any], plans: Sequence[TaskPlan]) -> str:
    """At which moments, in words for the researcher."""
    if not is_between(questionnaire):
        return f"{questionnaire['when']} the trials"
    tasks = ", ".join(dict.fromkeys(o.task_key for o in occasions_of(questionnaire, plans)))
    if questionnaire["when"] == AFTER_TASK:
        return f"after {tasks}"
    every = questionnaire["every"]
    return f"between blocks of {tasks}" + (f", every {every}" if every > 1 else "")


def questionnaire_title(questionnaire: Mapping[str, Any]) -> str:
    return str(questionnaire["title"] or default_title(questionnaire.get("use", ())))


def _task(task: Task) -> dict[str, Any] | None:
    """The task's traps, practice and repeats; None when it has none of them."""
    plan = TrapPlan.from_dict(task.traps)
    if not (plan.kinds or task.training or task.repeats):
        return None
    odds, trouble = odds_of_traps(task, plan) if plan.kinds else (None, "")
    return {
        "title": task.title or task.key,
        "training": len(task.training),
        "repeats": task.repeats,
        "kinds": plan.kinds,
        "per": plan.per,
        "placement": plan.placement,
        "voids": plan.voids,
        "trouble": trouble,
        "guessing": chance_text(odds.guessing) if odds else "",
        "easy": odds is not None and odds.guessing > EASY,
        "same": odds is not None and odds.same == 1,
    }
