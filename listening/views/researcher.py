"""The researcher's pages: the list of studies, one study live, and the few things to do with it."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.core.paginator import Paginator
from django.db.models import Max, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST
from redis.exceptions import RedisError

from listening import sessions
from listening.models import Block, Session, Study
from listening.monitor import forget_progress, page_progress
from listening.selectors import unplayed_clips
from listening.studies import (
    Finding,
    StudyError,
    check_study,
    close_study,
    open_study,
    pause_study,
)
from listening.studies.length import MEASURED_FROM, session_length
from listening.views.beforehand import beforehand
from listening.views.session_table import SHOWN_AS, UNREJECTABLE, session_page, status_links

STUDIES_PER_PAGE = 50
CHECKED_UNASKED = 50  # clips; a larger draft is checked when its researcher asks
FINDINGS_KEPT_S = 600
TOLD = {
    Study.State.OPEN: "The study is open: raters can start.",
    Study.State.PAUSED: "The study is paused: nobody new can start.",
    Study.State.CLOSED: "The study is closed.",
}
LIST_MAX_AGE_S = 20.0  # the list need not be as fresh as the monitor


def home(request: HttpRequest) -> HttpResponse:
    return redirect("studies" if request.user.is_authenticated else "login")


def own_studies(request: HttpRequest) -> QuerySet[Study]:
    """What this researcher may see: their own studies, or all for a superuser."""
    user = request.user
    if not user.is_authenticated or user.is_superuser:
        return Study.objects.all() if user.is_authenticated else Study.objects.none()
    return Study.objects.filter(owner=user)


# --- The list ------------------------------------------------------------------------------------


@login_required
@require_GET
def studies(request: HttpRequest) -> HttpResponse:
    own = own_studies(request).select_related("owner")
    page = Paginator(own, STUDIES_PER_PAGE).get_page(request.GET.get("page"))
    seen = _last_activity([study.pk for study in page])
    rows = [_study_row(study, seen.get(study.pk)) for study in page]
    return render(request, "researcher/studies.html", {"rows": rows, "page": page})


def _study_row(study: Study, last_activity: datetime | None) -> dict[str, Any]:
    progress = page_progress(study.key, max_age_s=LIST_MAX_AGE_S)
    by_status = {k: n for k, n in progress["sessions"].items() if k != "simulated"}
    return {
        "study": study,
        "total": progress["total"],
        "sessions": sum(by_status.values()),
        "simulated": progress["sessions"]["simulated"],
        "last_activity": last_activity,
        "just_now": last_activity and timezone.now() - last_activity < timedelta(minutes=1),
    }


def _last_activity(studies: list[int]) -> dict[int, datetime]:
    """When a session began or ended last, or an answer extended a lease."""
    began = dict(
        Session.objects.filter(study__in=studies)
        .values_list("study")
        .annotate(Max("started_at"))
        .values_list("study", "started_at__max")
    )
    ended = dict(
        Session.objects.filter(study__in=studies, finished_at__isnull=False)
        .values_list("study")
        .annotate(Max("finished_at"))
        .values_list("study", "finished_at__max")
    )
    leases = (
        Block.objects.filter(task__study__in=studies, state=Block.State.LEASED)
        .values_list("task__study")
        .annotate(Max("lease_until"), lease_s=Max("task__study__lease_s"))
        .values_list("task__study", "lease_until__max", "lease_s")
    )
    answered = {study: until - timedelta(seconds=lease_s) for study, until, lease_s in leases}
    known = (began, ended, answered)
    return {
        study: max(times[study] for times in known if times.get(study))
        for study in studies
        if any(times.get(study) for times in known)
    }


# --- One study -----------------------------------------------------------------------------------


@login_required
@require_GET
def study(request: HttpRequest, key: str) -> HttpResponse:
    mine = get_object_or_404(own_studies(request), key=key)
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
        "measured_from": MEASURED_FROM,
        "unplayed": unplayed_clips(key),
        "sessions": session_page(mine, status, request.GET.get("page")),
        "status": status,
        "statuses": status_links(status),
        "status_query": f"status={status}" if status in Session.Status.values else "",
        "shows_prolific_ids": mine.owner_id == request.user.pk,
    }
    return render(request, "researcher/study.html", context)


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
    mine = get_object_or_404(own_studies(request), key=key)
    to = request.POST.get("to", "")
    try:
        if to == Study.State.OPEN:
            open_study(mine, anyway="anyway" in request.POST)
        elif to == Study.State.PAUSED:
            pause_study(mine)
        elif to == Study.State.CLOSED:
            close_study(mine)
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
    mine = get_object_or_404(own_studies(request), key=key)
    session = get_object_or_404(mine.sessions.select_related("rater"), pk=pk)
    reason = request.POST.get("reason", "").strip()[:300]
    if not reason:
        messages.error(request, "A session is rejected for a reason. Please write it down.")
    elif session.status in UNREJECTABLE:
        label = SHOWN_AS.get(session.status, session.status)
        messages.warning(request, f"This session of {session.rater} is {label} already.")
    else:
        sessions.reject(session, reason)
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
    mine = get_object_or_404(own_studies(request), key=key)
    deleted = sessions.delete_simulated(mine)
    forget_progress(key)
    word = "session" if deleted == 1 else "sessions"
    messages.success(request, f"Deleted {deleted} {word} of simulated raters with their ratings.")
    return redirect("study", key=key)
