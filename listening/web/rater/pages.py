"""The rater's pages: landing page, session page, and the sounds of the checks."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any
from urllib.parse import urlencode

import soundfile
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_http_methods

from listening import audio
from listening.checks.check import Wave
from listening.common.languages import name_of, page_words, speaking, study_words
from listening.design.sources import INVITATION, Source
from listening.design.studyfile import StudyFile
from listening.models import Session, Study
from listening.sessions import allocation, lifecycle
from listening.sessions.lifecycle import Arrival, NoRoom
from listening.sessions.source_quotas import is_finished, is_full
from listening.sessions.stages import NotAsked, check_and_settings, check_seed, is_up_to_date
from listening.studies.invitations import note_begun, note_declined
from listening.studies.length import session_length
from listening.web.rater import page_facts
from listening.web.rater.endings import way_out, withdrawal_sentence
from listening.web.rater.entry import (
    LOOKING,
    NO_SOURCE,
    UNSIGNED,
    NotSigned,
    arrival_of,
    carried_by,
    is_preview,
    refusal,
    verify_arrival,
)
from listening.web.rater.framed_entry import framed_page, is_framed, let_frame, submit_url
from listening.web.rater.session_ownership import (
    is_own,
    is_same_submission,
    may_enter,
    memory_of,
    remember,
)
from listening.web.rater.state import session_state


@never_cache
@ensure_csrf_cookie
@require_http_methods(["GET", "POST"])
def landing(request: HttpRequest, link: str) -> HttpResponse:
    """The study's entry page with information and consent; it leads on to the session."""
    study = get_object_or_404(Study, link=link)
    carried = carried_by(request, study)
    arrival = arrival_of(request, study, carried)
    response = _entry(request, study, carried, arrival)
    return let_frame(response, request, arrival.source, carried)


def _entry(
    request: HttpRequest, study: Study, carried: Mapping[str, str], arrival: Arrival
) -> HttpResponse:
    page = partial(_landing_page, request, study, arrival.source, carried, pilot=arrival.pilot)
    if arrival.source and is_preview(arrival.source, carried):
        return page(problem=LOOKING, status=404)
    known = lifecycle.session_of(study, arrival)
    if is_framed(request, arrival.source):
        return _framed(request, study, carried, arrival, known, page)
    if known is not None:
        proof = request.POST.get("proof", "")
        if may_enter(request, known, arrival, proof):
            if is_own(request, known):
                lifecycle.note_submission(known, arrival)
            return _enter(known)
        return page(problem="elsewhere", unproved=bool(proof), status=403)
    try:
        verified = verify_arrival(request, study, arrival)
    except NotSigned:
        return page(problem=UNSIGNED, status=403)
    if verified:  # Prolific's token holds for two minutes: it is replaced by a mark of ours
        return redirect(f"{request.path}?{urlencode({**carried, **verified})}")
    refused = refusal(study, arrival, carried)
    if refused:
        return page(problem=refused, status=403 if refused == UNSIGNED else 404)
    if request.method == "POST" and request.POST.get("consent") in ("yes", "no"):
        return _consented(request, study, arrival, carried.get(INVITATION, ""), page)
    missing = request.method == "POST"
    problem = "" if arrival.pilot else _no_entry(study, arrival)
    return page(problem=problem, consent_missing=missing)


def _framed(
    request: HttpRequest,
    study: Study,
    carried: Mapping[str, str],
    arrival: Arrival,
    known: Session | None,
    page: Callable[..., HttpResponse],
) -> HttpResponse:
    """In a provider's frame: the way to the study's own window, or why there is none."""
    if not arrival.source or not submit_url(request, arrival.source):
        return page(problem=NO_SOURCE, status=404)
    refused = refusal(study, arrival, carried)
    if problem := refused or ("" if known else _no_entry(study, arrival)):
        return page(problem=problem, status=404 if refused else 200)
    if known and not is_same_submission(known, arrival):
        known = None  # somebody else's, or begun for a submission that was given back
    language = _language(study, carried)
    return framed_page(request, study, arrival.source, carried, known, language)


def _consented(
    request: HttpRequest,
    study: Study,
    arrival: Arrival,
    invitation: str,
    page: Callable[..., HttpResponse],
) -> HttpResponse:
    """Who agrees to the words that stand there goes on to a session; who does not, ends here."""
    if request.POST.get("consent") == "no":
        note_declined(study, invitation)
        return page(problem="declined")
    if request.POST.get("wording", str(study.wording)) != str(study.wording):
        return page(corrected=True)  # nobody agrees to words that they have not read
    try:
        session = lifecycle.start(study, arrival)
    except NoRoom as no_room:
        reason = no_room.reason
        return page(problem=_full(study, arrival) if reason == "full" else reason, status=409)
    note_begun(study, invitation, session)
    return _enter(session)


def _no_entry(study: Study, arrival: Arrival) -> str:
    """Why a rater who just looks at the door would not be let in; "" if they would."""
    if study.state != Study.State.OPEN:
        return study.state.replace("draft", "not_open")
    if is_full(study, arrival.source) or not allocation.has_room(study.pk):
        return _full(study, arrival)
    if lifecycle.has_earlier_session(study, arrival):
        return "came_before"
    return "same_browser" if lifecycle.is_second_of_browser(arrival) else ""


def _full(study: Study, arrival: Arrival) -> str:
    """Of a study without a free place: whether one may become free."""
    over = is_finished(study, arrival.source) or allocation.is_finished(study.pk)
    return "finished" if over else "full"


