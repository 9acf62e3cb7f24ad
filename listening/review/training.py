"""Gold items: the researcher says what is right, and a reviewer learns it after their verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from listening.models import ReviewAssignment, Reviewer, ReviewItem, ReviewJob
from listening.review.kinds import BadVerdict, kind_named

MOST_GOLD = 50  # in a job: everybody judges all of them first


def told_after(reviewer: Reviewer, sent: Sequence[Any]) -> list[dict[str, Any]]:
    """What is right in the training items of this batch, and why; of no other item."""
    codes = [str(each.get("item")) for each in sent if isinstance(each, dict)]
    wanted = [code for code in codes if len(code) == 36]
    try:
        rows = list(
            ReviewAssignment.objects.filter(
                reviewer=reviewer,
                code__in=wanted,
                item__gold__isnull=False,
                answered_at__isnull=False,
            ).select_related("item")
        )
    except (ValueError, TypeError):
        return []
    return [
        {"item": str(row.code), "answer": row.item.gold, "because": row.item.gold_because}
        for row in rows
    ]


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
