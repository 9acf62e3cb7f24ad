"""From what happened to messages: who is told is decided once, and a storm becomes one message."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from listening.common.ages import in_last_s
from listening.models import Channel, Delivery, Occurrence, Study, Telling
from listening.notifications.channels import audience
from listening.notifications.kinds import Message, message_of

AT_ONCE = 500  # occurrences of one round
Bundle = tuple[int, int, str]  # channel, study, event


def dispatch() -> list[int]:
    """Decides who is told of what is new, and writes the messages; gives those that are new.

    Each step is one transaction: whoever dies between two leaves what the next round goes on with.
    """
    for pk in _new():
        _choose_who_is_told(pk)
    return [made for bundle in _waiting() if (made := _write(*bundle)) is not None]


def _new() -> list[int]:
    rows = Occurrence.objects.filter(dispatched_at=None).order_by("at", "pk")
    return list(rows.values_list("pk", flat=True)[:AT_ONCE])


@transaction.atomic
def _choose_who_is_told(pk: int) -> None:
    rows = Occurrence.objects.select_for_update(skip_locked=True, of=("self",))
    found = rows.filter(pk=pk, dispatched_at=None).select_related("study").first()
    if found is None:
        return  # somebody else is at it, or was
    told = [Telling(occurrence=found, channel=c) for c in audience(found.study, found.event)]
    Telling.objects.bulk_create(told, ignore_conflicts=True)
    Occurrence.objects.filter(pk=pk).update(dispatched_at=timezone.now())


def _waiting() -> list[Bundle]:
    rows = Telling.objects.filter(delivery=None, channel__stopped_at=None).order_by()
    names = ("channel_id", "occurrence__study_id", "occurrence__event")
    return list(rows.values_list(*names).distinct())


@transaction.atomic
def _write(channel_id: int, study_id: int, event: str) -> int | None:
    """One message of all that waits, unless there was one of this kind and study just now."""
    channel = Channel.objects.select_for_update().filter(pk=channel_id).first()
    if channel is None:
        return None  # removed just now
    now = timezone.now()
    lately = in_last_s(channel.between_h * 3600, now)
    last = Delivery.objects.filter(channel=channel, study=study_id, event=event)
    if last.filter(created_at__range=lately).exists():
        return None
    waiting = Telling.objects.filter(
        channel=channel, delivery=None, occurrence__study=study_id, occurrence__event=event
    )
    tellings = list(waiting.select_related("occurrence"))
    if not tellings:
        return None
    study = Study.objects.get(pk=study_id)
    message = message_of(study, event, [each.occurrence for each in tellings])
    made = written(channel, study, event, message, now, count=len(tellings))
    Telling.objects.filter(pk__in=[each.pk for each in tellings]).update(delivery=made)
    return made.pk


def written(
    channel: Channel,
    study: Study | None,
    event: str,
    message: Message,
    now: datetime,
    *,
    count: int = 1,
) -> Delivery:
    return Delivery.objects.create(
        channel=channel,
        study=study,
        event=event,
        subject=message.subject[:300],
        text=message.text,
        payload=message.payload,
        count=count,
        next_at=now,
    )
