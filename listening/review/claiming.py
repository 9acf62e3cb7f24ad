"""What a reviewer is given next, and how far a review is.

Each item goes to as many reviewers as are wanted, and once to each of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection, transaction
from django.utils import timezone

from listening.common.ages import CLOCK_SKEW_S
from listening.models import ReviewAssignment, Reviewer, ReviewJob
from listening.review.rules import RULES
from listening.review.training import gold_categories, in_training

MOST = 40  # at once
LEASE_S = 1800  # an item that was given and not answered is somebody else's after this time
AGAIN_AFTER = 20  # other verdicts between the first time and the second
FIRST, AGAIN, THIRD, TALK = (int(each) for each in ReviewAssignment.Occasion)

# One of the future was given before the clock went back: it holds nothing (`common.ages`).
LATELY = f"""BETWEEN statement_timestamp() - make_interval(secs => {LEASE_S})
    AND statement_timestamp() + make_interval(secs => {CLOCK_SKEW_S})"""
THERE = "(i.trial_id IS NOT NULL OR i.stimulus_id IS NOT NULL)"  # a clip may be replaced since

# Given and not answered yet: theirs still, unless others have filled the item meanwhile.
KEPT = f"""
UPDATE listening_reviewassignment a SET given_at = statement_timestamp()
FROM listening_reviewitem i
WHERE i.id = a.item_id AND a.reviewer_id = %(me)s AND a.answered_at IS NULL AND {THERE}
  AND (a.occasion <> {FIRST} OR i.gold IS NOT NULL OR i.wanted > (
    SELECT count(*) FROM listening_reviewassignment o WHERE o.item_id = i.id AND o.id <> a.id
    AND o.occasion = {FIRST} AND (o.answered_at IS NOT NULL OR (o.reviewer_id <> %(me)s
        AND o.given_at {LATELY}))))
RETURNING a.id
"""
GIVE = """
INSERT INTO listening_reviewassignment
    (item_id, reviewer_id, occasion, code, again, given_at, category)
SELECT picked.id, %(me)s, {occasion}, gen_random_uuid(), {again}, statement_timestamp(), ''
FROM ({picked}) picked ON CONFLICT DO NOTHING RETURNING id
"""
NOT_MINE = """NOT EXISTS (SELECT 1 FROM listening_reviewassignment m
    WHERE m.item_id = i.id AND m.reviewer_id = %(me)s {when})"""
# Training comes before all else; then whatever has not as many reviewers as are wanted. Each part
# stops as soon as it has enough: all items of a large review are never counted for one request.
OPEN = f"""
SELECT id, gold, position FROM (
  (SELECT i.id, i.gold, i.position FROM listening_reviewitem i
    WHERE i.job_id = %(job)s AND {THERE} AND i.gold IS NOT NULL AND {NOT_MINE.format(when="")}
    ORDER BY i.position LIMIT %(most)s)
  UNION ALL
  (SELECT i.id, i.gold, i.position FROM listening_reviewitem i
    WHERE i.job_id = %(job)s AND {THERE} AND i.gold IS NULL AND NOT %(training)s
      AND {NOT_MINE.format(when="")}
      AND i.wanted > (
        SELECT count(*) FROM listening_reviewassignment o WHERE o.item_id = i.id
        AND o.occasion = {FIRST} AND (o.answered_at IS NOT NULL
            OR o.given_at {LATELY}))
    ORDER BY i.position LIMIT %(most)s)) free
ORDER BY gold IS NULL, position LIMIT %(most)s
"""
# By the seed, the reviewer's number and the place of the item: the same ones whenever it is drawn.
DRAWN_AGAIN = """picked.gold IS NULL AND %(repeated)s > ('x' || substr(md5(
    concat_ws(' ', 'again', %(seed)s, %(number)s, picked.position)), 1, 8)
)::bit(32)::bigint / 4294967296.0"""
REPEATED = f"""
SELECT i.id FROM listening_reviewassignment a JOIN listening_reviewitem i ON i.id = a.item_id
WHERE a.reviewer_id = %(me)s AND a.again AND a.answered_at IS NOT NULL AND {THERE}
  AND {NOT_MINE.format(when=f"AND m.occasion = {AGAIN}")}
  AND (%(all)s OR a.answered_at < (SELECT l.answered_at FROM listening_reviewassignment l
    WHERE l.reviewer_id = %(me)s AND l.answered_at IS NOT NULL
    ORDER BY l.answered_at DESC OFFSET {AGAIN_AFTER - 1} LIMIT 1))
ORDER BY a.answered_at LIMIT %(most)s
"""
# Items whose reviewers differ: all that are wanted have said something, and not the same; by a
# majority, where it needs one more, only where no half of them says the same. See Rule.differ.
SETTLE = ", ".join(f"'{rule.key}'" for rule in RULES.values() if rule.majority_settles)
DISPUTED = f"""
SELECT k.item_id FROM (
    SELECT a.item_id, d.wanted, j.rule, count(*) AS n
    FROM listening_reviewassignment a JOIN listening_reviewitem d ON d.id = a.item_id
    JOIN listening_reviewjob j ON j.id = d.job_id
    WHERE d.job_id = %(job)s AND d.gold IS NULL AND a.occasion = {FIRST}
      AND a.answered_at IS NOT NULL
    GROUP BY a.item_id, d.wanted, j.rule, a.category) k
