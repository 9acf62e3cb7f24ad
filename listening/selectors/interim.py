"""Each finished rater's mean of each condition, in the order in which raters finished."""

from __future__ import annotations

from typing import TypedDict

from django.db import connection

from listening.methods import Scale, method_named
from listening.methods.marking import ERRORS_PER_MINUTE
from listening.methods.method import MARKS, SPANS
from listening.models import Criterion, Session, Study


class RaterMean(TypedDict):
    """What one rater who has finished gave one condition (maybe versus another), on average."""

    rater: str
    condition: str
    versus_condition: str
    score: float
    ratings: int


class PlannedColumn(TypedDict):
    """A condition (maybe versus another) of a task's plan, and the ratings planned of it."""

    condition: str
    versus_condition: str
    ratings: int


class InterimQuestion(TypedDict):
    """A task and criterion whose answers are numbers, with raters in the order they finished.

    `ends` are the lowest and highest score that its scale can give.
    """

    task: str
    title: str
    criterion: str
    estimand: str
    ends: tuple[float, float]
    labels: dict[str, str]  # condition -> how pages call it
    references: list[str]  # conditions whose role is reference
    columns: list[PlannedColumn]
    means: list[RaterMean]


# A rater counts once and for good: with the first session that they finished.
MEANS = f"""
WITH first AS (
    SELECT DISTINCT ON (s.rater_id) s.id, s.rater_id, s.finished_at
    FROM listening_session s WHERE s.study_id = %s AND s.status = '{Session.Status.FINISHED}'
        AND NOT s.pilot
    ORDER BY s.rater_id, s.finished_at, s.id
), given AS (
    SELECT q.criterion_id, t.session_id, q.stimulus_id, t.versus_id,
        sum(q.score) AS total, count(*) AS ratings
    FROM first f
    JOIN listening_trial t ON t.session_id = f.id AND t.trap = ''
    JOIN listening_rating q ON q.trial_id = t.id AND q.counts AND q.score IS NOT NULL
    GROUP BY 1, 2, 3, 4
)
SELECT g.criterion_id, r.code, co.key, coalesce(vc.key, ''),
    sum(g.total) / sum(g.ratings), sum(g.ratings)::bigint
FROM given g
JOIN first f ON f.id = g.session_id
JOIN listening_rater r ON r.id = f.rater_id
JOIN listening_stimulus x ON x.id = g.stimulus_id
JOIN listening_condition co ON co.id = x.condition_id
LEFT JOIN listening_stimulus v ON v.id = g.versus_id
LEFT JOIN listening_condition vc ON vc.id = v.condition_id
GROUP BY g.criterion_id, f.finished_at, f.id, r.code, co.key, vc.key
ORDER BY g.criterion_id, f.finished_at, f.id, co.key, vc.key
"""
PLANNED = """
SELECT p.task_id, co.key, coalesce(vc.key, ''), sum(p.planned)::bigint
FROM (SELECT s.task_id, o.id AS stimulus_id, s.versus_id, count(*) AS planned
      FROM listening_slot s, unnest(s.stimulus_id || s.others) AS o(id)
      WHERE s.task_id = ANY(%s) GROUP BY 1, 2, 3) p
JOIN listening_stimulus x ON x.id = p.stimulus_id
JOIN listening_condition co ON co.id = x.condition_id
LEFT JOIN listening_stimulus v ON v.id = p.versus_id
LEFT JOIN listening_condition vc ON vc.id = v.condition_id
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
"""


def interim_questions(study: str) -> list[InterimQuestion]:
    """Rater means per task and criterion with numbers; one aggregate, so callers cache it.

    Only sessions that are finished count: who is still listening has no final mean, and rejected,
    expired and withdrawn sessions are left out.
    """
    row = Study.objects.get(key=study)
    criteria = Criterion.objects.filter(task__study=row).select_related("task")
    with connection.cursor() as cursor:
        cursor.execute(MEANS, [row.pk])
        means = cursor.fetchall()
        is_planned = row.state != Study.State.DRAFT  # what a draft's pilots fill is planned anew
        tasks = row.tasks.values_list("pk", flat=True)
        cursor.execute(PLANNED, [list(tasks) if is_planned else []])
        slots = cursor.fetchall()
    planned: dict[int, list[PlannedColumn]] = {}
    for task_id, condition, versus, ratings in slots:
        planned.setdefault(task_id, []).append(
            PlannedColumn(condition=condition, versus_condition=versus, ratings=ratings)
        )
    named = {key: label or key for key, label in row.conditions.values_list("key", "label")}
    references = list(row.conditions.filter(role="reference").values_list("key", flat=True))
    questions: dict[int, InterimQuestion] = {}
    for criterion in criteria.order_by("task__order", "order"):
        ends = _ends(Scale.from_dict(criterion.scale))
        if ends is None:
            continue
        task = criterion.task
        questions[criterion.pk] = InterimQuestion(
            task=task.key,
            title=task.title or task.key,
            criterion=criterion.key,
            estimand=method_named(task.method).estimand_for(task.options).key,
            ends=ends,
            labels=named,
            references=references,
            columns=planned.get(task.pk, []),
            means=[],
        )
    for criterion_id, rater, condition, versus, score, ratings in means:
        if criterion_id in questions:
            questions[criterion_id]["means"].append(
                RaterMean(
                    rater=rater,
                    condition=condition,
                    versus_condition=versus,
                    score=float(score),
                    ratings=ratings,
                )
            )
    return list(questions.values())


def _ends(scale: Scale) -> tuple[float, float] | None:
    """The lowest and highest number of the scale; None where answers are no single numbers."""
    if scale.widget in ("text", "many", "ranking"):
        return None
    if scale.widget == "transcript":  # the share of words right
        return 0.0, 1.0
    if scale.widget == MARKS:  # errors per 100 words
        return 0.0, 100.0
    if scale.widget == SPANS:  # errors per minute
        return ERRORS_PER_MINUTE.ends
    if scale.span is not None:
        return scale.span[0], scale.span[1]
    scores = [step.score for step in scale.steps if step.score is not None]
    return (min(scores), max(scores)) if len(set(scores)) > 1 else None
