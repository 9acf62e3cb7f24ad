"""The pages of messages: one's channels and what they are told of; what is told of one study."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from listening.access.rights import EDIT, LOOK, projects_of, study_for, visible_studies
from listening.common.ages import in_last_s
from listening.common.views import logged_in_get, logged_in_post
from listening.models import Channel, Delivery, Study, StudyLimits, Subscription, study_log
from listening.notifications import channels, sending
from listening.notifications.channels import ChannelError
from listening.notifications.kinds import KINDS, TEST, test_message
from listening.notifications.watching import limits_of
from listening.web.posted_values import number_in
from listening.web.researcher.study_page import who

PER_PAGE = 25
MOST_STUDIES = 200  # in the list to choose from; the settings of each study lead there too
BETWEEN_TESTS_S = 10
LIMITS = {  # field -> its label, and what it is
    "stalled_h": (
        "Stalled after (hours)",
        "without a rating while the study is open",
    ),
    "trap_percent": ("Traps failed (%)", "expected maximum for attentive raters, on average"),
    "error_percent": ("Playback errors (%)", "expected maximum of clips per session, on average"),
    "budget_percent": ("Budget (%)", "of the recruitment limit or the planned cost"),
}


@logged_in_get
def page(request: HttpRequest) -> HttpResponse:
    """One's channels, what each is told of, and what was sent."""
    return _page(request, {"events": list(KINDS)})


def _page(request: HttpRequest, typed: dict[str, Any], status: int = 200) -> HttpResponse:
    """`typed` stands in the form that adds a channel."""
    rows = Delivery.objects.filter(channel__owner=request.user.pk).select_related("channel")
    sent = Paginator(rows.select_related("study"), PER_PAGE).get_page(request.GET.get("page"))
    projects = list(projects_of(request.user).filter(memberships__user=request.user.pk).distinct())
    studies = list(visible_studies(request.user).filter(archived_at=None)[: MOST_STUDIES + 1])
    context = {
        "channels": [_channel_facts(each, projects) for each in _own(request)],
        "kinds": Channel.Kind.choices,
        "events": list(KINDS.values()),
        "between": channels.BETWEEN_H,
        "most": channels.MOST,
        "studies": studies[:MOST_STUDIES],
        "left_out": len(studies) > MOST_STUDIES,
        "can_mail": bool(settings.EARNEST_MAIL),
        "mail": request.user.email if isinstance(request.user, User) else "",
        "page": sent,
        "rows": [(each, "Test" if each.event == TEST else _name(each.event)) for each in sent],
        "typed": typed,
    }
    return render(request, "researcher/messages.html", context, status=status)


def _own(request: HttpRequest) -> Iterable[Channel]:
    return Channel.objects.filter(owner=request.user.pk).prefetch_related("subscriptions__study")


def _channel_facts(channel: Channel, projects: Iterable[Any]) -> dict[str, Any]:
    scopes = list(channel.subscriptions.all())
    everything = next((s for s in scopes if s.study is None and s.project_id is None), None)
    return {
        "channel": channel,
        "to": _to(channel),
        "all": everything.events if everything else (),
        "told": [_name(event) for event in everything.events] if everything else [],
        "projects": [
            (project, next((s.events for s in scopes if s.project_id == project.pk), ()))
            for project in projects
        ],
        "studies": [(s.study, [_name(e) for e in s.events]) for s in scopes if s.study],
    }


def _to(channel: Channel) -> str:
    """The address; of a chat its host alone, since whoever has the rest can write there."""
    if channel.kind == Channel.Kind.SLACK:
        return f"{urlsplit(channel.address).hostname or '?'}/…"
    return str(channel.address)


def _name(event: str) -> str:
    return KINDS[event].name if event in KINDS else event


# --- What can be done with a channel -------------------------------------------------------------


