"""What surrounds the trials: questions and checks before, questions between and after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.db import transaction
from django.utils import timezone

from listening.checks import Check, check_named
from listening.checks.check import CheckSettings
from listening.common.secret_seeds import secret_seed
from listening.common.statements import rows_of
from listening.design.occasions import (
    Occasion,
    TrialPosition,
    asks_between,
    due_occasion,
    questionnaire_of,
)
from listening.design.questionnaires import (
    checked,
    has_screening,
    is_partly_answered,
    next_part,
    screens_out,
    without_controls,
)
from listening.models import Session, Task, Trial
from listening.sessions import leases
from listening.sessions.task_rules import SESSION_OVER, Refused

LONGEST_COMMENT = 5000


class NotAsked(ValueError):
    """What was sent answers nothing that the study asks."""


class AnsweredAlready(NotAsked):
    """What was sent answers nothing that is asked just now; the page should look again."""


class Incomplete(ValueError):
    """Answers of a check lack something; the sentence is a rater's, in English."""


@dataclass(frozen=True)
class Stage:
    """Where a session stands: what the page shows, and which one of its kind."""

    kind: Literal["questionnaire", "check", "trial", "end"]
    key: str = ""


def stage_of(
    status: str,
    questionnaires: Sequence[Mapping[str, Any]],
    checks: Sequence[Mapping[str, Any]],
    answered: Mapping[str, Any],
    outcomes: Mapping[str, Mapping[str, Any]],
    between: Occasion | None = None,
) -> Stage:
    """Questions that screen out, all others, checks, trials; questions that come after; the end.

    `between` is what `occasion_of` finds for the session: it comes before the next trial, or
    before the questions that come after.
    """
    when = {Session.Status.STARTED: "before", Session.Status.FINISHED: "after"}.get(
        Session.Status(status)
    )
    forms = [questionnaire for questionnaire in questionnaires if questionnaire["when"] == when]
    for questionnaire in forms if when == "before" else ():
        if questionnaire["key"] not in answered and has_screening(questionnaire):
            return Stage("questionnaire", questionnaire["key"])
    if when == "after" and between:
        return Stage("questionnaire", between.key)
    for questionnaire in forms:
        stored = answered.get(questionnaire["key"])
        if stored is None or is_partly_answered(stored):
            return Stage("questionnaire", questionnaire["key"])
    if when != "before":
        return Stage("end")
    for check in checks:
        if not outcomes.get(check["key"], {}).get("done"):
            return Stage("check", check["key"])
    return Stage("questionnaire", between.key) if between else Stage("trial")


def stage_of_session(session: Session) -> Stage:
    study = session.study
    return stage_of(
        session.status,
        study.questionnaires,
        study.checks,
        session.questionnaires,
        session.checks,
        occasion_of(session),
    )


def occasion_of(session: Session) -> Occasion | None:
    """What is to be asked just now between tasks or blocks."""
    forms = session.study.questionnaires
    if not asks_between(forms):
        return None
    rows = session.trials.order_by("position").values_list("task__order", "block", "state")
    trials = [TrialPosition(order + 1, block, state) for order, block, state in rows]
    return due_occasion(forms, task_keys(session.study_id), trials, session.questionnaires)


def task_keys(study: int) -> dict[int, str]:
    """The tasks of a study by their places, from 1."""
    rows = Task.objects.filter(study=study).values_list("order", "key")
    return {order + 1: key for order, key in rows}


def is_current(*, lost: int, left: int) -> bool:
    """Whether a started session with so many trials lost and left is up to date as it is."""
    return left > 0 and not lost


COURSE = f"""
SELECT count(*) FILTER (WHERE {leases.VOID}) AS lost,
    count(*) FILTER (WHERE {leases.PLANNED}) AS left
FROM listening_trial WHERE session_id = %(session)s
"""


def course_of(session: Session) -> tuple[int, int]:
    """How many of its trials are lost, and how many are left."""
    ((lost, left),) = rows_of(COURSE, session=session.pk)
    return lost, left


def is_up_to_date(session: Session) -> bool:
    """Whether `refresh` would change nothing of a session that was read just now."""
    if session.status != Session.Status.STARTED:
        return True
    if asks_between(session.study.questionnaires):
        return False
    lost, left = course_of(session)
    return is_current(lost=lost, left=left)


def hold(session: Session) -> None:
    """Take no answers to trials while a questionnaire between them is to be asked.

    The session's row is locked: what is stored around the call decides, and nothing else.
    """
    ready = stage_of_session(session).kind not in ("questionnaire", "check")
    if session.ready != ready:
        session.ready = ready
        session.save(update_fields=["ready"])


def check_and_settings(
    checks: Sequence[Mapping[str, Any]], key: str, language: str
) -> tuple[Check, CheckSettings]:
    """A check of a study with its settings; NotAsked when the study has no such check."""
    for entry in checks:
        if entry["key"] == key:
            check = check_named(key)
            return check, check.settings(entry, language=language)
    raise NotAsked(key)


def check_seed(code: str, key: str, attempt: int) -> str:
    """The secret that fixes sounds and truths of one attempt; nobody outside can work it out."""
    return secret_seed("check", code, key, attempt)


