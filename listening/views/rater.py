"""The rater's pages: the door, the listening room, the sounds of the checks."""

from __future__ import annotations

import io
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import soundfile
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_http_methods

from listening import allocation, audio, sessions
from listening.checks.check import Wave
from listening.draws import secret_seed
from listening.languages import name_of, page_words, speaking, study_words
from listening.models import Rater, Session, Study
from listening.sessions import Arrival, NoRoom
from listening.stages import NotAsked, check_and_settings, check_seed
from listening.studies.length import session_length
from listening.views import page_facts
from listening.views.endings import way_out
from listening.views.ownership import is_own, may_enter, memory_of, rater_code_in, remember
from listening.views.state import state_of

PROLIFIC_KEYS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")


@never_cache
@ensure_csrf_cookie
@require_http_methods(["GET", "POST"])
def landing(request: HttpRequest, link: str) -> HttpResponse:
    """The study's door: who we are, what is asked, consent; then on to the session."""
    study = get_object_or_404(Study, link=link)
    arrival = _arrival(request, study)
    known = sessions.session_of(study, arrival)
    if known is not None:
        proof = request.POST.get("proof", "")
        if may_enter(request, known, arrival, proof):
            return _enter(known)
        return _landing_page(request, study, problem="elsewhere", unproved=bool(proof), status=403)
    if request.method == "POST" and request.POST.get("consent") == "yes":
        try:
            return _enter(sessions.start(study, arrival))
        except NoRoom as no_room:
            return _landing_page(request, study, problem=no_room.reason, status=409)
    if request.method == "POST" and request.POST.get("consent") == "no":
        return _landing_page(request, study, problem="declined")
    problem = "" if study.state == Study.State.OPEN else study.state.replace("draft", "not_open")
    if not problem and not allocation.has_room(study.pk):
        problem = "full"
    missing = request.method == "POST"
    return _landing_page(request, study, problem=problem, consent_missing=missing)


def _landing_page(
    request: HttpRequest,
    study: Study,
    *,
    problem: str = "",
    consent_missing: bool = False,
    unproved: bool = False,
    status: int = 200,
) -> HttpResponse:
    language = _language(request, study)
    words = study_words(study.title, study.texts, study.translations, language)
    study.title, study.texts = words["title"], words["texts"]  # for this page; it is not saved
    with speaking(language):
        from_prolific = "PROLIFIC_PID" in _carried(request)
        outcome = "no_consent" if problem == "declined" and from_prolific else ""
        code = study.completion_codes.get(outcome, "")
        out = way_out(outcome, code=code, from_prolific=from_prolific)
        error = _("Please tick the box to take part.") if consent_missing else ""
        context = {
            **page_facts.door_facts(study, session_length(study)),
            "study": study,
            "languages": _languages(request, study, language),
            "problem": problem,
            "out": out if out["return_url"] or problem == "declined" else None,
            "error": error,
            "unproved": unproved,
            "arrival": _carried(request),
            **page_words(language),
        }
        code = 422 if consent_missing else status
        return render(request, "rater/landing.html", context, status=code)


def _language(request: HttpRequest, study: Study) -> str:
    """The language that the rater chose, of those in which the study is offered."""
    chosen = _carried(request).get("lang", "")
    return chosen if chosen in study.translations else study.language


def _languages(request: HttpRequest, study: Study, chosen: str) -> list[dict[str, Any]]:
    """Links to the same page in each language; none when there is only one."""
    arrival = {k: word for k, word in _carried(request).items() if k != "lang"}
    offered = [study.language, *study.translations]
    return [
        {
            "tag": tag,
            "name": name_of(tag),
            "chosen": tag == chosen,
            "query": urlencode({**arrival, "lang": tag}),
        }
        for tag in (offered if len(offered) > 1 else [])
    ]


def _carried(request: HttpRequest) -> dict[str, str]:
    """What the address brought along and the form must bring back."""
    given = {**request.GET.dict(), **request.POST.dict()}
    words = {k: _printable(given.get(k, "")) for k in (*PROLIFIC_KEYS, "simulate", "lang")}
    return {k: word for k, word in words.items() if word and "{{" not in word}  # never filled in


def _printable(text: str) -> str:
    """Without what no id holds and no database keeps: controls, spaces around it, half a pair."""
    return "".join(c for c in text if c.isprintable()).strip()[:300]


def _arrival(request: HttpRequest, study: Study) -> Arrival:
    carried = _carried(request)
    simulated = _simulated(carried.get("simulate", ""), study)
    memory = rater_code_in(request, study.link)
    known = Rater.objects.filter(code=memory).first() if memory else None
    return Arrival(
        prolific_id=carried.get("PROLIFIC_PID", "")[:64].lower(),  # they are hexadecimal
        prolific_study=carried.get("STUDY_ID", "")[:64],
        prolific_session=carried.get("SESSION_ID", "")[:64],
        device=_device(request.headers.get("User-Agent", "")),
        origin=_origin(request, study),
        agent=_printable(request.headers.get("Signature-Agent", "")).strip('"')[:200],
        simulated=simulated,
        rater=None if carried.get("PROLIFIC_PID") else known,
        language=carried.get("lang", ""),
    )


def _simulated(token: str, study: Study) -> bool:
    """Only who runs the server can sign a token; scripted raters are marked for good."""
    try:
        return bool(token) and signing.loads(token, salt="simulate", max_age=3600) == study.key
    except signing.BadSignature:
        return False


def _origin(request: HttpRequest, study: Study) -> str:
    """The same for the same address and browser in one study, and only while our key is known."""
    agent = request.headers.get("User-Agent", "")
    return secret_seed("origin", study.pk, request.META.get("CLIENT_ADDRESS", ""), agent)[:24]


def _device(agent: str) -> str:
    if "iPad" in agent or ("Android" in agent and "Mobile" not in agent):
        return "tablet"
    return "phone" if "Mobi" in agent else "desktop"


def _enter(session: Session) -> HttpResponse:
    response = redirect("session", code=session.code)
    remember(response, session)
    return response


@never_cache
@ensure_csrf_cookie
@require_GET
def session_page(request: HttpRequest, code: str) -> HttpResponse:
    """The listening room: one page for checks, trials and the end; on any device."""
    session = Session.objects.select_related("study", "rater").filter(code=code).first()
    if session is None:
        return render(request, "rater/lost.html", status=404)
    sessions.refresh(session)
    own = is_own(request, session)
    with speaking(session.spoken):
        state = state_of(session, own=own)
        context: dict[str, Any] = {"study": session.study, "state": state, "tasks": state["tasks"]}
        context |= {"code": session.code, **page_words(session.spoken)}
        context["memory"] = memory_of(session) if own else ""
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
    check, asked = check_and_settings(session.study.checks, key, session.spoken)
    return as_wav(check.signal(asked, check_seed(code, key, attempt), place), check.sample_rate_hz)


def as_wav(wave: Wave, rate_hz: int) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, wave, rate_hz, subtype="PCM_16", format="WAV")
    return buffer.getvalue()