@logged_in_post
def do(request: HttpRequest) -> HttpResponse:
    action = ACTIONS.get(request.POST.get("action", ""))
    try:
        if action is None:
            raise ChannelError("Unknown action.")
        messages.success(request, action(request))
    except ChannelError as error:
        messages.error(request, str(error))
        if action is _add:
            typed = request.POST.dict() | {"events": request.POST.getlist("events")}
            return _page(request, typed, status=400)
    return redirect("messages")


def _channel(request: HttpRequest) -> Channel:
    return channels.channel_of(request.user, number_in(request, "channel"))


def _add(request: HttpRequest) -> str:
    form = request.POST
    channel = channels.add_channel(
        request.user, form.get("kind", ""), form.get("name", ""), form.get("address", "")
    )
    channels.choose(channel, form.getlist("events"))
    if channel.kind != Channel.Kind.MAIL:
        return "Added. Send a test message to see that it arrives."
    try:
        return _mail_link(channel)
    except ChannelError:
        channel.delete()
        raise


def _mail_link(channel: Channel) -> str:
    words = (
        "Somebody wants notifications about listening studies to be sent to this address.\n\n"
        f"If that is you, follow this link within 3 days: {channels.confirmation_link(channel)}\n\n"
        "If not, do nothing."
    )
    code = f"confirm-{channel.pk}-{timezone.now():%Y%m%d%H%M%S}"
    try:
        sending.send_mail(channel.address, "Confirm your email address", words, code)
    except sending.NotSent as error:
        raise ChannelError(str(error)) from None
    return f"A confirmation email was sent to {channel.address}. Open its link to confirm."


def _confirm_again(request: HttpRequest) -> str:
    channel = _channel(request)
    if channel.confirmed_at is not None:
        raise ChannelError("This address is confirmed already.")
    return _mail_link(channel)


@transaction.atomic
def _change(request: HttpRequest) -> str:
    channel = _channel(request)
    channels.change_channel(channel, request.POST.get("name", ""), number_in(request, "between"))
    channels.choose(channel, request.POST.getlist("events"))
    for project in projects_of(request.user).filter(memberships__user=request.user.pk).distinct():
        chosen = request.POST.getlist(f"events-{project.pk}")
        channels.choose(channel, chosen, project=project)
    return "Saved."


def _test(request: HttpRequest) -> str:
    channel = _channel(request)
    if channel.confirmed_at is None or channel.stopped_at is not None:
        raise ChannelError("The channel is stopped or not confirmed: nothing is sent.")
    now = timezone.now()
    tests = channel.deliveries.filter(event=TEST)
    if tests.filter(created_at__range=in_last_s(BETWEEN_TESTS_S, now)).exists():
        raise ChannelError("Wait ten seconds between two test messages.")
    sent = sending.written(channel, None, TEST, test_message(channel.name), now)
    sending.deliver(sent.pk)
    sent.refresh_from_db()
    if sent.state != Delivery.State.SENT:
        raise ChannelError(f"The test message was not delivered. {sent.answer}")
    return f"The test message was sent. {sent.answer}"


def _replace(request: HttpRequest) -> str:
    until = channels.replace_secret(_channel(request))
    return f"A new secret. Until {until:%Y-%m-%d %H:%M} UTC messages carry both signatures."


def _stop(request: HttpRequest) -> str:
    channels.stop(_channel(request))
    return "Stopped: nothing is sent. Messages wait until it starts again."


def _start(request: HttpRequest) -> str:
    channels.start(_channel(request))
    return "Started: waiting messages are sent within a minute."


def _remove(request: HttpRequest) -> str:
    channel = _channel(request)
    channel.delete()
    return f"Removed “{channel.name}”, with its log."


def _again(request: HttpRequest) -> str:
    failed = Delivery.objects.filter(channel__owner=request.user.pk, state=Delivery.State.FAILED)
    delivery = failed.filter(pk=number_in(request, "delivery")).select_related("channel").first()
    if delivery is None or delivery.event == TEST:
        raise ChannelError("There is no such failed message.")
    if delivery.channel.stopped_at is not None:
        raise ChannelError(f"“{delivery.channel.name}” is stopped. Start it first.")
    sending.send_again(delivery)
    return "It will be sent again within a minute."


