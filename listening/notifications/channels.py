"""Create, confirm, change, stop and remove channels; choose who is notified of which event."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core import signing
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from listening.access.rights import is_of, rights_in
from listening.models import Channel, Project, Study, Subscription
from listening.notifications import webhook_urls
from listening.notifications.kinds import KINDS, link
from listening.notifications.webhook_urls import new_secret

MOST = 20  # of one account
BETWEEN_H = (1, 6, 24)
BOTH_SIGN = timedelta(hours=24)
LINK_S = 3 * 24 * 3600
SALT = "message channel"
Kind = Channel.Kind


class ChannelError(ValueError):
    """It was not done; the message says why and what helps."""


def add_channel(user: Any, kind: str, name: str, address: str) -> Channel:
    """A new way; one for mail waits until its reader has followed a link."""
    if kind not in Kind.values:
        raise ChannelError("Choose mail, webhook or chat.")
    if user.message_channels.count() >= MOST:
        raise ChannelError(f"{MOST} channels is the maximum. Remove one first.")
    checked = checked_address(kind, address)
    mail = kind == Kind.MAIL
    return Channel.objects.create(
        owner=user,
        kind=kind,
        name=_name(name) or Kind(kind).label,
        address=checked,
        secret=new_secret() if kind == Kind.WEBHOOK else "",
        confirmed_at=None if mail else timezone.now(),
    )


def _name(text: str) -> str:
    name = " ".join(text.split())
    if len(name) > 80:
        raise ChannelError("A name has at most 80 characters.")
    return name


def checked_address(kind: str, address: str) -> str:
    if kind == Kind.MAIL:
        if not settings.EARNEST_MAIL:
            raise ChannelError("This server sends no mail: its operator can set EARNEST_MAIL.")
        try:
            validate_email(address.strip())
        except ValidationError:
            raise ChannelError("This is not an email address.") from None
        return address.strip()
    try:
        url = webhook_urls.checked_url(address)
        host, port, plain = webhook_urls.host_of(url)
        webhook_urls.addresses_of(host, port, plain=plain)
    except (webhook_urls.NotAllowed, webhook_urls.NotReached) as error:
        raise ChannelError(str(error)) from None
    return url


def confirmation_link(channel: Channel) -> str:
    token = signing.dumps([channel.pk, channel.address], salt=SALT)
    return link("messages-confirm", token)


def confirm(user: Any, token: str) -> Channel:
    try:
        pk, address = signing.loads(token, salt=SALT, max_age=LINK_S)
    except signing.BadSignature:
        raise ChannelError("This link no longer works. Ask for a new one.") from None
    channel = user.message_channels.filter(pk=pk).first()
    if channel is None or channel.address != address:
        raise ChannelError("This link belongs to another account, or its channel is gone.")
    if channel.confirmed_at is None:
        channel.confirmed_at = timezone.now()
        channel.save(update_fields=["confirmed_at"])
    return channel  # type: ignore[no-any-return]


def channel_of(user: Any, pk: int) -> Channel:
    channel = user.message_channels.filter(pk=pk).first()
    if channel is None:
        raise ChannelError("You have no such channel.")
    return channel  # type: ignore[no-any-return]


def change_channel(channel: Channel, name: str, between_h: int) -> None:
    if between_h not in BETWEEN_H:
        raise ChannelError("Choose how often from the list.")
    channel.name, channel.between_h = _name(name) or channel.get_kind_display(), between_h
    channel.save(update_fields=["name", "between_h"])


def replace_secret(channel: Channel) -> datetime:
    """A new secret; the old one signs too until the time that this gives."""
    if channel.kind != Kind.WEBHOOK:
        raise ChannelError("Only a webhook has a secret.")
    until = timezone.now() + BOTH_SIGN
    channel.old_secret, channel.old_until = channel.secret, until
    channel.secret = new_secret()
    channel.save(update_fields=["secret", "old_secret", "old_until"])
    return until


def keys_of(channel: Channel, now: datetime) -> list[str]:
    """The secrets that sign now."""
    old = channel.old_secret and channel.old_until and channel.old_until > now
    return [channel.secret, *([channel.old_secret] if old else [])]


def stop(channel: Channel, why: str = "") -> None:
    channel.stopped_at, channel.problem = timezone.now(), why[:300]
    channel.save(update_fields=["stopped_at", "problem"])


def start(channel: Channel) -> None:
    channel.stopped_at, channel.problem = None, ""
    channel.save(update_fields=["stopped_at", "problem"])


@transaction.atomic
def choose(
    channel: Channel,
    events: Iterable[str],
    *,
    study: Study | None = None,
    project: Project | None = None,
) -> None:
    """The events of this scope that the channel is told of, from now on."""
    chosen = [key for key in KINDS if key in set(events)]
    scope: dict[str, Any] = {"channel": channel, "study": study, "project": project}
    if chosen:
        Subscription.objects.update_or_create(**scope, defaults={"events": chosen})
    else:
        Subscription.objects.filter(**scope).delete()


def watched(events: Iterable[str]) -> QuerySet[Study]:
    """The studies of whose events somebody wants to know; maybe a few more."""
    everything = Q(study=None, project=None)
    theirs = Q(channel__owner=OuterRef("owner_id"))
    theirs |= Q(channel__owner__memberships__project=OuterRef("project_id"))
    scopes = Q(study=OuterRef("pk")) | Q(project=OuterRef("project_id")) | everything & theirs
    wanted = Subscription.objects.filter(scopes, events__overlap=list(events))
    return Study.objects.filter(Exists(wanted))


def audience(study: Study, event: str) -> list[Channel]:
    """The channels that are told of an event of a study, each once; one that is stopped, later."""
    scopes = Q(study=study) | Q(study=None, project=None)
    if study.project_id is not None:
        scopes |= Q(project=study.project_id)
    chosen = Subscription.objects.filter(scopes, events__contains=[event])
    chosen = chosen.filter(channel__confirmed_at__isnull=False)
    channels: dict[int, Channel] = {}
    for each in chosen.select_related("channel__owner").order_by("channel"):
        owner = each.channel.owner
        about_all = each.study_id is None and each.project_id is None
        if may_hear(study, owner, event) and (not about_all or is_of(study, owner)):
            channels[each.channel_id] = each.channel
    return list(channels.values())


def may_hear(study: Study, user: Any, event: str) -> bool:
    return KINDS[event].wants in rights_in(study, user)
