"""What is told after a verdict: in training what is right, and what rules suggest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from listening.models import ReviewAssignment, Reviewer, ReviewItem, ReviewJob, Verdict
from listening.review.kinds import BadVerdict, kind_named

MOST_GOLD = 50  # in a job: everybody judges all of them first


def told_after(reviewer: Reviewer, keys: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Of the items whose own verdicts are stored under these keys, and of no others.

    What is right in those for training, and why; and what rules suggest.
    """
    rows = list(
        ReviewAssignment.objects.filter(
            reviewer=reviewer, verdicts__key__in=keys, verdicts__phase=Verdict.Phase.OWN
        )
        .select_related("item")
        .distinct()
    )
    kind = kind_named(reviewer.job.kind)
    settings = kind.settings_from(reviewer.job.settings)
    training = [
        {"item": str(row.code), "answer": row.item.gold, "because": row.item.gold_because}
        for row in rows
        if row.item.gold is not None
    ]
    hints = kind.hints(settings, [row for row in rows if row.item.gold is None])
    return {"training": training, "hints": [{"item": k, "hints": v} for k, v in hints.items()]}


def gold_categories(job: ReviewJob) -> dict[int, str]:
    """The verdict that is right, as agreement compares it, by item for training."""
    kind = kind_named(job.kind)
    settings = kind.settings_from(job.settings)
    gold = job.items.filter(gold__isnull=False).values_list("pk", "gold")
    return {pk: kind.checked(settings, answer or {})[1] for pk, answer in gold}


def set_gold(job: ReviewJob, item: int, answer: dict[str, Any] | None, because: str = "") -> None:
    """Marks an item for training with the answer that is right, or takes the mark away.

    Raises BadVerdict for an answer that is none, and where somebody judged the item already.
    """
    row = ReviewItem.objects.filter(job=job, pk=item).first()
    if row is None:
        raise BadVerdict("There is no such item in this review.")
    if row.assignments.filter(answered_at__isnull=False).exists():
        raise BadVerdict("Somebody has judged this item: choose one that nobody has seen.")
    if answer is not None:
        if row.gold is None and job.items.filter(gold__isnull=False).count() >= MOST_GOLD:
            raise BadVerdict(f"Mark at most {MOST_GOLD}: every reviewer judges all of them first.")
        kind = kind_named(job.kind)
        answer, _ = kind.checked(kind.settings_from(job.settings), answer)
    row.gold, row.gold_because = answer, because.strip()[:300] if answer is not None else ""
    row.save(update_fields=["gold", "gold_because"])
