"""The reasons of a study that can be reviewed, and which of them a seed draws."""

from __future__ import annotations

from hashlib import blake2b

from django.db.models import QuerySet

from listening.models import Justification, Session, Study
from listening.review.kinds.kind import Target

GONE = (Session.Status.WITHDRAWN, Session.Status.REJECTED)


def reasons_of(study: Study) -> QuerySet[Justification]:
    """Reasons beside rated clips: none of traps, tries, or sessions that left or were rejected."""
    return (
        Justification.objects.filter(
            trial__session__study=study, trial__session__pilot=False, trial__trap=""
        )
        .exclude(trial__session__status__in=GONE)
        .exclude(text__regex=r"^\s*$")
    )


def reason_targets(study: Study, share: float, seed: int) -> list[Target]:
    """Each reason is drawn by a hash of its own: what was drawn stays so when more come."""
    trials = reasons_of(study).order_by("trial").values_list("trial", flat=True)
    return [Target(trial=pk) for pk in trials if drawn(f"{seed} {pk}") < share]


def drawn(text: str) -> float:
    """A number from 0 to below 1 that is as good as random, and always the same for a text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=7).digest()) / 2**56
