"""A study tried by its researchers before it opens: real sessions, marked, never a result.

Only a draft has pilots, and all sessions of a draft are pilots. They go by a button, with the
draft, and when it opens; the blocks that were planned for them go too, so that opening plans as if
nobody had tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from listening.design.duration import SessionLength, reading_s
from listening.models import Rater, Session, Study, Trial
from listening.models.study_log import COMMAND_LINE, note
from listening.sessions.lifecycle import delete_session, deleting_ratings
from listening.studies.deleting import STATEMENTS
from listening.studies.findings import StudyError
from listening.studies.length import session_seconds


@dataclass(frozen=True)
class Pilot:
    """One preview session: its progress, its duration and its answers."""

    code: str  # of its session's page
    rater: str
    status: str
    began: datetime
    took_s: float | None  # from the consent to the end; None before it
    trials: list[dict[str, Any]]


def count_pilots(study: Study) -> int:
    """How often researchers went through a draft: opening it deletes that, so no other has any."""
    return study.sessions.filter(pilot=True).count() if study.state == Study.State.DRAFT else 0


def pilots_of(study: Study) -> list[Pilot]:
    """The tries of a draft, the newest first."""
    sessions = list(
        study.sessions.filter(pilot=True).select_related("rater").order_by("-started_at", "-pk")
    )
    took = session_seconds([each.pk for each in sessions])
    return [
        Pilot(
            each.code,
            each.rater.code,
            each.status,
            each.started_at,
            took.get(each.pk) if each.finished_at else None,
            _trials(each),
        )
        for each in sessions
    ]


def _trials(session: Session) -> list[dict[str, Any]]:
    """The trials that were answered or passed over, with their answers, in playing order."""
    met = session.trials.filter(state__in=(Trial.State.ANSWERED, Trial.State.SKIPPED))
    rows = met.select_related("stimulus", "versus", "task", "justification").prefetch_related(
        "ratings__criterion", "ratings__stimulus"
    )
    return [
        {
            "position": trial.position,
            "task": trial.task.title or trial.task.key,
            "clip": trial.stimulus.key,
            "versus": trial.versus.key if trial.versus else "",
            "trap": trial.trap,
            "passed": trial.trap_passed,
            "skipped": trial.state == Trial.State.SKIPPED,
            "answers": [_answer(rating, trial) for rating in trial.ratings.all()],
            "reason": getattr(getattr(trial, "justification", None), "text", ""),
        }
        for trial in rows.order_by("position")
    ]


def _answer(rating: Any, trial: Trial) -> str:
    of = f"{rating.stimulus.key}, " if trial.others else ""
    return f"{of}{rating.criterion.key}: {rating.label}"


def entry_seconds(study: Study) -> float:
    """What of the estimate is spent before the consent, where a session's own time begins."""
    return reading_s(study.texts.get("welcome", ""), study.texts.get("consent", ""))


def promised_s(study: Study, length: SessionLength) -> float:
    """The estimate of what a try is timed: from the consent to the end."""
    return 60 * length.estimated_minutes - entry_seconds(study)


def delete_pilots(study: Study, code: str = "", *, by: str = COMMAND_LINE) -> int:
    """Deletes every try of a draft with its answers, and the blocks that were planned for them.

    With the `code` of a session only that one, whoever began it: what it held is free again.
    """
    with transaction.atomic():
        row = Study.objects.select_for_update().get(pk=study.pk)
        if row.state != Study.State.DRAFT:
            raise StudyError(
                f"The study “{row.key}” is {row.state}: its preview sessions were deleted when "
                "it opened."
            )
        if code and row.sessions.filter(pilot=True).exclude(code=code).exists():
            return _remove_one(row, code, by)
        return remove_pilots(row, by=by)


def _remove_one(row: Study, code: str, by: str) -> int:
    sessions = row.sessions.filter(pilot=True, code=code)
    session = sessions.select_for_update(of=("self",)).first()  # an answer locks it, too
    if session is None:
        return 0
    delete_session(session)
    Rater.objects.filter(pk=session.rater_id, sessions__isnull=True).delete()
    note(row, "pilots_deleted", by, tries=1)
    return 1


def remove_pilots(row: Study, *, by: str = COMMAND_LINE) -> int:
    """The same for a draft whose row is locked."""
    sessions = Session.objects.filter(study=row, pilot=True)
    locked = sessions.select_for_update(of=("self",))  # an answer locks its session's row, too
    raters = [each.rater_id for each in locked.order_by("pk")]
    if not raters:
        return 0
    with deleting_ratings(), connection.cursor() as cursor:
        for statement in STATEMENTS:
            cursor.execute(statement, [row.pk])
    sessions.delete()
    Rater.objects.filter(pk__in=raters, sessions__isnull=True).delete()
    note(row, "pilots_deleted", by, tries=len(raters))
    return len(raters)
