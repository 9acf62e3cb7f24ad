"""The answers to a review's items, what they come to by the job's rule, and which are used."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection

from listening.models import ReviewAssignment, ReviewJob, Study, Verdict
from listening.review.kinds import kind_named
from listening.review.rules import RULES, ItemVerdicts

FIRST, THIRD, TALK = (
    ReviewAssignment.Occasion.FIRST,
    ReviewAssignment.Occasion.THIRD,
    ReviewAssignment.Occasion.TALK,
)
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
class Answered:
    """The newest word of one reviewer on one occasion."""

    reviewer: int  # number in the job
    category: str
    answer: dict[str, Any]
    note: str


def own_answers(job: ReviewJob, *occasions: ReviewAssignment.Occasion) -> dict[int, list[Answered]]:
    """By item. What was changed after a suggestion is not in it; training is, as far as judged."""
    rows = Verdict.objects.filter(
        assignment__item__job=job, assignment__occasion__in=occasions, phase=Verdict.Phase.OWN
    )
    newest = rows.order_by("assignment", "-pk").distinct("assignment")
    by_item: dict[int, list[Answered]] = defaultdict(list)
    for item, *fields in newest.values_list(
        "assignment__item", "assignment__reviewer__number", "category", "answer", "note"
    ):
        by_item[item].append(Answered(*fields))
    return by_item


def answers_by_aspect(job: ReviewJob) -> dict[str, dict[int, dict[int, bool]]]:
    """Word of the kind -> item -> reviewer -> whether they said so at first; without training."""
    kind = kind_named(job.kind)
    training = set(job.items.filter(gold__isnull=False).values_list("pk", flat=True))
    answers: dict[str, dict[int, dict[int, bool]]] = {key: {} for key in kind.words}
    for item, item_answers in own_answers(job, FIRST).items():
        if item in training:
            continue
        for each in item_answers:
            for key, holds in kind.aspects(each.answer).items():
                answers[key].setdefault(item, {})[each.reviewer] = holds
    return answers


@dataclass(frozen=True)
class Outcome:
    """What an item came to; ``category`` is "" while nothing is decided."""

    item: int
    trial: int | None
    stimulus: int | None
    category: str
    verdicts: ItemVerdicts
    gold: dict[str, Any] | None
    because: str = ""  # of a training item
    disputed: bool = False  # they differ, and the rule does not settle it: see Rule.differ

    @property
    def complete(self) -> bool:
        return len(self.verdicts.first) >= self.verdicts.wanted


def outcomes_of(job: ReviewJob) -> Iterator[Outcome]:
    """Every item of a job in its order. A training item comes to what the researcher said."""
    kind, rule = kind_named(job.kind), RULES[job.rule]
    settings = kind.settings_from(job.settings)
    with connection.cursor() as cursor:
        cursor.execute(SAID, [job.pk])
        rows = cursor.fetchall()
    for item, trial, stimulus, wanted, stored, because, first, talk, third in rows:
        verdicts = ItemVerdicts(first, talk, third, wanted)
        gold = json.loads(stored) if stored is not None else None  # as a cursor gives JSON
        category = kind.decide(rule, verdicts) if gold is None else kind.checked(settings, gold)[1]
        disputed = gold is None and rule.differ(verdicts)
        yield Outcome(item, trial, stimulus, category, verdicts, gold, because, disputed)


def jobs_in_use(study: Study, kind: str) -> list[ReviewJob]:
    """Those whose outcomes analyses and exports take, the oldest first: a newer one prevails."""
    jobs = ReviewJob.objects.filter(study=study, kind=kind, in_use=True)
    return list(jobs.exclude(state=ReviewJob.State.DRAFT).order_by("pk"))


def used(study: Study, kind: str) -> dict[int, str]:
    """By trial: what the reviews of a kind came to, where they came to something."""
    categories: dict[int, str] = {}
    for job in jobs_in_use(study, kind):
        for each in outcomes_of(job):
            if each.trial is not None and each.category:
                categories[each.trial] = each.category
    return categories


def used_reviews(study: Study) -> dict[int, str]:
    """By trial: "fit" or "unfit", as the column ``review`` has it; "cannot say" is neither."""
    return {pk: word for pk, word in used(study, "reasons").items() if word in ("fit", "unfit")}


def used_codes(study: Study) -> dict[int, str]:
    """By trial: the codes, as the column ``codes`` has them."""
    return used(study, "codes")
