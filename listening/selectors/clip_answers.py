"""Counts of the answers to each clip of a study, most disagreement first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypedDict

from django.db import connection

from listening.common.cached_counts import look
from listening.models import Criterion, Stimulus


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
    skipped: int  # times that it could not be played
    answers: list[tuple[str, float | None, int]]  # label, score, how many; in order of the scale
    different: int  # answers in all: only those that were given most often are told


@dataclass(frozen=True)
class ClipQuery:
    """Which clips: of a task and criterion, maybe of one condition or one stimulus alone."""

    study: str
    task: str
    criterion: str
    condition: str = ""
    stimulus: str = ""
    sort: str = ""  # of SORTS; "": the first of them


class ClipPage(TypedDict):
    """One page of clips, and how many there are in all."""

    clips: list[ClipAnswers]
    total: int
    counted_at: datetime | None  # where that was not just now


class Tally(NamedTuple):
    """What the ratings of one clip come to, for its place among the others."""

    stimulus_id: int
    stimulus: str
    condition: str
    ratings: int
    mean: float | None
    sd: float | None
    labels: int
    skipped: int
    answers: list[tuple[str, float | None, int]]


KIND = "clips"
MOST_ANSWERS = 12  # of a slider, or texts: those given most often
# Every rating once, into as many groups as there are clips and answers; joins come after.
TALLY = """
WITH rejected AS MATERIALIZED (
    SELECT t.id FROM listening_criterion c JOIN listening_task k ON k.id = c.task_id
    JOIN listening_session s ON s.study_id = k.study_id AND (s.status = 'rejected' OR s.pilot)
    JOIN listening_trial t ON t.session_id = s.id WHERE c.id = %(criterion)s),
answers AS (
    SELECT q.stimulus_id, q.label, q.score, count(*) AS n
    FROM listening_rating q LEFT JOIN rejected ON rejected.id = q.trial_id
    WHERE q.criterion_id = %(criterion)s AND q.counts AND rejected.id IS NULL GROUP BY 1, 2, 3),
clips AS (
    SELECT stimulus_id, sum(n) AS n, sum(n * score) / sum(n) FILTER (WHERE score IS NOT NULL)
            AS mean, sum(n) FILTER (WHERE score IS NOT NULL) AS scored,
        count(*) AS labels
    FROM answers GROUP BY 1),
most AS (
    SELECT stimulus_id, json_agg(json_build_array(label, score, n) ORDER BY score, label) AS given
    FROM (SELECT *, row_number() OVER (PARTITION BY stimulus_id ORDER BY n DESC, score, label) AS r
        FROM answers) ranked
    WHERE r <= %(most)s GROUP BY 1),
spread AS (
    SELECT a.stimulus_id, sqrt(sum(a.n * (a.score - c.mean) ^ 2) / nullif(max(c.scored) - 1, 0))
        AS sd
    FROM answers a JOIN clips c USING (stimulus_id) WHERE a.score IS NOT NULL GROUP BY 1),
skips AS (
    SELECT t.stimulus_id, count(*) AS n FROM listening_trial t
    WHERE t.state = 'skipped' AND t.trap = '' AND t.task_id IN (
        SELECT task_id FROM listening_criterion WHERE id = %(criterion)s)
    GROUP BY 1)
SELECT x.id, x.key, co.key, coalesce(c.n, 0)::bigint, c.mean, s.sd, coalesce(c.labels, 0),
    coalesce(k.n, 0), coalesce(m.given, '[]')
FROM clips c FULL JOIN skips k USING (stimulus_id) LEFT JOIN spread s USING (stimulus_id)
LEFT JOIN most m USING (stimulus_id)
JOIN listening_stimulus x ON x.id = stimulus_id
JOIN listening_condition co ON co.id = x.condition_id
"""


def _nothing_last(value: float | None, *, down: bool = False) -> tuple[bool, float]:
    return (value is None, 0.0 if value is None else -value if down else value)


SORTS: dict[str, tuple[str, Callable[[Tally], Any]]] = {  # words, and what decides
    "disagreement": (
        "Most disagreement first",
        lambda t: (_nothing_last(t.sd, down=True), -t.labels, t.stimulus_id),
    ),
    "lowest": ("Lowest mean first", lambda t: (_nothing_last(t.mean), t.stimulus_id)),
    "highest": ("Highest mean first", lambda t: (_nothing_last(t.mean, down=True), t.stimulus_id)),
    "fewest": ("Fewest ratings first", lambda t: (t.ratings, t.stimulus_id)),
    "skipped": ("Most often skipped first", lambda t: (-t.skipped, t.stimulus_id)),
}


def tallies(criterion: str) -> list[Tally]:
    """Every clip of a criterion that was rated, or passed over because it could not be played.

    Counted are ratings that fill a place of the plan (none of a trap does), of sessions that are
    not rejected; rules of an analysis are not applied.
    """
    with connection.cursor() as cursor:
        cursor.execute(TALLY, {"criterion": int(criterion), "most": MOST_ANSWERS})
        return [Tally(*row) for row in cursor.fetchall()]


def clip_answers(query: ClipQuery, limit: int, offset: int = 0) -> ClipPage:
    """One page of clips, as they were counted last."""
    criterion = Criterion.objects.filter(
        task__study__key=query.study, task__key=query.task, key=query.criterion
    ).first()
    if criterion is None:
        return ClipPage(clips=[], total=0, counted_at=None)
    counts = look(KIND, str(criterion.pk), max_age_s=0)
    assert counts is not None  # who looks with patience gets something
    tallies = [
        tally
        for tally in counts.value
        if query.condition in ("", tally.condition) and query.stimulus in ("", tally.stimulus)
    ]
    tallies.sort(key=SORTS.get(query.sort, SORTS["disagreement"])[1])
    shown = tallies[offset : offset + limit]
    counted_at = counts.counted_at if counts.is_old else None
    return ClipPage(clips=_clips(shown), total=len(tallies), counted_at=counted_at)


def _clips(shown: list[Tally]) -> list[ClipAnswers]:
    ids = [tally.stimulus_id for tally in shown]
    stimuli = Stimulus.objects.select_related("condition", "item").in_bulk(ids)
    return [
        ClipAnswers(
            stimulus=stimulus.key,
            condition=stimulus.condition.key,
            label=stimulus.condition.label,
            item=stimulus.item.key,
            text=stimulus.item.text,
            ratings=tally.ratings,
            mean=tally.mean,
            sd=tally.sd,
            skipped=tally.skipped,
            answers=tally.answers,
            different=tally.labels,
        )
        for tally in shown
        if (stimulus := stimuli.get(tally.stimulus_id))
    ]


class AskedPlace(TypedDict):
    """A task and one of its criteria, with what raters read."""

    task: str
    criterion: str
    title: str
    question: str


def criterion_places(study: str) -> list[AskedPlace]:
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