ACTIONS: dict[str, Callable[[HttpRequest], str]] = {
    "add": _add,
    "confirm": _confirm_again,
    "change": _change,
    "test": _test,
    "replace": _replace,
    "stop": _stop,
    "start": _start,
    "remove": _remove,
    "again": _again,
}


@logged_in_get
def confirm(request: HttpRequest, token: str) -> HttpResponse:
    """Where the link in a mail leads: who reads that mail wants these messages."""
    try:
        channel = channels.confirm(request.user, token)
        messages.success(request, f"Messages are sent to {channel.address} from now on.")
    except ChannelError as error:
        messages.error(request, str(error))
    return redirect("messages")


# --- Of one study --------------------------------------------------------------------------------


@logged_in_get
def study_page(request: HttpRequest, key: str) -> HttpResponse:
    study = study_for(request.user, key, LOOK)
    own = list(_own(request))
    limits = limits_of(study)
    context = {
        "study": study,
        "channels": own,
        "rows": [
            (kind, [(each, *_chosen(each, study, kind.key)) for each in own])
            for kind in KINDS.values()
            if kind.wants in study.may
        ],
        "limits": [(name, *words, getattr(limits, name)) for name, words in LIMITS.items()],
    }
    return render(request, "researcher/study_messages.html", context)


def _chosen(channel: Channel, study: Study, event: str) -> tuple[bool, str]:
    """Whether it is chosen for this study, and where it is chosen for more than this one."""
    here, more = False, ""
    for each in channel.subscriptions.all():
        if event in each.events:
            here = here or each.study_id == study.pk
            if each.study_id is None and each.project_id in (None, study.project_id):
                more = "all your studies" if each.project_id is None else "the project"
    return here, more


@logged_in_post
def study_do(request: HttpRequest, key: str) -> HttpResponse:
    action = request.POST.get("action", "")
    study = study_for(request.user, key, EDIT if action == "limits" else LOOK)
    try:
        if action not in STUDY_ACTIONS:
            raise ChannelError("Unknown action.")
        messages.success(request, STUDY_ACTIONS[action](request, study))
    except ChannelError as error:
        messages.error(request, str(error))
    return redirect("study-messages", key=key)


@transaction.atomic
def _choose(request: HttpRequest, study: Study) -> str:
    """A field of the form is “channel event”."""
    wanted = [each.partition(" ") for each in request.POST.getlist("on")]
    before = Subscription.objects.filter(channel__owner=request.user.pk, study=study).count()
    for channel in _own(request):
        chosen = [event for pk, _, event in wanted if pk == str(channel.pk)]
        channels.choose(channel, chosen, study=study)
    return "Saved." if wanted or before else "No notifications are selected for this study."


@transaction.atomic
def _set_limits(request: HttpRequest, study: Study) -> str:
    limits = StudyLimits.objects.select_for_update().filter(study=study).first()
    limits = limits or StudyLimits(study=study)
    changes = {}
    for name in LIMITS:
        value, before = number_in(request, name), getattr(limits, name)
        if value != before:
            changes[name] = {"from": before, "to": value}
        setattr(limits, name, value)
    try:
        limits.clean_fields()
    except ValidationError as error:
        field_errors = error.message_dict.items()
        wrong = [f"{LIMITS[name][0]}: {' '.join(sentences)}" for name, sentences in field_errors]
        raise ChannelError(f"Nothing was changed. {' '.join(wrong)}") from None
    if not changes:
        return "Nothing was changed."
    limits.save()
    study_log.note(study, "limits", who(request), **changes)
    return "Saved for everyone with notifications for this study."


STUDY_ACTIONS: dict[str, Callable[[HttpRequest, Study], str]] = {
    "choose": _choose,
    "limits": _set_limits,
}
