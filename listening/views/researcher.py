"""The page of one study, live, and the few things to do there."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST
from redis.exceptions import RedisError

from listening import sessions
from listening.access import EDIT, LOOK, may_see_ids, study_for
from listening.design.settings import derive
from listening.design.studyfile import StimulusEntry
from listening.events import note
from listening.models import Session, Study
from listening.monitor import forget_progress, page_progress
from listening.selectors import unplayed_clips
from listening.studies import (
    Finding,
    StudyError,
    check_study,
    close_study,
    open_study,
    pause_study,
    study_as_file,
)
from listening.studies.length import MEASURED_FROM, session_length
from listening.views.beforehand import beforehand
from listening.views.session_table import SHOWN_AS, UNREJECTABLE, session_page, status_links
from listening.views.what_it_is import what_it_is

CHECKED_UNASKED = 50  # clips; a larger draft is checked when its researcher asks
FINDINGS_KEPT_S = 600
TOLD = {
    Study.State.OPEN: "The study is open: raters can start.",
    Study.State.PAUSED: "The study is paused: nobody new can start.",
    Study.State.CLOSED: "The study is closed.",
}


def home(request: HttpRequest) -> HttpResponse:
    return redirect("studies" if request.user.is_authenticated else "login")


def who(request: HttpRequest) -> str:
    """The user name, as logs keep it."""
    return str(request.user.get_username())


# --- One study -----------------------------------------------------------------------------------


@login_required
@require_GET
def study(request: HttpRequest, key: str) -> HttpResponse:
    mine = study_for(request.user, key, LOOK)
    status = request.GET.get("status", "")
    findings = _findings(mine, asked="check" in request.GET)
    context = {
        "study": mine,
        "progress": page_progress(key),
        "findings": findings,
        "must_be_solved": any(f.level == "problem" for f in findings or ()),
        "link": settings.EARNEST_PUBLIC_URL + reverse("landing", args=[mine.link]),
        "before": beforehand(mine),
        "length": session_length(mine),
        "made_of": _what_it_is(mine) if mine.state == Study.State.DRAFT else None,
        "measured_from": MEASURED_FROM,
        "unplayed": unplayed_clips(key),
        "sessions": session_page(mine, status, request.GET.get("page")),
        "status": status,
        "statuses": status_links(status),
        "status_query": f"status={status}" if status in Session.Status.values else "",
        "shows_prolific_ids": may_see_ids(mine, request.user),
    }
    return render(request, "researcher/study.html", context)


def _what_it_is(study: Study) -> dict[str, Any]:
    """Of a draft: its wording, scale, clips and plan, as there is no progress to show."""
    file = study_as_file(study)

    def address(entry: StimulusEntry) -> str:
        return reverse("study-preview-clip", args=[study.key, entry.key])

    return what_it_is(derive(file).added_to(file), address)


def _findings(study: Study, asked: bool) -> list[Finding] | None:
    """What stands against opening a draft; None when that has to be asked for.

    Every clip is decoded for it, so a large study is looked at on request, and the result is
    kept for a while.
    """
    if study.state != Study.State.DRAFT:
        return []
    name = f"findings/{study.pk}"
    kept: list[Finding] | None = None
    with suppress(RedisError):
        kept = cache.get(name)
    if asked or (kept is None and study.stimuli.count() <= CHECKED_UNASKED):
        kept = check_study(study)
        with suppress(RedisError):
            cache.set(name, kept, timeout=FINDINGS_KEPT_S)
    return kept


# --- What can be done ----------------------------------------------------------------------------


@login_required
@require_POST
def change_state(request: HttpRequest, key: str) -> HttpResponse:
    """Open, pause or close; a study that is not ready says what is missing instead."""
    mine = study_for(request.user, key, EDIT)
    to = request.POST.get("to", "")
    try:
        if to == Study.State.OPEN:
            open_study(mine, anyway="anyway" in request.POST, by=who(request))
        elif to == Study.State.PAUSED:
            pause_study(mine, by=who(request))
        elif to == Study.State.CLOSED:
            close_study(mine, by=who(request))
        else:
            raise StudyError("A study can be opened, paused or closed.")
    except StudyError as error:
        for line in str(error).splitlines():
            messages.error(request, line)
    else:
        forget_progress(key)
        messages.success(request, TOLD[Study.State(to)])
    return redirect("study", key=key)


@login_required
@require_POST
def reject(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    mine = study_for(request.user, key, EDIT)
    session = get_object_or_404(mine.sessions.select_related("rater"), pk=pk)
    reason = request.POST.get("reason", "").strip()[:300]
    if not reason:
        messages.error(request, "A session is rejected for a reason. Please write it down.")
    elif session.status in UNREJECTABLE:
        label = SHOWN_AS.get(session.status, session.status)
        messages.warning(request, f"This session of {session.rater} is {label} already.")
    else:
        sessions.reject(session, reason)
        note(mine, "rejected", who(request), rater=session.rater.code, reason=reason)
        forget_progress(key)
        messages.success(
            request,
            f"Rejected the session of {session.rater}. Its ratings are kept but no longer count, "
            "and its places are open again.",
        )
    return redirect("study", key=key)


@login_required
@require_POST
def delete_simulated(request: HttpRequest, key: str) -> HttpResponse:
    mine = study_for(request.user, key, EDIT)
    deleted = sessions.delete_simulated(mine)
    note(mine, "simulated_deleted", who(request), sessions=deleted)
    forget_progress(key)
    word = "session" if deleted == 1 else "sessions"
    messages.success(request, f"Deleted {deleted} {word} of simulated raters with their ratings.")
    return redirect("study", key=key)
