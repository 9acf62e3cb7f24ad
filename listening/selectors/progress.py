"""Progress of a study: sessions by status, slots filled, traps passed, blocks, checks failed.

All who watch a study share one cached aggregate, which is made at most once a second.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import defaultdict
from contextlib import suppress
from typing import Any, NamedTuple, TypedDict, overload

from django.core.cache import cache
from django.db import connection
from django.utils import timezone
from redis.exceptions import RedisError

from listening.common.ages import age_s
from listening.common.cached_counts import (
    LIFETIME_S,
    REST,
    SLOW_S,
    Patience,
    ask,
    claim,
    readable,
    request_key,
)
from listening.common.statements import rows_of
from listening.design.odds import TrapOdds, trap_odds
from listening.design.pair_drawing import drawing_rule
from listening.design.traps import TRAINING, TrapPlan
from listening.methods import Scale
from listening.methods.paired import AT_CLAIM
from listening.models import Block, Criterion, Session, Stimulus, Study, Task
from listening.sessions.leases import ANSWERED, STATUS_NOW

SESSION_COUNTS_SQL = f"""
SELECT {STATUS_NOW} AS shown, count(*), count(*) FILTER (WHERE r.simulated)
FROM listening_session s JOIN listening_rater r ON r.id = s.rater_id
WHERE s.study_id = %s AND NOT s.pilot GROUP BY shown
"""
# How often each stimulus (versus another, where one is compared) is planned in a task, and filled.
# Of what a stop rule has stopped, only what was rated.
PLANNED_SQL = """
SELECT p.stimulus_id, p.versus_id, x.condition_id, v.condition_id, p.planned
FROM (SELECT stimulus_id, versus_id, count(*) AS planned FROM listening_slot s
    WHERE task_id = %(task)s AND others = '{}' AND (NOT is_stopped OR EXISTS (
        SELECT 1 FROM listening_rating r WHERE r.slot_id = s.id AND r.counts)) GROUP BY 1, 2
    UNION ALL
    SELECT r.id, NULL, count(*) FROM listening_slot, unnest(stimulus_id || others) AS r(id)
    WHERE task_id = %(task)s AND others <> '{}' GROUP BY 1) p
JOIN listening_stimulus x ON x.id = p.stimulus_id
LEFT JOIN listening_stimulus v ON v.id = p.versus_id
"""
RATINGS_SQL = "listening_rating WHERE criterion_id = ANY(%(criteria)s) AND counts"
# A slot has a rating for each criterion.
RATED_ONCE_SQL = f"(SELECT DISTINCT slot_id, stimulus_id FROM {RATINGS_SQL}) AS q"
FILLED_SQL = "SELECT stimulus_id, NULL, count(*) FROM {rated} GROUP BY 1"
FILLED_VERSUS_SQL = """
SELECT q.stimulus_id, CASE WHEN s.others = '{{}}' THEN s.versus_id END, count(*)
FROM (SELECT slot_id, stimulus_id FROM {rated}) q JOIN listening_slot s ON s.id = q.slot_id
GROUP BY 1, 2
"""
BY_CONDITION_SQL = """
SELECT concat_ws(' ~ ', co.key, vc.key), concat_ws(' ~ ', coalesce(nullif(co.label, ''),
    co.key), coalesce(nullif(vc.label, ''), vc.key)), p.planned, p.filled
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
    AS p(condition_id, versus_id, planned, filled)
JOIN listening_condition co ON co.id = p.condition_id
LEFT JOIN listening_condition vc ON vc.id = p.versus_id
ORDER BY 1
"""
PLAN_KEPT_S = 30 * 86_400
BLOCKS_SQL = (
    "SELECT task_id, state, count(*) FROM listening_block WHERE task_id = ANY(%s) GROUP BY 1, 2"
)
TRAPS_SQL = f"""
SELECT task_id, trap, count(*), count(*) FILTER (WHERE trap_passed) FROM listening_trial
WHERE task_id = ANY(%s) AND trap NOT IN ('', %s) AND {ANSWERED}
GROUP BY 1, 2 ORDER BY 1, 2
"""
CHECK_COUNTS_SQL = """
SELECT c.key, count(*) FILTER (WHERE c.passed) AS passed,
    count(*) FILTER (WHERE c.done AND NOT c.passed AND NOT c.screened) AS failed,
    count(*) FILTER (WHERE c.screened) AS screened
