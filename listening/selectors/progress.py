"""How far a study is: sessions by status, places filled, traps passed, blocks."""

from __future__ import annotations

from typing import TypedDict

from django.db import connection
from django.utils import timezone

from listening.design.traps import TRAINING
from listening.leases import ANSWERED, STATUS_NOW
from listening.models import Block, Session, Study


class ConditionProgress(TypedDict):
    condition: str
    label: str
    planned: int
    rated: int


class TrapProgress(TypedDict):
    kind: str
    answered: int
    passed: int


class TaskProgress(TypedDict):
    key: str
    title: str
    method: str
    planned: int
    rated: int
    blocks: dict[str, int]
    conditions: list[ConditionProgress]
    traps: list[TrapProgress]


class StudyProgress(TypedDict):
    """How far a study is; sessions by status, slots planned and filled per task and condition."""

    study: str
    title: str
    state: str
    link: str
    at: str
    sessions: dict[str, int]
    tasks: list[TaskProgress]


SESSIONS = f"""
SELECT {STATUS_NOW} AS shown, count(*), count(*) FILTER (WHERE r.simulated)
FROM listening_session s JOIN listening_rater r ON r.id = s.rater_id
WHERE s.study_id = %s AND NOT s.pilot GROUP BY shown
"""
SLOTS = """
SELECT p.task_id, concat_ws(' ~ ', co.key, vc.key), concat_ws(' ~ ', coalesce(nullif(co.label, ''),
    co.key), coalesce(nullif(vc.label, ''), vc.key)), sum(p.planned)::bigint,
    sum(coalesce(f.filled, 0))::bigint
FROM (SELECT task_id, r.id AS stimulus_id,
        CASE WHEN others = '{}' THEN versus_id END AS versus_id, count(*) AS planned
      FROM listening_slot, unnest(stimulus_id || others) AS r(id)
      WHERE task_id = ANY(%s) GROUP BY 1, 2, 3) p
JOIN listening_stimulus x ON x.id = p.stimulus_id
JOIN listening_condition co ON co.id = x.condition_id
LEFT JOIN listening_stimulus v ON v.id = p.versus_id
LEFT JOIN listening_condition vc ON vc.id = v.condition_id
LEFT JOIN (SELECT s.task_id, q.stimulus_id,
        CASE WHEN s.others = '{}' THEN s.versus_id END AS versus_id, count(DISTINCT s.id) AS filled
      FROM listening_slot s JOIN listening_rating q ON q.slot_id = s.id AND q.counts
      WHERE s.task_id = ANY(%s) GROUP BY 1, 2, 3) f
  ON f.task_id = p.task_id AND f.stimulus_id = p.stimulus_id
  AND f.versus_id IS NOT DISTINCT FROM p.versus_id
GROUP BY 1, 2, 3 ORDER BY 1, 2
"""
BLOCKS = (
    "SELECT task_id, state, count(*) FROM listening_block WHERE task_id = ANY(%s) GROUP BY 1, 2"
)
TRAPS = f"""
SELECT task_id, trap, count(*), count(*) FILTER (WHERE trap_passed) FROM listening_trial
WHERE task_id = ANY(%s) AND trap NOT IN ('', %s) AND {ANSWERED}
GROUP BY 1, 2 ORDER BY 1, 2
"""


def study_progress(study: str) -> StudyProgress:
    """Counts as they stand now; a few aggregates, so callers cache it."""
    row = Study.objects.get(key=study)
    tasks = list(row.tasks.order_by("order"))
    is_planned = row.state != Study.State.DRAFT  # what a draft's pilots fill is planned anew
    ids = [task.pk for task in tasks if is_planned]
    sessions = dict.fromkeys((*Session.Status.values, "simulated"), 0)
    with connection.cursor() as cursor:
        cursor.execute(SESSIONS, [row.pk])
        for shown, count, simulated in cursor.fetchall():
            sessions[shown] += count
            sessions["simulated"] += simulated
        cursor.execute(SLOTS, [ids, ids])
        slots = cursor.fetchall()
        cursor.execute(BLOCKS, [ids])
        blocks = cursor.fetchall()
        cursor.execute(TRAPS, [ids, TRAINING])
        traps = cursor.fetchall()
    names = {state.value: state.name.lower() for state in Block.State}
    progress: list[TaskProgress] = []
    for task in tasks:
        conditions = [
            ConditionProgress(condition=key, label=label or key, planned=planned, rated=rated)
            for task_id, key, label, planned, rated in slots
            if task_id == task.pk
        ]
        counted = {names[state]: n for task_id, state, n in blocks if task_id == task.pk}
        progress.append(
            TaskProgress(
                key=task.key,
                title=task.title or task.key,
                method=task.method,
                planned=sum(c["planned"] for c in conditions),
                rated=sum(c["rated"] for c in conditions),
                blocks={name: counted.get(name, 0) for name in names.values()},
                conditions=conditions,
                traps=[
                    TrapProgress(kind=kind, answered=answered, passed=passed)
                    for task_id, kind, answered, passed in traps
                    if task_id == task.pk
                ],
            )
        )
    return StudyProgress(
        study=row.key,
        title=row.title,
        state=row.state,
        link=row.link,
        at=timezone.now().isoformat(),
        sessions=sessions,
        tasks=progress,
    )
