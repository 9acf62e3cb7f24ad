"""What each task of a study or draft plans: conditions, items, clips per rater, their length."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from django.db import connection

from listening.access.rights import LOOK, draft_for
from listening.design.blocks import Amount, amount_of, sessions_of, trials_of
from listening.design.preview_trials import scales_of
from listening.design.stop_rule import StopRule
from listening.design.studyfile import StudyFile
from listening.design.traps import TrapPlan
from listening.drafts.figures import reading_of, whole
from listening.methods import Scale, method_named
from listening.methods.paired import Paired
from listening.models import Study, Task
from listening.sessions.allocation import count_conditions
from listening.sessions.leases import ANSWERED
from listening.studies.length import session_length

MEASURED_FROM = 50  # answered trials before measured seconds are told
CLIPS = """
SELECT p.task_id, count(DISTINCT (x.condition_id, v.condition_id)), count(DISTINCT x.item_id),
    avg(x.duration_s)::float8, (SELECT avg(1 + cardinality(s.others))::float8
        FROM listening_slot s WHERE s.task_id = p.task_id)
FROM (SELECT DISTINCT s.task_id, o.id AS stimulus_id, s.versus_id
      FROM listening_slot s, unnest(s.stimulus_id || s.others) AS o(id)
      WHERE s.task_id = ANY(%s)) p
JOIN listening_stimulus x ON x.id = p.stimulus_id
LEFT JOIN listening_stimulus v ON v.id = p.versus_id
GROUP BY p.task_id
"""
# The time from one answer to the next of a session, breaks of ten minutes and more left out.
PACE = f"""
SELECT task_id, count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds)
FROM (SELECT t.task_id, extract(epoch FROM t.answered_at - lag(t.answered_at)
        OVER (PARTITION BY t.session_id ORDER BY t.position))::float8 AS seconds
      FROM listening_trial t WHERE t.task_id = ANY(%s) AND t.{ANSWERED}) g
WHERE seconds > 0 AND seconds < 600 GROUP BY 1
"""


class TaskPlan(TypedDict):
    """A task's design in the numbers that a plan of the next study starts from."""

    task: str
    title: str
    method: str
    estimand: str
    criteria: list[str]
    conditions: int  # of comparisons: pairs of conditions
    items: int
    ratings_per_stimulus: int
    clips_per_rater: int  # in one session
    clips_together: float  # rated on one screen
    traps_per_rater: int
    clip_s: float  # mean duration of the rated clips
    seconds_per_trial: float  # measured, or before enough trials estimated
    is_measured: bool
    systems: NotRequired[int]  # of which two are compared at a time, one of them preferred


def task_plans(study: str) -> list[TaskPlan]:
    """The plan of each task in their order; a draft that is not planned has 0 conditions."""
    row = Study.objects.get(key=study)
    tasks = list(row.tasks.order_by("order"))
    is_planned = row.state != Study.State.DRAFT  # what a draft's pilots fill is planned anew
    planned = [task.pk for task in tasks if is_planned]
    with connection.cursor() as cursor:
        cursor.execute(CLIPS, [planned])
        clips = {row[0]: row[1:] for row in cursor.fetchall()}
        cursor.execute(PACE, [planned])
        pace = {task: seconds for task, n, seconds in cursor.fetchall() if n >= MEASURED_FROM}
    unplanned = (0, 0, 0.0, 1.0)
    guessed = session_length(row).trial_s
    return [
        _plan(task, clips.get(task.pk, unplanned), pace.get(task.pk), guess)
        for task, guess in zip(tasks, guessed, strict=True)
    ]


def _plan(task: Task, clips: tuple[Any, ...], seconds: float | None, guess: float) -> TaskPlan:
    conditions, items, clip_s, together = clips
    screens = task.block_size * max(task.blocks_per_session, 1)
    traps = TrapPlan.from_dict(task.traps)
    method = method_named(task.method)
    prefers = isinstance(method, Paired) and method.estimand.prefers
    return TaskPlan(
        task=task.key,
        title=task.title or task.key,
        method=task.method,
        estimand=method.estimand_for(task.options).key,
        criteria=[criterion.key for criterion in task.criteria.order_by("order")],
        conditions=conditions,
        items=items,
        ratings_per_stimulus=task.ratings_per_stimulus,
        clips_per_rater=round(screens * together),
        clips_together=round(together, 2),
        traps_per_rater=traps.sets_for(screens) * traps.traps_per_set,
        clip_s=round(clip_s, 2),
        seconds_per_trial=round(float(guess if seconds is None else seconds), 1),
        is_measured=seconds is not None,
        systems=count_conditions(task) if prefers else 0,
    )


class DraftPlan(TypedDict):
    """A task of a draft in the numbers that its precision depends on."""

    title: str
    estimand: str
    conditions: int  # of comparisons: pairs of conditions
    items: int
    ratings_per_stimulus: int
    clips_per_rater: int
    low: float | None  # the ends of the scale of its first question, where it has numbers
    high: float | None
    answers: int  # how many there are


class DraftStop(TypedDict):
    """The stop rule of a draft, and the raters who fill every place."""

    rule: str
    looks: list[float]  # shares of the raters
    futility: bool
    raters: int
    affordable: int | None  # raters whom a budget pays; None: not known, or no budget


def draft_plans(code: str, user: Any) -> tuple[list[DraftPlan], DraftStop | None]:
    """One for each task, and the stop rule; none while something is to mend.

    404 where the draft is not theirs.
    """
    study = whole(reading_of(draft_for(user, code, LOOK)))
    plans: list[DraftPlan] = []
    if study is None:
        return plans, None
    amounts = [amount_of(trials_of(study, task), task) for task in study.tasks]
    for task, amount in zip(study.tasks, amounts, strict=True):
        method = method_named(task.method)
        low, high, answers = _ends(scales_of(task)[0])
        plans.append(
            DraftPlan(
                title=task.title or task.key,
                estimand=method.estimand_for(task.options).key,
                conditions=_compared(amount.columns, amount.clips_together),
                items=amount.items,
                ratings_per_stimulus=task.ratings_per_stimulus,
                clips_per_rater=round(amount.screens_each * amount.clips_together),
                low=low,
                high=high,
                answers=answers,
            )
        )
    return plans, _draft_stop(study, amounts)


def _draft_stop(study: StudyFile, amounts: list[Amount]) -> DraftStop | None:
    rule = StopRule.from_dict(study.stop)
    if rule is None:
        return None
    is_one = study.task_plan == Study.TaskPlan.ONE
    clips = (max if is_one else sum)(amount.screens_each for amount in amounts)
    payment = study.payment
    each = payment.get("per_session") or payment.get("per_clip", 0) * clips
    return DraftStop(
        rule=rule.rule,
        looks=list(rule.looks),
        futility=rule.futility,
        raters=sessions_of([amount.sessions for amount in amounts], study.task_plan),
        affordable=int(rule.amount / each + 1e-9) if rule.amount and each else None,
    )


def _compared(columns: int, together: float) -> int:
    """Where all systems stand on one screen, they are what is compared."""
    return columns if together <= 1 else round(together)


def _ends(scale: Scale) -> tuple[float | None, float | None, int]:
    if scale.span is not None:
        low, high, step = scale.span
        return low, high, round((high - low) / step) + 1
    scores = [step.score for step in scale.steps if step.score is not None and not step.apart]
    return (min(scores), max(scores), len(scores)) if scores else (None, None, 0)