def attempt_of(outcomes: Mapping[str, Mapping[str, Any]], key: str) -> int:
    """Which attempt comes next, from 1."""
    return int(outcomes.get(key, {}).get("attempts", 0)) + 1


@transaction.atomic
def record_check(session: Session, key: str, answer: Mapping[str, Any]) -> Session:
    """Judge and keep one attempt; a last failed one may end the session.

    Incomplete when answers lack. Nothing is kept of a check that is not asked just now: a page
    that is late must not undo a withdrawal's deletion.
    """
    locked = _locked(session)
    check, settings = check_and_settings(locked.study.checks, key, locked.spoken)
    if stage_of_session(locked) != Stage("check", key):
        return locked
    attempt = attempt_of(locked.checks, key)
    if answer.get("attempt", attempt) != attempt:
        return locked  # judged already: its reply got lost and the page sent it again
    seed, answers = check_seed(locked.code, key, attempt), _answers(answer)
    try:
        outcome = check.judge(settings, seed, answers)
    except ValueError as error:
        raise Incomplete(str(error)) from None
    failed_for_good = not outcome.passed and attempt >= settings.attempts
    done = outcome.passed or failed_for_good
    locked.checks[key] = {**outcome.as_dict(), "attempts": attempt, "done": done}
    if failed_for_good and settings.on_fail == "screen_out":
        _screen_out(locked, f"check {key}: {outcome.right} of {outcome.total} right")
    _save(locked, "checks")
    return locked


def _answers(answer: Mapping[str, Any]) -> list[str]:
    answers = answer.get("answers", [])
    if not isinstance(answers, list) or not all(isinstance(each, str) for each in answers):
        raise NotAsked("answers")
    if "comfortable" in answer:
        return ["comfortable"] if answer["comfortable"] is True else []
    return answers


@transaction.atomic
def record_questionnaire(session: Session, key: str, answers: Mapping[str, Any]) -> Session:
    """Keep the answers to one questionnaire, once; some of them may end the session.

    `design.questionnaires.Incorrect` says which questions need another look.
    """
    locked = _locked(session)
    before = locked.questionnaires.get(key)
    if before is not None and (not is_partly_answered(before) or _is_repeat(before, answers)):
        return locked
    if stage_of_session(locked) != Stage("questionnaire", key):
        raise AnsweredAlready(key)
    own = questionnaire_of(key)
    questionnaire = next(q for q in locked.study.questionnaires if q["key"] == own)
    kept_before = before["answers"] if before else {}
    all_answers = kept_before | checked(next_part_of(questionnaire, before), answers)
    stored: dict[str, Any] = {"answers": all_answers, "at": timezone.now().isoformat()}
    if own != key and (occasion := occasion_of(locked)):
        stored |= {"task": occasion.task_key, "block": occasion.blocks}
    locked.questionnaires[key] = stored
    if before is None and questionnaire["when"] == "before" and has_screening(questionnaire):
        rest = next_part(questionnaire, locked.questionnaires[key])
        if rest["questions"]:
            locked.questionnaires[key]["partial"] = True
    reason = screens_out(questionnaire, all_answers, locked.language or locked.study.language)
    if reason and locked.status == Session.Status.STARTED:
        _screen_out(locked, f"questionnaire {key}: {reason}")
    _save(locked, "questionnaires")
    return locked


def next_part_of(
    questionnaire: Mapping[str, Any], answered: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    """The part of a questionnaire that comes next; after the trials nobody is screened out."""
    if questionnaire["when"] != "before":
        return questionnaire
    return next_part(questionnaire, answered)


def _is_repeat(before: Mapping[str, Any], answers: Mapping[str, Any]) -> bool:
    """The first part once more: its reply got lost, and the page sent it again."""
    return bool(answers) and set(answers) <= set(before["answers"])


@transaction.atomic
def record_comment(session: Session, text: str) -> Session:
    """Keep what the rater wants to say at the end; the last words count."""
    locked = _locked(session)
    if locked.status not in (Session.Status.STARTED, Session.Status.WITHDRAWN):
        locked.comment = without_controls(text)[:LONGEST_COMMENT]
        locked.save(update_fields=["comment"])
    return locked


def _locked(session: Session) -> Session:
    """Refused once the study's date has come: what was erased does not begin to gather anew."""
    rows = Session.objects.select_for_update(no_key=True, of=("self",)).select_related("study")
    locked = rows.get(pk=session.pk)
    if locked.study.erased_at is not None:
        raise Refused(SESSION_OVER)
    return locked


def _save(locked: Session, changed: str) -> None:
    """Store what was given; a rater who is busy with questions and checks keeps their places."""
    leases.extend_leases(locked.pk, locked.study.lease_s)
    locked.ready = stage_of_session(locked).kind not in ("questionnaire", "check")
    locked.save(
        update_fields=[changed, "ready", "status", "finished_at", "rejected_because"],
    )


def _screen_out(locked: Session, reason: str) -> None:
    """End a locked session before its trials: its places are open again."""
    blocks = leases.lock_blocks_of([locked.pk])
    locked.trials.filter(state=Trial.State.PLANNED).update(state=Trial.State.GONE)
    leases.settle(blocks)
    locked.status, locked.rejected_because = Session.Status.SCREENED, reason[:300]
    locked.finished_at = timezone.now()
