"""What the rater's page may know: texts, scales and opaque clip addresses; no score, no truth."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django.utils import translation
from django.utils.translation import gettext as _

from listening import audio
from listening.answers import AHEAD, task_rules
from listening.checks import check_named
from listening.methods.base import PlannedTrial
from listening.models import Session, Task, Trial
from listening.statements import rows_of

PROLIFIC_RETURN = "https://app.prolific.com/submissions/complete"


SITTING = """
SELECT s.id AS pk, s.code, s.status, s.checks, s.prolific_session,
       t.title, t.language, t.texts, t.checks AS asked, t.completion_codes
FROM listening_session s JOIN listening_study t ON t.id = s.study_id WHERE s.id = %(session)s
"""
TRIALS = """
SELECT id AS pk, code, state, task_id, item_id, stimulus_id, versus_id, versus_first,
       others, context
FROM listening_trial WHERE session_id = %(session)s ORDER BY position
"""
CLIPS = """
SELECT s.id, s.served, i.text
FROM listening_stimulus s JOIN listening_item i ON i.id = s.item_id WHERE s.id = ANY(%(stimuli)s)
"""


@dataclass(frozen=True)
class Plan:
    """A session's trials read once: what is answered, and what comes next."""

    tasks: list[int]
    answered: int
    upcoming: list[Any]
    left: int


def _plan(session: int) -> Plan:
    trials = rows_of(TRIALS, session=session)
    upcoming = [t for t in trials if t.state == Trial.State.PLANNED]
    return Plan(
        tasks=list(dict.fromkeys(t.task_id for t in trials)),
        answered=sum(t.state == Trial.State.ANSWERED for t in trials),
        upcoming=upcoming[:AHEAD],
        left=len(upcoming),
    )


def state_of(session: Session) -> dict[str, Any]:
    """The State of a session as it is stored, as the page draws it."""
    (sitting,) = rows_of(SITTING, session=session.pk)
    with translation.override(sitting.language):
        return _state(sitting, _plan(session.pk))


def _state(sitting: Any, plan: Plan) -> dict[str, Any]:
    stage, check = _stage(sitting)
    return {
        "stage": stage,
        "study": {
            "title": sitting.title,
            "language": sitting.language,
            "contact": json.loads(sitting.texts).get("contact", ""),
        },
        "progress": {"done": plan.answered, "total": plan.answered + plan.left},
        "check": check,
        "tasks": [task_facts(pk, index) for index, pk in enumerate(plan.tasks)],
        "trials": _trials(sitting, plan) if stage == "trial" else [],
        "end": _end(sitting) if stage == "end" else None,
    }


def _stage(sitting: Any) -> tuple[str, dict[str, Any] | None]:
    if sitting.status != Session.Status.STARTED:
        return "end", None
    passed = json.loads(sitting.checks)
    for asked in json.loads(sitting.asked):
        if asked["key"] not in passed:
            return "check", check_named(asked["key"]).page(asked)
    return "trial", None


@lru_cache(maxsize=512)
def task_facts(pk: int, index: int) -> dict[str, Any]:
    """Texts and scales of a task; they do not change once its blocks are planned."""
    task = Task.objects.get(pk=pk)
    rules = task_rules(pk)
    criteria = [
        {
            "index": place,
            "question": criterion.question,
            "help": criterion.help_text,
            "scale": {
                "widget": scale.widget,
                "steps": [
                    {"label": s.label, "text": s.text, "hotkey": s.hotkey} for s in scale.steps
                ],
            },
        }
        for place, (criterion, (_pk, scale)) in enumerate(
            zip(task.criteria.order_by("order"), rules.criteria, strict=True)
        )
    ]
    return {
        "index": index,
        "title": task.title,
        "instructions": task.instructions,
        "widget": criteria[0]["scale"]["widget"],  # type: ignore[index]
        "clip_names": list(rules.method.clip_names),
        "criteria": criteria,
        "justification": _justification(task),
    }


def _justification(task: Task) -> dict[str, Any] | None:
    asked = task.justification
    if not asked:
        return None
    return {
        "required": bool(asked.get("required")),
        "min_chars": int(asked.get("min_chars", 0)),
        "prompt": asked.get("prompt", ""),
        "good": list(asked.get("good", [])),
        "poor": list(asked.get("poor", [])),
    }


def _trials(sitting: Any, plan: Plan) -> list[dict[str, Any]]:
    """The current trial and the next ones, which the page may only preload."""
    heard = {trial.pk: _heard(trial) for trial in plan.upcoming}
    wanted = {pk for clips in heard.values() for pk in clips}
    clips_of = {row.id: row for row in rows_of(CLIPS, stimuli=list(wanted))}
    return [
        {
            "id": trial.code,
            "position": plan.answered + place,
            "task": plan.tasks.index(trial.task_id),
            "clips": [
                audio.clip_url(clips_of[pk].served, sitting, trial, clip)
                for clip, pk in enumerate(heard[trial.pk])
            ],
            "text": _text(clips_of[trial.stimulus_id].text, trial.task_id),
        }
        for place, trial in enumerate(plan.upcoming, start=1)
    ]


def _text(text: str, task: int) -> str | None:
    return text if task_rules(task).show_text else None


def _heard(trial: Any) -> list[int]:
    """Stimuli of a trial in the order in which they are heard."""
    planned = PlannedTrial(
        item=trial.item_id,
        column="",
        rated=(trial.stimulus_id, *trial.others),
        versus=trial.versus_id,
        context=tuple(trial.context),
    )
    method = task_rules(trial.task_id).method
    return method.clips(planned, versus_first=trial.versus_first)


OUTCOMES = {
    Session.Status.FINISHED: "complete",
    Session.Status.WITHDRAWN: "withdrawn",
    Session.Status.REJECTED: "complete",  # the rater did the work; the verdict is not for this page
    Session.Status.EXPIRED: "partial",
}


def _end(sitting: Any) -> dict[str, Any]:
    """How it ended: the completion code of this outcome, and Prolific's return link."""
    outcome = OUTCOMES[Session.Status(sitting.status)]
    code = json.loads(sitting.completion_codes).get(outcome, "")
    words = {
        "complete": json.loads(sitting.texts).get("end")
        or _("Thank you. Your answers are stored."),
        "withdrawn": _("You have withdrawn. All your answers have been deleted."),
        "partial": _(
            "You were away for a while and the remaining clips went to other people. "
            "What you answered is stored. Thank you."
        ),
    }
    url = f"{PROLIFIC_RETURN}?{urlencode({'cc': code})}"
    return {
        "outcome": outcome,
        "code": code,
        "return_url": url if sitting.prolific_session and code else None,
        "text": words[outcome],
    }
