"""The only reads that leave the room: ratings, stimuli, progress, and whose a study is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypedDict

from django.db import connection, transaction
from django.utils import timezone

from listening import audio
from listening.design.traps import TrapPlan
from listening.methods import method_named
from listening.models import Stimulus, Study, Task


class RatingRow(TypedDict):
    """One rating as it leaves the room: pseudonymous, one row each, traps included."""

    study: str
    task: str
    method: str
    criterion: str
    estimand: str
    session: str
    rater: str
    block: str
    position: int
    item: str
    dimension: str
    paragraph: str
    language: str
    split: str
    condition: str
    system: str
    voice: str
    stimulus: str
    versus_condition: str
    versus_stimulus: str
    presented_first: str
    context: str
    label: str
    score: float | None  # None: the answer has no number, as text has none
    trap: str
    trap_passed: bool | None
    justification: str
    review: str
    latency_ms: int | None
    plays: int | None
    heard_fraction: float | None
    rated_at: str
    session_status: str
    paid: bool
    counts: bool  # does it fill a place of the plan? never for traps


class StimulusRow(TypedDict):
    """One stimulus with the local path of its original audio; of a derived one, the rated lines."""

    stimulus: str
    item: str
    condition: str
    system: str
    voice: str
    role: str
    path: str
    sha256: str
    text: str
    language: str
    speaker: str
    duration_s: float
    reference_path: str
    attributes: dict[str, str]


RATINGS = """
SELECT st.key, k.key, k.method, c.key, 's' || t.session_id, r.code, 'b' || t.block_id, t.position,
    i.key, i.dimension, i.paragraph, coalesce(nullif(i.language, ''), st.language), i.split,
    co.key, co.system, co.voice, x.key, coalesce(vc.key, ''), coalesce(v.key, ''),
    CASE WHEN v.id IS NOT NULL THEN t.versus_first END,
    concat_ws(' ', (SELECT string_agg(y.key, ' ' ORDER BY o.place) FROM unnest(t.context)
        WITH ORDINALITY AS o(id, place) JOIN listening_stimulus y ON y.id = o.id),
        (SELECT string_agg(coalesce(nullif(l.line->>'stimulus', ''),
            'text:' || replace(l.line->>'item', ' ', '_')), ' ' ORDER BY l.place)
        FROM jsonb_array_elements(x.lines) WITH ORDINALITY AS l(line, place)
        WHERE l.line->>'role' = 'context')),
    q.label, q.score, t.trap, t.trap_passed, coalesce(j.text, ''), t.latency_ms, t.plays,
    t.heard_fraction, to_char(q.rated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    s.status, s.paid, q.counts
FROM listening_rating q
JOIN listening_trial t ON t.id = q.trial_id
JOIN listening_session s ON s.id = t.session_id
JOIN listening_rater r ON r.id = s.rater_id
JOIN listening_task k ON k.id = t.task_id
JOIN listening_study st ON st.id = s.study_id
JOIN listening_criterion c ON c.id = q.criterion_id
JOIN listening_stimulus x ON x.id = q.stimulus_id
JOIN listening_condition co ON co.id = x.condition_id
JOIN listening_item i ON i.id = x.item_id
LEFT JOIN listening_stimulus v ON v.id = t.versus_id
LEFT JOIN listening_condition vc ON vc.id = v.condition_id
LEFT JOIN listening_justification j ON j.trial_id = t.id
WHERE st.key = %s ORDER BY q.id
"""
FIRST = 19  # the column of the query that becomes `presented_first`
BEFORE_REVIEW = 26  # columns of the query that stand before `review`


def rating_rows(study: str) -> Iterator[RatingRow]:
    """Every stored rating of a study in the order of storing, read in pieces, never all at once."""
    keys = tuple(RatingRow.__annotations__)
    with transaction.atomic():
        raw = connection.connection
        with raw.cursor(name="rating_rows") as cursor:
            cursor.itersize = 5000
            cursor.execute(RATINGS, [study])
            for row in cursor:
                method = method_named(row[2])
                order = row[FIRST]  # None where nothing was compared
                first = "" if order is None else method.presented_first(versus_first=order)
                head = (*row[:4], method.estimand, *row[4:FIRST], first)
                tail = (*row[FIRST + 1 : BEFORE_REVIEW], "", *row[BEFORE_REVIEW:])
                yield dict(zip(keys, (*head, *tail), strict=True))  # type: ignore[misc]  # keys are RatingRow's


FFMPEG_ONLY = ("m4a", "mp4", "m4b", "mov", "aac", "webm", "mkv", "mka", "3gp")


def stimulus_rows(study: str) -> list[StimulusRow]:
    """Every stimulus of a study, traps included, with a path that this machine can read."""
    stimuli = (
        Stimulus.objects.filter(study__key=study)
        .select_related("condition", "item", "study")
        .order_by("pk")
    )
    references = {s.item_id: s for s in stimuli if s.condition.role == "reference" and s.trap == ""}
    return [_stimulus_row(s, references.get(s.item_id)) for s in stimuli]


def _stimulus_row(s: Stimulus, reference: Stimulus | None) -> StimulusRow:
    return StimulusRow(
        stimulus=s.key,
        item=s.item.key,
        condition=s.condition.key,
        system=s.condition.system,
        voice=s.condition.voice,
        role="trap" if s.trap else s.condition.role,
        path=_readable(s),
        sha256=s.sha256,
        text=s.item.text,
        language=s.item.language or s.study.language,
        speaker=s.item.speaker,
        duration_s=_rated_s(s),
        reference_path=_readable(reference) if reference else "",
        attributes={str(k): str(v) for k, v in s.attributes.items()},
    )


def _rated_s(s: Stimulus) -> float:
    """How long the rated part lasts: what `path` holds."""
    rated = [line for line in s.lines if line["role"] == "rated"]
    return float(rated[-1]["end_s"] - rated[0]["start_s"]) if rated else s.duration_s


def _readable(s: Stimulus) -> str:
    """The original; its lossless copy where only FFmpeg reads it, so that every metric can."""
    needs_ffmpeg = s.original.rpartition(".")[2] in FFMPEG_ONLY
    return str(audio.local_path(s.served if needs_ffmpeg else s.original))


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
    """What another room's page shows of a study."""

    key: str
    title: str


def study_head(study: str, user: Any) -> StudyHead | None:
    """The study, if it is this researcher's or they are a superuser; else None."""
    studies = Study.objects.filter(key=study)
    found = (studies if user.is_superuser else studies.filter(owner=user.pk)).first()
    return StudyHead(key=found.key, title=found.title) if found else None


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


SESSIONS = """
SELECT CASE WHEN s.status = 'started' AND NOT EXISTS (
        SELECT 1 FROM listening_block b WHERE b.session_id = s.id AND b.state = 1)
    THEN 'expired' ELSE s.status END AS shown, count(*), count(*) FILTER (WHERE r.simulated)
FROM listening_session s JOIN listening_rater r ON r.id = s.rater_id
WHERE s.study_id = %s GROUP BY shown
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
TRAPS = """
SELECT task_id, trap, count(*), count(*) FILTER (WHERE trap_passed) FROM listening_trial
WHERE task_id = ANY(%s) AND trap <> '' AND state = 'answered' GROUP BY 1, 2 ORDER BY 1, 2
"""


def study_progress(study: str) -> StudyProgress:
    """Counts as they stand now; a few aggregates, so callers cache it."""
    row = Study.objects.get(key=study)
    tasks = list(row.tasks.order_by("order"))
    ids = [task.pk for task in tasks]
    statuses = ("started", "finished", "withdrawn", "rejected", "expired")
    sessions = dict.fromkeys((*statuses, "simulated"), 0)
    with connection.cursor() as cursor:
        cursor.execute(SESSIONS, [row.pk])
        for shown, count, simulated in cursor.fetchall():
            sessions[shown] += count
            sessions["simulated"] += simulated
        cursor.execute(SLOTS, [ids, ids])
        slots = cursor.fetchall()
        cursor.execute(BLOCKS, [ids])
        blocks = cursor.fetchall()
        cursor.execute(TRAPS, [ids])
        traps = cursor.fetchall()
    names = {0: "open", 1: "leased", 2: "done"}
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