FROM (SELECT e.key, coalesce(e.value->>'passed', '') = 'true' AS passed,
        coalesce(e.value->>'done', '') = 'true' AS done,
        s.status = 'screened' AND starts_with(s.rejected_because, 'check ' || e.key || ':')
            AS screened
    FROM listening_session s, jsonb_each(s.checks) AS e
    WHERE s.study_id = %(study)s AND NOT s.pilot) c
GROUP BY 1
"""
QUESTIONNAIRE_COUNTS_SQL = """
SELECT e.key, count(DISTINCT s.id) AS answered, count(*) FILTER (WHERE s.status = 'screened'
        AND starts_with(s.rejected_because, 'questionnaire ' || e.key || ':')) AS screened
FROM listening_session s, jsonb_object_keys(s.questionnaires) AS k(kept),
    split_part(k.kept, '@', 1) AS e(key)
WHERE s.study_id = %(study)s AND NOT s.pilot GROUP BY 1
"""
FEWEST_RATERS_SQL = f"""
SELECT min(n) FROM (SELECT count(DISTINCT z.rater_id) AS n FROM (
    SELECT DISTINCT trial_id, stimulus_id FROM {RATINGS_SQL}) r
    JOIN listening_trial t ON t.id = r.trial_id JOIN listening_session z ON z.id = t.session_id
    JOIN listening_stimulus x ON x.id = r.stimulus_id GROUP BY x.condition_id) c
