"""Messages made of what happened, sent, and sent again.

Who is notified is decided once, and a storm of events becomes one message. Each try is claimed
before it is made and noted after it. Whoever dies in between leaves a message that is sent again
under the same id: a webhook's receiver knows it by that; mail and chat say that it may have come
before.
"""

from __future__ import annotations

import html
import json
import logging
import random
import time
from datetime import datetime, timedelta
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from listening.common.ages import CLOCK_SKEW_S, in_last_s
from listening.models import Channel, Delivery, Occurrence, Study, Telling
from listening.notifications import webhook_urls
from listening.notifications.channels import audience, keys_of, may_hear, stop
from listening.notifications.kinds import TEST, Message, message_of

AT_ONCE = 500  # occurrences of one round
PAUSES_S = (30, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)  # three days in all
CLAIM = timedelta(minutes=5)  # longer than any try takes
KEPT = timedelta(days=90)
GONE = 410
AGAIN = "(This may have reached you before: the server stopped while it was being sent.)"
State = Delivery.State
Kind = Channel.Kind
log = logging.getLogger(__name__)


def dispatch() -> list[int]:
    """Decides who is told of what is new, and writes the messages; gives those that are new.

    Each step is one transaction: whoever dies between two leaves what the next round goes on with.
    """
    new = Occurrence.objects.filter(dispatched_at=None).order_by("at", "pk")
    for pk in list(new.values_list("pk", flat=True)[:AT_ONCE]):
        _choose_recipients(pk)
    waiting = Telling.objects.filter(delivery=None, channel__stopped_at=None).order_by()
    names = ("channel_id", "occurrence__study_id", "occurrence__event")
    bundles = list(waiting.values_list(*names).distinct())
    return [delivery for bundle in bundles if (delivery := _write(*bundle)) is not None]


@transaction.atomic
def _choose_recipients(pk: int) -> None:
    rows = Occurrence.objects.select_for_update(skip_locked=True, of=("self",))
    occurrence = rows.filter(pk=pk, dispatched_at=None).select_related("study").first()
    if occurrence is None:
        return  # somebody else is at it, or was
    tellings = [
        Telling(occurrence=occurrence, channel=c)
        for c in audience(occurrence.study, occurrence.event)
    ]
    Telling.objects.bulk_create(tellings, ignore_conflicts=True)
    Occurrence.objects.filter(pk=pk).update(dispatched_at=timezone.now())


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
    delivery = written(channel, study, event, message, now, count=len(tellings))
    Telling.objects.filter(pk__in=[each.pk for each in tellings]).update(delivery=delivery)
    return delivery.pk


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


class NotSent(Exception):
    """It did not arrive; the message is what the log of deliveries shows."""

    def __init__(self, reason: str, *, after_s: float = 0.0, for_good: bool = False) -> None:
        super().__init__(reason)
        self.after_s, self.for_good = after_s, for_good


def due_deliveries() -> list[int]:
    """What has to be tried now; what a sender that died has left, too."""
    rows = Delivery.objects.filter(
        _is_due(timezone.now()),
        state__in=(State.WAITING, State.SENDING),
        channel__stopped_at=None,
    )
    return list(rows.order_by("next_at").values_list("pk", flat=True))


def forget_old() -> int:
    """Deletes what ended 90 days ago and waits for nobody; what was told is not told again."""
    old = timezone.now() - KEPT
    deleted, _ = Delivery.objects.filter(ended_at__lt=old).delete()
    ended = Q(over_at__lt=old) | Q(event__startswith="analysis.", dispatched_at__lt=old)
    waits = Telling.objects.filter(occurrence=OuterRef("pk"), delivery=None)
    return deleted + Occurrence.objects.filter(ended, ~Exists(waits)).delete()[0]


def deliver(pk: int) -> str:
    """One try, if it is due and nobody else is at it; the state after it."""
    claimed = _claim(pk)
    if claimed is None:
        return ""
    delivery, again = claimed
    try:
        response = _send(delivery, again)
    except NotSent as problem:
        return _note_failure(delivery, problem)
    except Exception as error:  # else it would be taken up every five minutes, for ever
        log.exception("Message %s broke", delivery.code)
        return _note_failure(delivery, NotSent(f"It broke here ({type(error).__name__})."))
    return _note(delivery, State.SENT, response)


def _is_due(now: datetime) -> Q:
    """Messages whose time has come, also those that wait for it since the clock went back."""
    later = now + timedelta(seconds=CLOCK_SKEW_S)
    untried = Q(tries=0, created_at__gt=later)
    dropped = Q(state=State.SENDING, next_at__gt=later + CLAIM)
    return Q(next_at__lte=now) | untried | dropped


