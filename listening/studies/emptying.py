"""A study emptied of its material, and the stored audio that nothing needs any more."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection

from listening import audio
from listening.models import Stimulus, Study

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

    Without its ``reviews`` where they are to find their clips again: see `review.relinking`.

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