"""
AT_MOST_EVERY_S = 1.0
KIND = "progress"  # of what `listening.common.cached_counts` asks a worker for
LOCKED_S = 60  # a maker that dies keeps the others waiting no longer than this


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
    min_raters: int  # of each condition; 0: none
    fewest_raters: int  # of a condition; counted where the task has a minimum


class StudyProgress(TypedDict):
    """How far a study is; sessions by status, slots planned and filled per task and condition."""

    study: str
    title: str
    state: str
    link: str
    at: str
    sessions: dict[str, int]
    tasks: list[TaskProgress]


def study_progress(study: str) -> StudyProgress:
    """Counts as they stand now; a few aggregates, so callers cache it."""
    row = Study.objects.get(key=study)
    tasks = list(row.tasks.order_by("order"))
    is_planned = row.state != Study.State.DRAFT  # what a draft's pilots fill is planned anew
    ids = [task.pk for task in tasks if is_planned]
    criteria: dict[int, list[int]] = defaultdict(list)
    for pk, task_id in Criterion.objects.filter(task__in=ids).values_list("pk", "task"):
        criteria[task_id].append(pk)
    sessions = dict.fromkeys((*Session.Status.values, "simulated"), 0)
    with connection.cursor() as cursor:
        cursor.execute(SESSION_COUNTS_SQL, [row.pk])
        for shown, count, simulated in cursor.fetchall():
            sessions[shown] += count
            sessions["simulated"] += simulated
        cursor.execute(BLOCKS_SQL, [ids])
        blocks = cursor.fetchall()
        cursor.execute(TRAPS_SQL, [ids, TRAINING])
        traps = cursor.fetchall()
    names = {state.value: state.name.lower() for state in Block.State}
    progress: list[TaskProgress] = []
    for task in tasks:
        counted = {names[state]: n for task_id, state, n in blocks if task_id == task.pk}
        conditions = _conditions(task, criteria[task.pk], sum(counted.values()))
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
                min_raters=task.min_raters or 0,
                fewest_raters=_fewest_raters(task, criteria[task.pk], conditions),
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


def _conditions(task: Task, criteria: list[int], blocks: int) -> list[ConditionProgress]:
    """Each condition of the task, or pair of them: how much of its plan is filled."""
    if not blocks:
        return []
    plan = _planned(task, blocks)
    filled = _filled(criteria, versus=any(planned.versus_id for planned in plan))
    sums: dict[tuple[int, int | None], list[int]] = defaultdict(lambda: [0, 0])
    for planned in plan:
        both = sums[planned.condition_id, planned.versus_condition_id]
        both[0] += planned.slots
        both[1] += filled.get((planned.stimulus_id, planned.versus_id), 0)
    rows = [(*pair, *both) for pair, both in sums.items()]
    with connection.cursor() as cursor:
        cursor.execute(BY_CONDITION_SQL, [list(column) for column in zip(*rows, strict=True)])
        return [
            ConditionProgress(condition=key, label=label or key, planned=of, rated=rated)
            for key, label, of, rated in cursor.fetchall()
        ]


def _fewest_raters(task: Task, criteria: list[int], conditions: list[ConditionProgress]) -> int:
    """How many raters the condition with the fewest has; 0 without a minimum."""
    if not task.min_raters or not all(each["rated"] for each in conditions):
        return 0
    with connection.cursor() as cursor:
        cursor.execute(FEWEST_RATERS_SQL, {"criteria": criteria})
        return cursor.fetchone()[0] or 0


class Planned(NamedTuple):
    """How many slots of a plan are for a stimulus, maybe versus another."""

    stimulus_id: int
    versus_id: int | None
    condition_id: int
    versus_condition_id: int | None
    slots: int


def _planned(task: Task, blocks: int) -> list[Planned]:
    """A plan is written once, with its blocks: counted once, too, unless they are others.

    Counted each time where claims draw pairs: the plan is what was drawn so far, and a balanced
    rest; and where a stop rule has stopped systems.
    """
    name = f"plan/{task.pk}/{blocks}"
    plan: list[Planned] | None = None
    changes = drawing_rule(task) in AT_CLAIM or (
        bool(task.study.stop) and task.study.looks.exclude(stopped=[]).exists()
    )
    with suppress(RedisError):
        plan = None if changes else readable(name)
    if plan is None:
        with connection.cursor() as cursor:
            cursor.execute(PLANNED_SQL, {"task": task.pk})
            plan = [Planned(*row) for row in cursor.fetchall()]
        with suppress(RedisError):
            cache.set(name, plan, timeout=PLAN_KEPT_S)
    return plan


def _filled(criteria: list[int], *, versus: bool) -> dict[tuple[int, int | None], int]:
    rated = RATINGS_SQL if len(criteria) == 1 else RATED_ONCE_SQL
    statement = (FILLED_VERSUS_SQL if versus else FILLED_SQL).format(rated=rated)
    with connection.cursor() as cursor:
        cursor.execute(statement, {"criteria": criteria})
        return {(stimulus, other): count for stimulus, other, count in cursor.fetchall()}


def check_counts(study: int) -> dict[str, Any]:
    """Check -> sessions that passed, failed and went on, and were screened out."""
    return {row.key: row for row in rows_of(CHECK_COUNTS_SQL, study=study)}


def questionnaire_counts(study: int) -> dict[str, Any]:
    """Questionnaire -> sessions that answered, and that its answers screened out."""
    return {row.key: row for row in rows_of(QUESTIONNAIRE_COUNTS_SQL, study=study)}


def odds_of_traps(task: Task, plan: TrapPlan) -> tuple[TrapOdds | None, str]:
    """The odds for one set of the task's traps; else why there are none."""
    scales = {c.key: Scale.from_dict(c.scale) for c in task.criteria.order_by("order")}
    own: dict[str, list[list[str]]] = {kind.kind: [] for kind in plan.kinds}
    stimuli = Stimulus.objects.filter(study=task.study_id, trap__in=list(own))
    for kind, expected in stimuli.exclude(trap=TRAINING).values_list(
        "trap", "attributes__expected"
    ):
        words = str(expected or "").split("|")
        own[kind].append([word.strip() for word in words if word.strip()])
    try:
        return trap_odds(plan, scales, own=own), ""
    except (ValueError, KeyError) as error:
        return None, str(error)


