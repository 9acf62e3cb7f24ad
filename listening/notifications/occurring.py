"""What has happened to studies, written down once each, until it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from listening.models import Occurrence, Study
from listening.notifications.kinds import KINDS

Facts = Callable[[], dict[str, Any]]


def note(study_id: int, event: str, subject: str, facts: Mapping[str, Any]) -> None:
    """Writes it down, unless it stands there already; safe to be called twice at the same time."""
    if event not in KINDS:
        raise ValueError(f"{event!r} is no kind of event")
    row = Occurrence(study_id=study_id, event=event, subject=subject[:160], facts=dict(facts))
    Occurrence.objects.bulk_create([row], ignore_conflicts=True)


@transaction.atomic
def settle(event: str, study: Study, found: Mapping[str, Facts], lasts: Iterable[str] = ()) -> None:
    """What was found is noted where it is new; what is neither found nor lasts any more is over.

    Facts are made for what is new only.
    """
    there = Occurrence.objects.filter(study=study, event=event, over_at=None)
    known = set(there.values_list("subject", flat=True))
    there.exclude(subject__in={*found, *lasts}).update(over_at=timezone.now())
    for subject, facts in found.items():
        if subject not in known:
            note(study.pk, event, subject, facts())


def end_others(event: str, looked_at: Iterable[int]) -> None:
    """What lasted in studies that are not looked at any more (closed, nobody asks) is over."""
    there = Occurrence.objects.filter(event=event, over_at=None)
    there.exclude(study__in=list(looked_at)).update(over_at=timezone.now())
