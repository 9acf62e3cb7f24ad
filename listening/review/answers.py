"""The answers of a review's items: of each who judged them, before any suggestion."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from listening.models import ReviewAssignment, ReviewJob, Verdict
from listening.review.kinds import kind_named

FIRST, THIRD, TALK = (
    ReviewAssignment.Occasion.FIRST,
    ReviewAssignment.Occasion.THIRD,
    ReviewAssignment.Occasion.TALK,
)


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
    found: dict[int, list[Answered]] = defaultdict(list)
    for item, *said in newest.values_list(
        "assignment__item", "assignment__reviewer__number", "category", "answer", "note"
    ):
        found[item].append(Answered(*said))
    return found


def said_by_aspect(job: ReviewJob) -> dict[str, dict[int, dict[int, bool]]]:
    """Word of the kind -> item -> reviewer -> whether they said so at first; without training."""
    kind = kind_named(job.kind)
    training = set(job.items.filter(gold__isnull=False).values_list("pk", flat=True))
    found: dict[str, dict[int, dict[int, bool]]] = {key: {} for key in kind.words}
    for item, given in own_answers(job, FIRST).items():
        if item in training:
            continue
        for each in given:
            for key, holds in kind.aspects(each.answer).items():
                found[key].setdefault(item, {})[each.reviewer] = holds
    return found