GROUP BY k.item_id, k.wanted, k.rule
HAVING sum(k.n) >= k.wanted AND count(*) > 1
  AND (k.rule NOT IN ({SETTLE}) OR 2 * max(k.n) <= sum(k.n))
"""
FOR_THIRD = f"""
SELECT i.id FROM listening_reviewitem i
WHERE i.id IN ({DISPUTED}) AND {THERE} AND {NOT_MINE.format(when="")}
  AND NOT EXISTS (SELECT 1 FROM listening_reviewassignment t
    WHERE t.item_id = i.id AND t.occasion = {THIRD} AND (t.answered_at IS NOT NULL
        OR t.given_at {LATELY}))
ORDER BY i.position LIMIT %(most)s
"""
FOR_TALK = f"""
SELECT i.id FROM listening_reviewitem i WHERE i.id IN ({DISPUTED}) AND {THERE}
  AND EXISTS (SELECT 1 FROM listening_reviewassignment m WHERE m.item_id = i.id
    AND m.reviewer_id = %(me)s AND m.occasion = {FIRST} AND m.answered_at IS NOT NULL)
  AND {NOT_MINE.format(when=f"AND m.occasion = {TALK}")}
ORDER BY i.position LIMIT %(most)s
"""
PAUSE_S = 300  # longer between two verdicts is a pause, not work
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


def give_next(reviewer: Reviewer, most: int) -> list[ReviewAssignment]:
    """Up to `most` items that this reviewer has to judge; those given before come first.

    The job's row is locked meanwhile: who comes at the same moment counts what was given here.
    """
    most = max(0, min(most, MOST))
    with transaction.atomic():
        job = ReviewJob.objects.select_for_update(no_key=True).get(pk=reviewer.job_id)
        if job.state != ReviewJob.State.OPEN:
            return []
        Reviewer.objects.filter(pk=reviewer.pk).update(seen_at=timezone.now())
        assigned = _Giving(job, reviewer).give(most)
    rows = ReviewAssignment.objects.filter(pk__in=assigned).select_related("item__trial")
    place = {pk: n for n, pk in enumerate(assigned)}
    return sorted(rows, key=lambda each: place[each.pk])


class _Giving:
    """One reviewer's turn, inside the lock."""

    def __init__(self, job: ReviewJob, reviewer: Reviewer) -> None:
        self.job, self.reviewer = job, reviewer
        self.values: dict[str, float] = {
            **{"job": job.pk, "me": reviewer.pk, "repeated": job.repeated},
            **{"seed": job.seed, "number": reviewer.number},
            "training": in_training(job, reviewer),
        }

    def give(self, most: int) -> list[int]:
        assigned = sorted(self._run(KEPT))[:most]
        if self.reviewer.adjudicates:
            return assigned + self._new(FOR_THIRD, THIRD, most - len(assigned))
        assigned += self._new(REPEATED, AGAIN, min(most // 4, most - len(assigned)))
        assigned += self._new(OPEN, FIRST, most - len(assigned), DRAWN_AGAIN)
        if len(assigned) < most:  # nothing new is left
            assigned += self._new(REPEATED, AGAIN, most - len(assigned), all=True)
        if self.job.resolving == ReviewJob.Resolving.TALK:
            assigned += self._new(FOR_TALK, TALK, most - len(assigned))
        return assigned

    def _new(
        self, picked: str, occasion: int, most: int, again: str = "false", *, all: bool = False
    ) -> list[int]:
        if most <= 0:
            return []
        statement = GIVE.format(occasion=occasion, again=again, picked=picked)
        return self._run(statement, most=most, all=all)

    def _run(self, statement: str, **more: int) -> list[int]:
        with connection.cursor() as cursor:
            cursor.execute(statement, {**self.values, **more})
            return [row[0] for row in cursor.fetchall()]


def own_progress(reviewer: Reviewer) -> dict[str, int]:
    """The progress that a reviewer sees: their own verdicts alone."""
    rows = ReviewAssignment.objects.filter(reviewer=reviewer, answered_at__isnull=False)
    return {"done": rows.count()}


@dataclass(frozen=True)
class JobProgress:
    """Items of a job by how many of their verdicts are there."""

    items: int
    gold: int
    wanted: int  # verdicts
    verdicts: int  # of them, each item's own up to what it wants
    complete: int  # items that have all that they want
    disputed: int  # of them, whose reviewers differ in a way that the rule does not settle
    adjudicated: int  # of those


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


def reviewers_progress(job: ReviewJob) -> dict[int, ReviewerProgress]:
    """By the reviewer's row; who said nothing yet is not in it.

    An item for training is right where the verdict is, as agreement compares it: not mark by mark.
    """
    right = gold_categories(job)
    with connection.cursor() as cursor:
        cursor.execute(REVIEWERS, [list(right), list(right.values()), job.pk])
        return {row[0]: ReviewerProgress(*row) for row in cursor.fetchall()}
