"""What is told after a verdict: in training what is right, and what rules suggest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from listening.models import ReviewAssignment, Reviewer, ReviewItem, ReviewJob, Verdict
from listening.review.kinds import BadVerdict, kind_named

MOST_GOLD = 50  # in a job: everybody judges all of them first


def feedback_after(reviewer: Reviewer, keys: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
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


def missed(job: ReviewJob, right: int, answered: int) -> bool:
    """Whether so many of the training items right are too few by the job's pass mark."""
    return answered > 0 and right < job.training_pass * answered - 1e-9


def in_training(job: ReviewJob, reviewer: Reviewer) -> bool:
    """Whether a reviewer is given training items alone: there are some yet, or too few were right.

    What they said first of an item counts: after it they were told what is right.
    """
    if not job.training_pass or reviewer.let_on:
        return False
    expected = gold_categories(job)
    categories = first_categories(reviewer, expected)
    right = sum(categories.get(item) == category for item, category in expected.items())
    return len(categories) < len(expected) or missed(job, right, len(expected))


def first_categories(reviewer: Reviewer, items: Iterable[int]) -> dict[int, str]:
    """The category of the first own verdict, by item."""
    rows = Verdict.objects.filter(
        assignment__reviewer=reviewer, assignment__item__in=list(items), phase=Verdict.Phase.OWN
    )
    rows = rows.order_by("assignment", "pk").distinct("assignment")
    return dict(rows.values_list("assignment__item", "category"))


def training_notice(job: ReviewJob, reviewer: Reviewer) -> str:
    """What the desk says to who was told all training items and had too few right; else ""."""
    if not in_training(job, reviewer):
        return ""
    items = list(job.items.filter(gold__isnull=False).values_list("pk", flat=True))
    if len(first_categories(reviewer, items)) < len(items):
        return ""
    return (
        f"You answered fewer than {job.training_pass:.0%} of the training items correctly. The "
        "person who invited you can allow you to continue."
    )


def set_gold(job: ReviewJob, item: int, answer: dict[str, Any] | None, because: str = "") -> None:
    """Marks an item for training with the answer that is right, or takes the mark away.

    Raises BadVerdict for an answer that is none, and where somebody judged the item already.
    """
    row = ReviewItem.objects.filter(job=job, pk=item).first()
    if row is None:
        raise BadVerdict("This item is not in this review.")
    if row.assignments.filter(answered_at__isnull=False).exists():
        raise BadVerdict("This item already has a verdict. Choose an item without verdicts.")
    if answer is not None:
        if row.gold is None and job.items.filter(gold__isnull=False).count() >= MOST_GOLD:
            raise BadVerdict(
                f"Choose at most {MOST_GOLD} training items. Reviewers judge all of them."
            )
        kind = kind_named(job.kind)
        answer, _ = kind.checked(kind.settings_from(job.settings), answer)
    row.gold, row.gold_because = answer, because.strip()[:300] if answer is not None else ""
    row.save(update_fields=["gold", "gold_because"])
