"""What has happened to studies, written down once each, until it is over."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from celery import current_app
from django.db import transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from listening.models import Occurrence, Study
from listening.notifications.kinds import KINDS

Facts = Callable[[], dict[str, Any]]
SEND_MESSAGES = "listening.jobs.send_messages"  # named, since jobs import this package
log = logging.getLogger(__name__)


def note(study_id: int, event: str, subject: str, facts: Mapping[str, Any]) -> None:
    """Writes it down, unless it stands there already; safe to be called twice at the same time."""
    if event not in KINDS:
        raise ValueError(f"{event!r} is no kind of event")
    row = Occurrence(study_id=study_id, event=event, subject=subject[:160], facts=dict(facts))
    Occurrence.objects.bulk_create([row], ignore_conflicts=True)


@transaction.atomic
def settle(
    event: str, study: Study, current: Mapping[str, Facts], lasts: Iterable[str] = ()
) -> None:
    """What was found is noted where it is new; what is neither found nor lasts any more is over.

    Facts are made for what is new only.
    """
    there = Occurrence.objects.filter(study=study, event=event, over_at=None)
    known = set(there.values_list("subject", flat=True))
    there.exclude(subject__in={*current, *lasts}).update(over_at=timezone.now())
    for subject, facts in current.items():
        if subject not in known:
            note(study.pk, event, subject, facts())


def end_others(event: str, looked_at: Iterable[int]) -> None:
    """What lasted in studies that are not looked at any more (closed, nobody asks) is over."""
    there = Occurrence.objects.filter(event=event, over_at=None)
    there.exclude(study__in=list(looked_at)).update(over_at=timezone.now())


def note_analysis(study_id: int, run: int, state: str, ratings: int | None, **_signal: Any) -> None:
    """Receives `listening.common.signals.analysed`, in the transaction that ends the run."""
    event = {"done": "analysis.ready", "failed": "analysis.failed"}[state]
    note(study_id, event, f"run {run}", {"ratings": ratings} if ratings else {})
    transaction.on_commit(_send_soon)


def _send_soon() -> None:
    try:
        current_app.signature(SEND_MESSAGES).apply_async()
    except OperationalError:
        log.warning("The queue of jobs cannot be reached; the beat sends messages later.")
