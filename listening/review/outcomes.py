"""What a review comes to: one verdict for each item by the job's rule, and which are used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection

from listening.models import ReviewAssignment, ReviewJob, Study
from listening.review.answers import FIRST, TALK, THIRD
from listening.review.kinds import kind_named
from listening.review.rules import RULES, Said

SAID = f"""
SELECT i.id, i.trial_id, i.stimulus_id, i.wanted, i.gold, i.gold_because,
    coalesce(array_agg(a.category ORDER BY a.reviewer_id) FILTER (
        WHERE a.occasion = {FIRST:d}), '{{}}'),
    coalesce(array_agg(a.category ORDER BY a.reviewer_id) FILTER (
        WHERE a.occasion = {TALK:d}), '{{}}'),
    coalesce(array_agg(a.category ORDER BY a.answered_at) FILTER (
        WHERE a.occasion = {THIRD:d}), '{{}}')
FROM listening_reviewitem i
LEFT JOIN listening_reviewassignment a ON a.item_id = i.id AND a.answered_at IS NOT NULL
WHERE i.job_id = %s GROUP BY i.id ORDER BY i.position
"""


@dataclass(frozen=True)
class Outcome:
    """What an item came to; ``category`` is "" while nothing is decided."""

    item: int
    trial: int | None
    stimulus: int | None
    category: str
    said: Said
    gold: dict[str, Any] | None
    because: str = ""  # of a training item
    disputed: bool = False  # they differ, and the rule does not settle it: see Rule.differ

    @property
    def complete(self) -> bool:
        return len(self.said.first) >= self.said.wanted


def outcomes_of(job: ReviewJob) -> Iterator[Outcome]:
    """Every item of a job in its order. A training item comes to what the researcher said."""
    kind, rule = kind_named(job.kind), RULES[job.rule]
    settings = kind.settings_from(job.settings)
    with connection.cursor() as cursor:
        cursor.execute(SAID, [job.pk])
        rows = cursor.fetchall()
    for item, trial, stimulus, wanted, stored, because, first, talk, third in rows:
        said = Said(first, talk, third, wanted)
        gold = json.loads(stored) if stored is not None else None  # as a cursor gives JSON
        category = kind.decide(rule, said) if gold is None else kind.checked(settings, gold)[1]
        disputed = gold is None and rule.differ(said)
        yield Outcome(item, trial, stimulus, category, said, gold, because, disputed)


def jobs_in_use(study: Study, kind: str) -> list[ReviewJob]:
    """Those whose outcomes analyses and exports take, the oldest first: a newer one prevails."""
    jobs = ReviewJob.objects.filter(study=study, kind=kind, in_use=True)
    return list(jobs.exclude(state=ReviewJob.State.DRAFT).order_by("pk"))


def used(study: Study, kind: str) -> dict[int, str]:
    """By trial: what the reviews of a kind came to, where they came to something."""
    found: dict[int, str] = {}
    for job in jobs_in_use(study, kind):
        for each in outcomes_of(job):
            if each.trial is not None and each.category:
                found[each.trial] = each.category
    return found


def used_reviews(study: Study) -> dict[int, str]:
    """By trial: "fit" or "unfit", as the column ``review`` has it; "cannot say" is neither."""
    return {pk: word for pk, word in used(study, "reasons").items() if word in ("fit", "unfit")}


def used_codes(study: Study) -> dict[int, str]:
    """By trial: the codes, as the column ``codes`` has them."""
    return used(study, "codes")
