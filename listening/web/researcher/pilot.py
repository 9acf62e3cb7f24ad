"""A draft tried by its researchers through the raters' own pages: begun, looked at, deleted."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from listening import studies
from listening.access.rights import EDIT, LOOK, study_for
from listening.common.views import logged_in_page, logged_in_post
from listening.models import Study
from listening.models.study_log import note
from listening.studies import Pilot, StudyError
from listening.studies.length import session_length
from listening.web.rater.entry import PILOT, pilot_token
from listening.web.researcher.raters_table import called
from listening.web.researcher.study_page import who

FAR_OFF = 0.25  # of the estimate: from here on a rater would feel misled


@logged_in_page
def page(request: HttpRequest, key: str) -> HttpResponse:
    study = study_for(request.user, key, LOOK)
    length = session_length(study)
    promised_s = studies.promised_s(study, length)
    pilots = studies.pilots_of(study) if study.state == Study.State.DRAFT else []
    context = {
        "study": study,
        "length": length,
        "promised": clock(promised_s),
        "door": clock(studies.entry_seconds(study)),
        "tries": [_pilot_facts(pilot, promised_s) for pilot in pilots],
    }
    return render(request, "researcher/pilot.html", context)


def _pilot_facts(pilot: Pilot, promised_s: float) -> dict[str, Any]:
    took_s = pilot.took_s
    return {
        "pilot": pilot,
        "called": called(pilot.status),
        "took": "" if took_s is None else clock(took_s),
        "against": _against(pilot, promised_s),
        "address": reverse("session", args=[pilot.code]),
    }


def _against(pilot: Pilot, promised_s: float) -> str:
    """How a finished try stands to the estimate; "" for one that did not come to its end."""
    if pilot.took_s is None or pilot.status != "finished" or promised_s <= 0:
        return ""
    if abs(pilot.took_s - promised_s) <= FAR_OFF * promised_s:
        return "as estimated"
    return "shorter" if pilot.took_s < promised_s else "longer"


def clock(seconds: float) -> str:
    """Minutes and seconds, as 4:10."""
    whole = max(round(seconds), 0)
    return f"{whole // 60}:{whole % 60:02}"


@logged_in_post
def do(request: HttpRequest, key: str) -> HttpResponse:
    """Begins a try at the raters' entry page, or deletes one or all of them."""
    study = study_for(request.user, key, EDIT)
    action = request.POST.get("action", "")
    if action == "begin" and study.state == Study.State.DRAFT:
        note(study, "piloted", who(request))
        query = urlencode({PILOT: pilot_token(study, request.user)})
        return redirect(f"{reverse('landing', args=[study.link])}?{query}")
    if action == "delete":
        _delete(request, study)
    elif action == "begin":
        messages.error(request, f"The study is {study.state}. Copy it to preview a draft.")
    else:
        messages.error(request, "Unknown action.")
    return redirect("pilot", key=key)


def _delete(request: HttpRequest, study: Study) -> None:
    try:
        count = studies.delete_pilots(study, request.POST.get("try", ""), by=who(request))
    except StudyError as error:
        messages.error(request, str(error))
        return
    word = "session" if count == 1 else "sessions"
    messages.success(
        request,
        f"Deleted {count} preview {word} with all answers." if count else "No preview sessions.",
    )
