"""How far a review is: for a reviewer of their own part, for researchers of everybody's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from listening.models import ReviewAssignment, Reviewer, ReviewJob
from listening.review.claiming import AGAIN, DISPUTED, FIRST, THIRD
from listening.review.training import gold_categories

PAUSE_S = 300  # longer between two verdicts is a pause, not work


def own_progress(reviewer: Reviewer) -> dict[str, int]:
    """What a reviewer is told: their own verdicts alone."""
    rows = ReviewAssignment.objects.filter(reviewer=reviewer, answered_at__isnull=False)
    return {"done": rows.count()}


@dataclass(frozen=True)
class JobProgress:
    """Items of a job by how many of their verdicts are there."""

    items: int
    gold: int
    wanted: int  # verdicts
    given: int  # of them, each item's own up to what it wants
    complete: int  # items that have all that they want
    disputed: int  # of them, whose reviewers differ in a way that the rule does not settle
    adjudicated: int  # of those


COUNTS = f"""
WITH said AS (
    SELECT i.id, i.wanted, i.gold IS NOT NULL AS gold,
        count(a.id) FILTER (WHERE a.occasion = {FIRST} AND a.answered_at IS NOT NULL) AS n,
        i.id IN ({DISPUTED}) AS differ,
        bool_or(a.occasion = {THIRD} AND a.answered_at IS NOT NULL) AS third
    FROM listening_reviewitem i LEFT JOIN listening_reviewassignment a ON a.item_id = i.id
    WHERE i.job_id = %(job)s GROUP BY i.id)
SELECT count(*), count(*) FILTER (WHERE gold),
    coalesce(sum(wanted) FILTER (WHERE NOT gold), 0)::int,
    coalesce(sum(least(n, wanted)) FILTER (WHERE NOT gold), 0)::int,
    count(*) FILTER (WHERE NOT gold AND n >= wanted),
    count(*) FILTER (WHERE NOT gold AND differ),
    count(*) FILTER (WHERE NOT gold AND differ AND third)
FROM said
"""


def job_progress(job: ReviewJob) -> JobProgress:
    with connection.cursor() as cursor:
        cursor.execute(COUNTS, {"job": job.pk})
        return JobProgress(*cursor.fetchone())


@dataclass(frozen=True)
class ReviewerProgress:
    """What one reviewer did, and how fast."""

    reviewer: int
    answered: int  # items for the first time, without training
    repeated: int
    notes: int
    taken_back: int  # verdicts that another one of theirs replaced
    median_s: float | None  # from shown to answered
    worked_s: float  # without pauses
    last: datetime | None
    gold_right: int  # by what they said first: then they were told
    gold: int

    @property
    def worked(self) -> str:
        """Hours and minutes."""
        minutes = round(self.worked_s / 60)
        return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


REVIEWERS = f"""
WITH said AS (
    SELECT v.*, a.reviewer_id, a.occasion, i.gold, a.item_id, g.right_one,
        v.id = max(v.id) OVER (PARTITION BY v.assignment_id) AS newest,
        v.id = min(v.id) OVER (PARTITION BY v.assignment_id) AS oldest,
        extract(epoch FROM v.at - lag(v.at) OVER (PARTITION BY a.reviewer_id ORDER BY v.id)) AS gap
    FROM listening_verdict v JOIN listening_reviewassignment a ON a.id = v.assignment_id
    JOIN listening_reviewitem i ON i.id = a.item_id
    LEFT JOIN unnest(%s::bigint[], %s::text[]) AS g (item, right_one) ON g.item = i.id
    WHERE i.job_id = %s AND v.phase = 'own')
SELECT reviewer_id,
    count(*) FILTER (WHERE newest AND gold IS NULL AND occasion <> {AGAIN}),
    count(*) FILTER (WHERE newest AND occasion = {AGAIN}),
    count(*) FILTER (WHERE newest AND note <> ''),
    count(*) FILTER (WHERE NOT newest),
    percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds),
    coalesce(sum(gap) FILTER (WHERE gap <= {PAUSE_S}), 0)::float,
    max(at),
    count(*) FILTER (WHERE oldest AND gold IS NOT NULL AND category = right_one),
    count(*) FILTER (WHERE oldest AND gold IS NOT NULL)
FROM said GROUP BY reviewer_id
"""


def reviewers_progress(job: ReviewJob) -> dict[int, ReviewerProgress]:
    """By the reviewer's row; who said nothing yet is not in it.

    An item for training is right where the verdict is, as agreement compares it: not mark by mark.
    """
    right = gold_categories(job)
    with connection.cursor() as cursor:
        cursor.execute(REVIEWERS, [list(right), list(right.values()), job.pk])
        return {row[0]: ReviewerProgress(*row) for row in cursor.fetchall()}


def disputed_items(job: ReviewJob) -> list[int]:
    """Items whose reviewers differ."""
    with connection.cursor() as cursor:
        cursor.execute(DISPUTED, {"job": job.pk})
        return [row[0] for row in cursor.fetchall()]
