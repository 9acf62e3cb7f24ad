"""The page of a panel: people invited, their links, mails and reminders, and who has come."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from listening.access.rights import EDIT, study_for
from listening.common.counted import counted
from listening.common.views import attachment, logged_in_get, logged_in_post
from listening.design.sources import Source, source_named
from listening.jobs import send_invitations
from listening.models import AskedJob, Invitation, Study
from listening.models.requested_jobs import ask, requests_of
from listening.models.study_log import note
from listening.studies import invitations
from listening.studies.invitations import NotInvited
from listening.studies.length import session_length
from listening.web.researcher.study_page import who

ROWS_PER_PAGE = 50


def _study_and_source(request: HttpRequest, key: str, source: str) -> tuple[Study, Source]:
    study = study_for(request.user, key, EDIT)
    named = source_named(study.sources, source)
    if named is None or not named.provider.invitations:
        raise Http404
    return study, named


@logged_in_get
def page(request: HttpRequest, key: str, source: str) -> HttpResponse:
    return _page(request, *_study_and_source(request, key, source))


def _page(
    request: HttpRequest, study: Study, source: Source, *, typed: str = "", status: int = 200
) -> HttpResponse:
    rows = Paginator(invitations.invitations_of(study, source.key), ROWS_PER_PAGE).get_page(
        request.GET.get("page")
    )
    for each in rows:
        each.state = invitations.state_of(each)  # type: ignore[attr-defined]
    minutes = session_length(study).minutes
    context: dict[str, Any] = {
        "study": study,
        "source": source,
        "rows": rows,
        "counts": invitations.counts_of(study, source.key),
        "under_way": _under_way(study, source),
        "typed": typed,
        "can_mail": bool(settings.EARNEST_MAIL),
        "sender": settings.DEFAULT_FROM_EMAIL,
        "subject": request.POST.get("subject", invitations.SUBJECT),
        "text": request.POST.get("text", invitations.TEXT.replace("{minutes}", str(minutes))),
        "most": invitations.MOST_MAILS,
    }
    return render(request, "researcher/invitations.html", context, status=status)


@logged_in_post
def do(request: HttpRequest, key: str, source: str) -> HttpResponse:
    """People added, mails sent, an invitation taken back; what is refused keeps what was typed."""
    study, named = _study_and_source(request, key, source)
    action = request.POST.get("action", "")
    try:
        if action == "invite":
            added = invitations.invite(study, named, request.POST.get("people", ""))
            summary = added.summary
            if added.warning:
                messages.warning(request, added.warning)
        elif action in ("send", "remind"):
            summary = _send(request, study, named, reminder=action == "remind")
        elif action == "remove":
            summary = _remove(request, study, named)
        else:
            raise NotInvited("Unknown action.")
        messages.success(request, summary)
        note(study, "invited", who(request), way_in=source, said=summary)
    except NotInvited as error:
        for line in str(error).splitlines():
            messages.error(request, line)
        return _page(request, study, named, typed=request.POST.get("people", ""), status=422)
    return redirect("invitations", key=key, source=source)


def _send(request: HttpRequest, study: Study, source: Source, *, reminder: bool) -> str:
    if not settings.EARNEST_MAIL:
        raise NotInvited("This server has no mail server: set EARNEST_MAIL and EARNEST_MAIL_FROM.")
    subject, text = request.POST.get("subject", ""), request.POST.get("text", "")
    invitations.check_text(subject, text)
    due = invitations.may_be_mailed(study, source.key, reminder=reminder)
    people = list(due.values_list("pk", flat=True))
    if people:
        ask(send_invitations, people, subject.strip(), text, reminder)
    emails = f"Sending {counted(len(people), 'email')}."
    return f"{emails} The table shows when the mail server has accepted each."


def _under_way(study: Study, source: Source) -> list[AskedJob]:
    """Mails of this panel that were asked for and are not all sent; it stays until they are."""
    mine = Invitation.objects.filter(study=study, source=source.key)
    jobs = [each for each in requests_of(send_invitations) if each.given[0]]
    return [each for each in jobs if mine.filter(pk=each.given[0][0]).exists()]


def _remove(request: HttpRequest, study: Study, source: Source) -> str:
    pk = request.POST.get("invitation", "")
    mine = Invitation.objects.filter(study=study, source=source.key, session=None)
    deleted, _ = mine.filter(pk=int(pk) if pk.isdecimal() and len(pk) < 18 else 0).delete()
    if not deleted:
        raise NotInvited("People who have started cannot be removed from the list.")
    return "Removed from the list. The link no longer works."


@logged_in_get
def links_csv(request: HttpRequest, key: str, source: str) -> HttpResponse:
    study, named = _study_and_source(request, key, source)
    text = invitations.as_csv(study, named.key)
    note(study, "exported", who(request), file=f"{named.key}-links.csv")
    return attachment(text, f"{study.key}-{named.key}-links.csv")