def _landing_page(
    request: HttpRequest,
    study: Study,
    source: Source | None,
    carried: Mapping[str, str],
    *,
    pilot: bool = False,
    problem: str = "",
    consent_missing: bool = False,
    corrected: bool = False,
    unproved: bool = False,
    status: int = 200,
) -> HttpResponse:
    language = _language(study, carried)
    words = study_words(study.title, study.texts, study.translations, language)
    study.title, study.texts = words["title"], words["texts"]  # for this page; it is not saved
    with speaking(language):
        out = _way_out(study, source, carried, problem)
        is_over = out["return_url"] or out["code"] or problem == "declined"
        error = _("Please tick the box to take part.") if consent_missing else ""
        if corrected:
            error = _("The words on this page were corrected just now. Please read them again.")
        context = {
            **page_facts.entry_facts(study, session_length(study)),
            "study": study,
            "languages": languages_of(study, language, carried),
            "problem": problem,
            **_pilot_back(study, pilot),
            "out": out if is_over and problem != UNSIGNED else None,
            "error": error,
            "unproved": unproved,
            "withdrawal": withdrawal_sentence(
                from_prolific="PROLIFIC_PID" in carried, source=source is not None
            ),
            "arrival": carried,
            **page_words(language),
        }
        code = 422 if error else status
        return render(request, "rater/landing.html", context, status=code)


def _pilot_back(study: Study, pilot: bool) -> dict[str, Any]:
    """What the pages of a try say more than those of a session, for who made the study."""
    back = (reverse("pilot", args=[study.key]), "To the tries of this study")
    return {"pilot": True, "back": back} if pilot else {}


ENDS_AT_ENTRY = {  # problem -> outcome
    "declined": "no_consent",
    **dict.fromkeys(("full", "finished", "closed"), "quota_full"),
}


def _way_out(
    study: Study, source: Source | None, carried: Mapping[str, str], problem: str
) -> dict[str, Any]:
    """Return the exit of a rater who finds no place or does not consent."""
    from_prolific = "PROLIFIC_PID" in carried
    outcome = ENDS_AT_ENTRY.get(problem, "")
    code = study.completion_codes.get(outcome, "") if from_prolific else ""
    back = ""
    if source is not None and not from_prolific:
        code, secret = source.code(outcome), study.source_secret(source.key)
        back = source.return_url(outcome, source.visit(carried), code=code, secret=secret)
    platform = source.takes_codes_at if source else ""
    out = way_out(outcome, code=code, from_prolific=from_prolific, back=back, platform=platform)
    return {**out, "code": code}


def _language(study: Study, carried: Mapping[str, str]) -> str:
    """The language that the rater chose, of those in which the study is offered."""
    chosen = carried.get("lang", "")
    return chosen if chosen in study.translations else study.language


def languages_of(
    study: Study | StudyFile, chosen: str, carried: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Links to the same page in each language; none when there is only one."""
    offered = [study.language, *study.translations]
    return [
        {
            "tag": tag,
            "name": name_of(tag),
            "chosen": tag == chosen,
            "query": urlencode({**carried, "lang": tag}),
        }
        for tag in (offered if len(offered) > 1 else [])
    ]


def _enter(session: Session) -> HttpResponse:
    response = redirect("session", code=session.code)
    remember(response, session)
    return response


@never_cache
@ensure_csrf_cookie
@require_GET
def session_page(request: HttpRequest, code: str) -> HttpResponse:
    """The session page: one page for checks, trials and the end; on any device."""
    session = Session.objects.select_related("study", "rater").filter(code=code).first()
    if session is None:
        return render(request, "rater/lost.html", status=404)
    if not is_up_to_date(session):
        lifecycle.refresh(session)
    own = is_own(request, session)
    with speaking(session.spoken):
        state = session_state(session, own=own)
        context: dict[str, Any] = {"study": session.study, "state": state, "tasks": state["tasks"]}
        context |= {"code": session.code, **page_words(session.spoken)}
        context["withdrawal"] = withdrawal_sentence(
            from_prolific=bool(session.prolific_session or session.rater.prolific_id),
            source=bool(session.source),
        )
        context["memory"] = memory_of(session) if own and not session.pilot else ""
        context |= _pilot_back(session.study, session.pilot)
        response = render(request, "rater/session.html", context)
    audio.set_clip_cookie(response, session)
    return response


@require_GET
def check_sound(request: HttpRequest, token: str) -> HttpResponse:
    """The sound of one trial of a check, made anew from the attempt's secret seed."""
    check_clip = audio.resolve_check(token, request.COOKIES)
    if check_clip is None:
        raise Http404
    try:
        wav = _check_wav(*check_clip)
    except (Session.DoesNotExist, NotAsked, IndexError):
        raise Http404 from None
    response = HttpResponse(wav, content_type="audio/wav")
    response["Cache-Control"] = "private, max-age=3600"
    return response


@lru_cache(maxsize=64)
def _check_wav(code: str, key: str, attempt: int, place: int) -> bytes:
    session = Session.objects.select_related("study").get(code=code)
    check, settings = check_and_settings(session.study.checks, key, session.spoken)
    return as_wav(
        check.signal(settings, check_seed(code, key, attempt), place), check.sample_rate_hz
    )


def as_wav(wave: Wave, rate_hz: int) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, wave, rate_hz, subtype="PCM_16", format="WAV")
    return buffer.getvalue()