@transaction.atomic
def _claim(pk: int) -> tuple[Delivery, bool] | None:
    """The delivery, which is ours for five minutes; and whether an earlier try never ended."""
    now = timezone.now()
    rows = Delivery.objects.select_for_update(skip_locked=True, of=("self",))
    rows = rows.filter(_is_due(now), pk=pk, state__in=(State.WAITING, State.SENDING))
    delivery = rows.select_related("channel__owner").first()
    if delivery is None:
        return None
    again = delivery.state == State.SENDING
    delivery.state, delivery.next_at = State.SENDING, now + CLAIM
    delivery.tries += 1
    delivery.save(update_fields=["state", "next_at", "tries"])
    return delivery, again


def _send(delivery: Delivery, again: bool) -> str:
    channel = delivery.channel
    if not channel.owner.is_active or (
        delivery.study is not None and not may_hear(delivery.study, channel.owner, delivery.event)
    ):
        raise NotSent("Not sent: its owner no longer has access to this study.", for_good=True)
    if channel.stopped_at is not None or channel.confirmed_at is None:
        raise NotSent("Not sent: the channel is stopped or not confirmed.", for_good=True)
    text = f"{AGAIN}\n\n{delivery.text}" if again else delivery.text
    if channel.kind == Kind.MAIL:
        return send_mail(channel.address, delivery.subject, text, delivery.code)
    if channel.kind == Kind.SLACK:
        return _post(channel, _json({"text": for_chat(text)}), {})
    body, now = _json(delivery.payload), timezone.now()
    keys = keys_of(channel, now)
    return _post(channel, body, webhook_urls.headers(keys, delivery.code, int(time.time()), body))


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def for_chat(text: str) -> str:
    """As Slack reads text; nobody is called by a name or a group that stands in a title."""
    return html.escape(text, quote=False).replace("@", "@\u200b")


def send_mail(address: str, subject: str, text: str, code: str) -> str:
    """Programs for mail show one of two with the same Message-ID."""
    if not settings.EARNEST_MAIL:
        raise NotSent("This server sends no mail: its operator can set EARNEST_MAIL.")
    sender = settings.DEFAULT_FROM_EMAIL
    domain = sender.rpartition("@")[2].strip("> ") or "earnest.invalid"
    mail = EmailMessage(
        subject,
        text,
        sender,
        [address],
        connection=get_connection(**settings.EARNEST_MAIL),
        headers={"Message-ID": f"<{code}@{domain}>", "Auto-Submitted": "auto-generated"},
    )
    try:
        mail.send()
    except (OSError, SMTPException) as error:
        raise NotSent(f"The mail server said: {error}") from None
    return "Accepted by the mail server."


def _post(channel: Channel, body: bytes, headers: dict[str, str]) -> str:
    from listening.notifications.posting import post  # here: pages are lighter without its library

    try:
        answer = post(channel.address, body, headers)
    except (webhook_urls.NotAllowed, webhook_urls.NotReached) as error:
        raise NotSent(str(error)) from None
    summary = f"It answered {answer.status}{f': {answer.reason}' if answer.reason else '.'}"
    if 200 <= answer.status < 300:
        return summary
    if 300 <= answer.status < 400:
        summary = f"It answered {answer.status}: redirects are not followed; enter the new address."
    if answer.status == GONE:
        stop(channel, f"{summary} That means: send nothing more here.")
        raise NotSent(summary, for_good=True)
    raise NotSent(summary, after_s=answer.retry_after_s)


# --- What came of it -----------------------------------------------------------------------------


def _note_failure(delivery: Delivery, problem: NotSent) -> str:
    over = problem.for_good or delivery.event == TEST or delivery.tries > len(PAUSES_S)
    log.warning("Message %s, try %d: %s", delivery.code, delivery.tries, problem)
    if not over:
        pause_s = PAUSES_S[delivery.tries - 1] * random.uniform(1, 1.2)
        pause_s = max(pause_s, min(problem.after_s, 86_400))
        next_at = timezone.now() + timedelta(seconds=pause_s)
        return _note(delivery, State.WAITING, str(problem), next_at=next_at)
    if delivery.tries > len(PAUSES_S):
        why = f"Nothing arrived for three days. {problem} Fix it, then start the channel again."
        stop(delivery.channel, why)
    return _note(delivery, State.FAILED, str(problem))


def _note(delivery: Delivery, state: str, response: str, **more: Any) -> str:
    """Only of the try that was ours: another may have begun since, if this one took too long."""
    ended = None if state == State.WAITING else timezone.now()
    mine = Delivery.objects.filter(pk=delivery.pk, state=State.SENDING, tries=delivery.tries)
    mine.update(state=state, answer=response[:300], ended_at=ended, **more)
    return str(state)


def send_again(delivery: Delivery) -> None:
    """One that failed waits for a first try again, under the same id."""
    rows = Delivery.objects.filter(pk=delivery.pk, state=State.FAILED)
    rows.update(state=State.WAITING, tries=0, next_at=timezone.now(), ended_at=None)
