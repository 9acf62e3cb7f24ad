"""Whose a study is, the traps that it plans, its conditions' labels, and what is rated so far."""

from __future__ import annotations

from typing import Any, TypedDict

from django.db import connection

from listening.access.rights import LOOK, rights_in, study_for
from listening.design.traps import TrapPlan
from listening.models import Block, Condition, Item, Study, Task
from listening.sessions.leases import STATUS_NOW


class PlannedTrap(TypedDict):
    """A kind of trap in a task's plan: of every ``count``, ``pass_at_least`` must be passed."""

    kind: str
    count: int
    pass_at_least: int


def trap_plans(study: str) -> dict[str, list[PlannedTrap]]:
    """The traps of each task that has some, by the task's key, in the order of the tasks."""
    tasks = Task.objects.filter(study__key=study).order_by("order")
    plans = {task.key: TrapPlan.from_dict(task.traps).kinds for task in tasks}
    return {
        key: [PlannedTrap(kind=k.kind, count=k.count, pass_at_least=k.pass_at_least) for k in kinds]
        for key, kinds in plans.items()
        if kinds
    }


class StudyHead(TypedDict):
    """What pages of other apps show of a study."""

    pk: int
    key: str
    called: str  # its name among researchers
    state: str
    may: frozenset[str]  # look, analyse, edit, own


def study_head_or_404(key: str, user: Any, wants: str = LOOK) -> StudyHead:
    """The study, where this user may do with it what they want: see `listening.access.rights`."""
    study = study_for(user, key, wants)
    return StudyHead(
        pk=study.pk, key=study.key, called=study.called, state=study.state, may=study.may
    )


def holds_right(study: str, user: Any, wants: str = LOOK) -> bool:
    """Whether somebody may still do it: False where the account is switched off or deleted."""
    row = Study.objects.filter(key=study).select_related("project").first()
    return row is not None and user is not None and wants in rights_in(row, user)


def condition_labels(study: str) -> dict[str, str]:
    """The label of each condition that is compared, empty where it has none, by its key."""
    conditions = Condition.objects.filter(study__key=study).exclude(role=Condition.Role.TRAP)
    return dict(conditions.order_by("pk").values_list("key", "label"))


def names_in_order(study: str) -> dict[str, list[str]]:
    """The names in each column of its ratings, in the order of study.toml and stimuli.csv."""
    conditions = Condition.objects.filter(study__key=study).order_by("pk")
    items = Item.objects.filter(study__key=study).order_by("pk")
    tasks = Task.objects.filter(study__key=study).order_by("order")
    named = {
        "task": tasks.values_list("key", flat=True),
        "criterion": tasks.values_list("criteria__key", flat=True).order_by(
            "order", "criteria__order"
        ),
        "condition": conditions.values_list("key", flat=True),
        **{name: conditions.values_list(name, flat=True) for name in ("system", "voice")},
        **{name: items.values_list(name, flat=True) for name in ("dimension", "split", "language")},
    }
    return {column: [n for n in dict.fromkeys(names) if n] for column, names in named.items()}


def task_titles(study: str) -> dict[str, str]:
    """What raters read above each task, by its key, where it has a title."""
    tasks = Task.objects.filter(study__key=study).exclude(title="").order_by("order")
    return dict(tasks.values_list("key", "title"))


def still_open(study: str) -> bool:
    """Whether ratings may still come: the study is not closed, and not all it planned is there."""
    row = Study.objects.get(key=study)
    blocks = Block.objects.filter(task__study=row)
    complete = blocks.exists() and not blocks.exclude(state=Block.State.DONE).exists()
    return row.state != Study.State.CLOSED and not complete


class RatingsState(TypedDict):
    """How many ratings a study holds, and a mark that changes with whatever their rows show."""

    ratings: int
    mark: str


def ratings_state(study: str) -> RatingsState:
    """Quick to ask, so that a page can tell whether anything came or changed since it was made.

    Ratings are only added, or deleted with their session; what else a row shows (session, traps of
    the plan, condition, item, stimulus) is in the mark by value, and whether the study is closed,
    how often its wording was corrected, and how far reviews of reasons are.
    """
    with connection.cursor() as cursor:
        cursor.execute(STATE, [study] * 2)
        ratings, *marks = cursor.fetchone()
    return RatingsState(ratings=ratings, mark="-".join(map(str, (ratings, *marks))))


STATE = f"""
WITH chosen AS (SELECT id, language, state, version, wording FROM listening_study WHERE key = %s),
    rated AS (SELECT count(*) AS n, coalesce(sum(q.id), 0) AS ids,
            count(*) FILTER (WHERE q.counts) AS counted
        FROM listening_rating q JOIN listening_trial t ON t.id = q.trial_id
        JOIN listening_session s ON s.id = t.session_id
        JOIN listening_study st ON st.id = s.study_id
        WHERE st.key = %s AND NOT s.pilot),
    facts AS (
        SELECT 's' || s.id || ({STATUS_NOW}) || s.paid AS fact FROM listening_session s
            WHERE s.study_id IN (SELECT id FROM chosen) AND NOT s.pilot
        UNION ALL SELECT 'c' || id || concat_ws('|', key, label, system, voice)
            FROM listening_condition
            WHERE study_id IN (SELECT id FROM chosen)
        UNION ALL SELECT 'i' || id || concat_ws('|', key, dimension, paragraph, language, split)
            FROM listening_item WHERE study_id IN (SELECT id FROM chosen)
        UNION ALL SELECT 'k' || id || concat_ws('|', key, title, method, traps) FROM listening_task
            WHERE study_id IN (SELECT id FROM chosen)
        UNION ALL SELECT 'x' || id || key FROM listening_stimulus
            WHERE study_id IN (SELECT id FROM chosen)
        UNION ALL SELECT 'v' || j.id || j.rule || j.in_use
            || (SELECT concat_ws('|', count(a.answered_at), max(a.answered_at),
                count(i.gold), sum(hashtext(i.gold::text)))
            FROM listening_reviewitem i
            LEFT JOIN listening_reviewassignment a ON a.item_id = i.id WHERE i.job_id = j.id)
            FROM listening_reviewjob j
            WHERE study_id IN (SELECT id FROM chosen) AND state <> 'draft'
                AND kind IN ('reasons', 'codes')
        UNION ALL SELECT 'o' || number || decision FROM listening_stoplook
            WHERE study_id IN (SELECT id FROM chosen)
        UNION ALL SELECT 'l' || language || (state = 'closed')
            || concat_ws('|', '', nullif(version, 1), nullif(wording, 0)) FROM chosen)
SELECT n, ids, counted, (SELECT md5(coalesce(string_agg(fact, ',' ORDER BY fact), '')) FROM facts)
FROM rated
"""


def no_study(key: str) -> str:
    """That there is no study of this key, and which there are; empty where it is there."""
    keys = list(Study.objects.values_list("key", flat=True))
    if key in keys:
        return ""
    return f"There is no study “{key}”. Studies: {', '.join(keys) or 'none yet'}."
