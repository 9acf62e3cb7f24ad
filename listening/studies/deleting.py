"""A study deleted for good after a count of what goes, or emptied of its material.

A line in the log stays, and stored audio that nothing needs any more is removed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from listening import audio
from listening.common.command_name import command
from listening.models import (
    Justification,
    LedgerEntry,
    Rater,
    Rating,
    Recruitment,
    Session,
    Stimulus,
    Study,
    Submission,
    Verdict,
)
from listening.models.study_log import COMMAND_LINE, note
from listening.sessions.lifecycle import deleting_ratings
from listening.studies.findings import Counts, StudyError, counting

# The large tables go by statements: a million rows are not read to be deleted. Their order is that
# of who refers to whom.
TRIALS = (
    "IN (SELECT t.id FROM listening_trial t JOIN listening_session s ON s.id = t.session_id"
    " WHERE s.study_id = %s)"
)
OF_TASKS = "IN (SELECT id FROM listening_task WHERE study_id = %s)"
SESSIONS = "IN (SELECT id FROM listening_session WHERE study_id = %s)"
ITEMS = (
    "IN (SELECT i.id FROM listening_reviewitem i JOIN listening_reviewjob j ON j.id = i.job_id"
    " WHERE j.study_id = %s)"
)
REVIEWS = (
    "DELETE FROM listening_verdict WHERE assignment_id IN"
    f" (SELECT id FROM listening_reviewassignment WHERE item_id {ITEMS})",
    f"DELETE FROM listening_reviewassignment WHERE item_id {ITEMS}",
    f"DELETE FROM listening_reviewitem WHERE id {ITEMS}",
)
STATEMENTS = (
    f"DELETE FROM listening_rating WHERE trial_id {TRIALS}",
    f"DELETE FROM listening_justification WHERE trial_id {TRIALS}",
    f"DELETE FROM listening_trial WHERE session_id {SESSIONS}",
    f"DELETE FROM listening_slot WHERE task_id {OF_TASKS}",
    f"DELETE FROM listening_block WHERE task_id {OF_TASKS}",
)


def empty(study: Study, *, reviews: bool = True) -> None:
    """Deletes all material, tasks and sessions of a study, and what other rooms made of them.

    Without its ``reviews`` where they are to find their clips again: see `verdicts.relink`.

    Ratings go only where the caller says so: inside `sessions.deleting_ratings`.
    """
    with connection.cursor() as cursor:
        for statement in (*(REVIEWS if reviews else ()), *STATEMENTS):
            cursor.execute(statement, [study.pk])
    for part in (
        *((study.review_jobs,) if reviews else ()),
        study.stimuli,
        study.tasks,
        study.items,
        study.conditions,
        study.sessions,
    ):
        part.all().delete()
    for relation in Study._meta.related_objects:
        model = relation.related_model
        if isinstance(model, type) and model._meta.app_label != Study._meta.app_label:
            model._default_manager.filter(**{relation.field.name: study}).delete()


def audio_of(study: Study) -> list[str]:
    """The names of all stored files of a study's clips."""
    pairs = study.stimuli.values_list("original", "served")
    return sorted({name for pair in pairs for name in pair})


def forget_unused(names: Iterable[str]) -> None:
    """Deletes the stored files that no clip of any study uses: copies of a study share them."""
    wanted = list(names)
    used: set[str] = set()
    for field in ("original", "served"):
        rows = Stimulus.objects.filter(**{f"{field}__in": wanted})
        used.update(rows.values_list(field, flat=True))
    audio.forget(name for name in wanted if name not in used)


@dataclass(frozen=True)
class Contents(Counts):
    """How much goes with a study."""

    clips: int = counting("clips, with their audio where no copy of the study uses it")
    sessions: int = counting("sessions")
    listening_now: int = counting("of them not over yet")
    raters: int = counting("raters without other studies")  # who took part in no other study
    ratings: int = counting("ratings")
    reasons: int = counting("justifications")
    verdicts: int = counting("verdicts of reviewers")
    analyses: int = counting("analyses with their reports")
    invitations: int = counting("invitations of panels")


def contents_of(study: Study) -> Contents:
    ratings = Rating.objects.filter(trial__session__study=study)
    sessions = study.sessions.all()
    return Contents(
        clips=study.stimuli.count(),
        sessions=sessions.count(),
        listening_now=sessions.filter(status="started").count(),
        raters=_raters_of(study).count(),
        ratings=ratings.count(),
        reasons=Justification.objects.filter(trial__session__study=study).count(),
        verdicts=Verdict.objects.filter(assignment__item__job__study=study).count(),
        analyses=study.analysis_runs.count(),
        invitations=study.invitations.count(),
    )


def why_not(study: Study) -> str:
    """What stands against deleting it, with the way out; "" where nothing does."""
    if study.state in Study.RUNNING:
        return f"The study “{study.key}” is {study.state}. Close it first."
    ledger = LedgerEntry.objects.filter(recruitment__study=study).exists()
    has_submissions = Submission.objects.filter(recruitment__study=study).exists()
    unsent = (Recruitment.State.PLANNED, Recruitment.State.DISCARDED)
    at_prolific = study.recruitments.exclude(state__in=unsent).exists()
    if ledger or has_submissions:
        return (
            "Raters were paid through this study, so its decisions and payments must be kept. "
            "Archive "
            f"it; {command(f'erase_personal_data {study.key}')} forgets who took part."
        )
    if at_prolific:
        return "Its draft is at Prolific. Discard the draft on the page Recruiting first."
    return ""


def delete_study(study: Study, typed: str, *, by: str = COMMAND_LINE) -> Contents:
    """Deletes all of it where its key is typed; how much that was stays in the log."""
    if typed.strip() != study.key:
        raise StudyError(f"Nothing was deleted: type the key “{study.key}” to delete the study.")
    with transaction.atomic():
        row = Study.objects.select_for_update().get(pk=study.pk)
        if reason := why_not(row):
            raise StudyError(f"Nothing was deleted. {reason}")
        went = contents_of(row)
        names = audio_of(row)
        note(row, "deleted", by, title=row.title, state=row.state, **asdict(went))
        raters = list(_raters_of(row).values_list("pk", flat=True))
        with deleting_ratings():
            empty(row)
            row.definitions.all().delete()
        row.recruitments.all().delete()
        row.delete()
        Rater.objects.filter(pk__in=raters).delete()
        transaction.on_commit(partial(forget_unused, names))
    return went


def _raters_of(study: Study) -> QuerySet[Rater]:
    sessions = Session.objects.filter(rater=OuterRef("pk"))
    return Rater.objects.filter(
        Exists(sessions.filter(study=study)), ~Exists(sessions.exclude(study=study))
    )
