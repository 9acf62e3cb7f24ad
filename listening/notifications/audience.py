"""Who is told: the channels whose owners chose an event, and may still see what it is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from listening.access.rights import is_of, rights_in
from listening.models import Channel, Study, Subscription
from listening.notifications.kinds import KINDS


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
    found: dict[int, Channel] = {}
    for each in chosen.select_related("channel__owner").order_by("channel"):
        owner = each.channel.owner
        about_all = each.study_id is None and each.project_id is None
        if may_hear(study, owner, event) and (not about_all or is_of(study, owner)):
            found[each.channel_id] = each.channel
    return list(found.values())


def may_hear(study: Study, user: Any, event: str) -> bool:
    return KINDS[event].wants in rights_in(study, user)