class Snapshot(TypedDict):
    """A study's progress as it was at `made_at`; `version` changes when a number does."""

    progress: dict[str, Any]
    version: str
    made_at: float
    took_s: float
    rests_until: float


@overload
def page_progress(study: str, *, max_age_s: float = 0.0) -> dict[str, Any]: ...
@overload
def page_progress(
    study: str, *, max_age_s: float = 0.0, patience: Patience | None
) -> dict[str, Any] | None: ...
def page_progress(
    study: str, *, max_age_s: float = 0.0, patience: Patience | None = None
) -> dict[str, Any] | None:
    """Return the aggregate for a page, counted anew where the cache cannot be reached.

    A slow one is shown as it was cached while a worker counts again. None: the caller's patience
    has run out.
    """
    try:
        cached: Snapshot | None = cache.get(_name(study))
        over = patience is not None and patience.is_over
        if over or (cached and cached["took_s"] > SLOW_S):
            if not (cached and _lasts(cached, max_age_s)):
                ask(KIND, study)
            return cached["progress"] if cached else None
        fresh = latest_progress(study, max_age_s=max_age_s)
        if patience is not None and fresh != cached:
            patience.left_s -= fresh["took_s"]
        return fresh["progress"]
    except RedisError:
        return _snapshot(study)["progress"]


def latest_progress(study: str, *, max_age_s: float = 0.0) -> Snapshot:
    """The newest aggregate; made anew when it has rested enough and is older than `max_age_s`."""
    name = _name(study)
    cached: Snapshot | None = cache.get(name)
    if cached and _lasts(cached, max_age_s):
        return cached
    lock = f"{name}/lock"
    mine = claim(lock, LOCKED_S)
    if cached and not mine:
        return cached  # another process is counting
    try:
        fresh = _snapshot(study)
        cache.set(name, fresh, timeout=LIFETIME_S)
        cache.delete(request_key(KIND, study))
    finally:
        if mine:
            cache.delete(lock)
    return fresh


def _lasts(cached: Snapshot, max_age_s: float) -> bool:
    rests_s = cached["rests_until"] - cached["made_at"]
    return age_s(cached["made_at"]) < max(rests_s, max_age_s)


def _name(study: str) -> str:
    return f"progress/{study}"


def _snapshot(study: str) -> Snapshot:
    began = time.monotonic()
    progress: dict[str, Any] = dict(study_progress(study))
    progress["total"] = {
        key: sum(task[key] for task in progress["tasks"]) for key in ("planned", "rated")
    }
    lasting = {key: value for key, value in progress.items() if key != "at"}
    version = hashlib.sha256(json.dumps(lasting, sort_keys=True).encode()).hexdigest()[:16]
    made_at = time.time()
    took_s = time.monotonic() - began
    rests_until = made_at + max(AT_MOST_EVERY_S, REST * took_s)
    return Snapshot(
        progress=progress, version=version, made_at=made_at, took_s=took_s, rests_until=rests_until
    )


def forget_progress(study: str) -> None:
    """Drop the cached progress after a researcher's change, so that it is counted again.

    Where counting is slow, pages show the old counts with the new state until a worker has counted.
    """
    with suppress(RedisError):
        cached: Snapshot | None = cache.get(_name(study))
        state = Study.objects.filter(key=study).values_list("state", flat=True).first()
        if cached is None or state is None or cached["took_s"] <= SLOW_S:
            cache.delete(_name(study))
            return
        progress = cached["progress"] | {"state": state}
        stale: Snapshot = {**cached, "progress": progress, "made_at": 0.0, "rests_until": 0.0}
        cache.set(_name(study), stale, timeout=LIFETIME_S)
