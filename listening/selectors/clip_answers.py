"""A study's clips with how often each answer was given, those with most disagreement first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

from django.db import connection

from listening.models import Criterion


class ClipAnswers(TypedDict):
    """A stimulus with its ratings that count; ``mean`` and ``sd`` are None without scores."""

    stimulus: str
    condition: str
    label: str  # the condition's
    item: str
    text: str
    ratings: int
    mean: float | None
    sd: float | None
    answers: list[tuple[str, float | None, int]]  # label, score, how many; in order of the scale


@dataclass(frozen=True)
class ClipQuery:
    """Which clips: of a task and criterion, maybe of one condition or one stimulus alone."""

    study: str
    task: str
    criterion: str
    condition: str = ""
    stimulus: str = ""


COUNTED = """
    FROM listening_rating q
    JOIN listening_trial t ON t.id = q.trial_id
    JOIN listening_session s ON s.id = t.session_id
    JOIN listening_stimulus x ON x.id = q.stimulus_id
    JOIN listening_condition co ON co.id = x.condition_id
    JOIN listening_item i ON i.id = x.item_id
    WHERE q.criterion_id = %(criterion)s AND q.counts AND t.trap = '' AND s.status <> 'rejected'
        AND NOT s.pilot
        AND (%(condition)s = '' OR co.key = %(condition)s)
        AND (%(stimulus)s = '' OR x.key = %(stimulus)s)
"""
CLIPS = f"""
    SELECT x.id, x.key, co.key, co.label, i.key, i.text, count(*), avg(q.score),
        stddev_samp(q.score), count(DISTINCT q.label)
    {COUNTED} GROUP BY x.id, co.key, co.label, i.key, i.text
    ORDER BY 9 DESC NULLS LAST, 10 DESC, x.id LIMIT %(limit)s OFFSET %(offset)s
"""
HOW_MANY = f"SELECT count(DISTINCT x.id) {COUNTED}"
ANSWERS = f"""
    SELECT x.id, q.label, q.score, count(*) {COUNTED} AND x.id = ANY(%(ids)s)
    GROUP BY x.id, q.label, q.score ORDER BY q.score, q.label
"""


def clip_answers(query: ClipQuery, limit: int, offset: int = 0) -> tuple[list[ClipAnswers], int]:
    """One page of clips, and how many there are in all.

    Counted are ratings that fill a place of the plan, of sessions that are not rejected; rules of
    an analysis are not applied.
    """
    criterion = Criterion.objects.filter(
        task__study__key=query.study, task__key=query.task, key=query.criterion
    ).first()
    if criterion is None:
        return [], 0
    given: dict[str, Any] = {
        "criterion": criterion.pk,
        "condition": query.condition,
        "stimulus": query.stimulus,
        "limit": limit,
        "offset": offset,
    }
    with connection.cursor() as cursor:
        cursor.execute(HOW_MANY, given)
        ((total,),) = cursor.fetchall()
        cursor.execute(CLIPS, given)
        clips = cursor.fetchall()
        cursor.execute(ANSWERS, given | {"ids": [clip[0] for clip in clips]})
        answers: dict[int, list[tuple[str, float | None, int]]] = {}
        for pk, label, score, count in cursor.fetchall():
            answers.setdefault(pk, []).append((label, score, count))
    return [_clip(clip, answers.get(clip[0], [])) for clip in clips], total


def _clip(row: tuple[Any, ...], answers: list[tuple[str, float | None, int]]) -> ClipAnswers:
    _, stimulus, condition, label, item, text, ratings, mean, sd, _ = row
    return ClipAnswers(
        stimulus=stimulus,
        condition=condition,
        label=label,
        item=item,
        text=text,
        ratings=ratings,
        mean=None if mean is None else float(mean),
        sd=None if sd is None else float(sd),
        answers=answers,
    )


class AskedPlace(TypedDict):
    """A task and one of its criteria, with what raters read."""

    task: str
    criterion: str
    title: str
    question: str


def asked_places(study: str) -> list[AskedPlace]:
    """Every task and criterion of a study in their order."""
    rows = Criterion.objects.filter(task__study__key=study).select_related("task")
    return [
        AskedPlace(
            task=row.task.key,
            criterion=row.key,
            title=row.task.title or row.task.key,
            question=row.question,
        )
        for row in rows.order_by("task__order", "order")
    ]
