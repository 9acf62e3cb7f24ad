"""A study as its raters see it, for researchers: real pages and clips, and nothing is stored."""

from __future__ import annotations

import re
import secrets
from random import Random

from csp.constants import SELF
from csp.decorators import csp_replace
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET

from listening.access.rights import LOOK, draft_for, study_for
from listening.audio import AudioError
from listening.audio.pieces import flac_response
from listening.common.languages import page_words, speaking
from listening.design.studyfile import StudyFile, StudyProblems, mistakes
from listening.drafts.folder import folder_of, rows_of, table_of
from listening.sessions.stages import NotAsked, check_and_settings
from listening.web.rater import page_facts
from listening.web.rater.pages import as_wav, languages_of
from listening.web.researcher.draft_mistakes import shown_mistakes
from listening.web.researcher.preview_state import Addresses, preview_state
from listening.web.researcher.preview_studies import (
    Source,
    StoredSource,
    example,
    folder_source,
    only,
)
from listening.web.researcher.preview_texts import in_language

PARTS = ("task", "check", "questionnaire")
SEED = re.compile(r"[0-9a-f]{32}")
KEPT_S = 3600


@never_cache
@login_required
@require_GET
def study_preview(request: HttpRequest, key: str) -> HttpResponse:
    back = (reverse("study", args=[key]), "To the study")
    return _page(request, _stored(request, key), _Addresses("study", key), back)


@never_cache
@login_required
@require_GET
def example_preview(request: HttpRequest, name: str) -> HttpResponse:
    back = (reverse("gallery"), "To the gallery")
    return _page(request, _example(name), _Addresses("example", name), back)


@never_cache
@login_required
@require_GET
@xframe_options_sameorigin  # beside the questions, on the page that changes them
@csp_replace({"frame-ancestors": [SELF]})  # type: ignore[arg-type]  # knows no arguments of views
def draft_preview(request: HttpRequest, code: str) -> HttpResponse:
    back = (reverse("draft-questions", args=[code]), "To the questions")
    try:
        return _page(request, _draft(request, code), _Addresses("draft", code), back)
    except StudyProblems as problems:
        draft = draft_for(request.user, code, LOOK)
        top, rows = table_of(draft), rows_of(draft)
        found = shown_mistakes(mistakes(problems.problems), top, rows)
        context = {"draft": draft, "mistakes": found}
        return render(request, "researcher/draft_no_preview.html", context)


@login_required
@require_GET
def draft_clip(request: HttpRequest, code: str, stimulus: str) -> HttpResponseBase:
    return _clip(request, _draft(request, code), stimulus)


@login_required
@require_GET
def draft_sound(
    request: HttpRequest, code: str, check: str, seed: str, place: int
) -> HttpResponseBase:
    return _sound(_draft(request, code), check, seed, place)


def _draft(request: HttpRequest, code: str) -> Source:
    return folder_source(folder_of(draft_for(request.user, code, LOOK)))


@login_required
@require_GET
def study_clip(request: HttpRequest, key: str, stimulus: str) -> HttpResponseBase:
    return _clip(request, _stored(request, key), stimulus)


@login_required
@require_GET
def example_clip(request: HttpRequest, name: str, stimulus: str) -> HttpResponseBase:
    return _clip(request, _example(name), stimulus)


@login_required
@require_GET
def study_sound(
    request: HttpRequest, key: str, check: str, seed: str, place: int
) -> HttpResponseBase:
    return _sound(_stored(request, key), check, seed, place)


@login_required
@require_GET
def example_sound(
    request: HttpRequest, name: str, check: str, seed: str, place: int
) -> HttpResponseBase:
    return _sound(_example(name), check, seed, place)


def _stored(request: HttpRequest, key: str) -> StoredSource:
    return StoredSource(study_for(request.user, key, LOOK))


def _example(name: str) -> Source:
    preset = example(name)
    if preset is None:
        raise Http404
    return preset


class _Addresses(Addresses):
    """Where the clips of a preview are: below its own name, for who may see it."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name

    def clip(self, stimulus: str) -> str:
        return reverse(f"{self.kind}-preview-clip", args=[self.name, stimulus])

    def sound(self, check: str, seed: str, place: int) -> str:
        return reverse(f"{self.kind}-preview-sound", args=[self.name, check, seed, place])


def _page(
    request: HttpRequest, source: Source, addresses: Addresses, back: tuple[str, str]
) -> HttpResponse:
    """The first page and then, with the rater's consent, the others; one part has no first page."""
    part = {name: request.GET.get(name, "") for name in PARTS}
    file = only(source.file, **part)
    if file is None:
        raise Http404
    language = request.GET.get("lang", "")
    file = in_language(file, language)
    if not any(part.values()) and request.GET.get("consent") != "yes":
        return _door(request, file, source, back)
    with speaking(file.language):
        state = preview_state(file, source, addresses, Random(secrets.token_bytes(16)))
        context = {"study": state["study"], "state": state, "tasks": state["tasks"], "back": back}
        context |= page_words(file.language)
        return render(request, "rater/session.html", context)


def _door(
    request: HttpRequest, file: StudyFile, source: Source, back: tuple[str, str]
) -> HttpResponse:
    with speaking(file.language):
        context = {
            **page_facts.door_facts(file, source.length),
            **{"study": file, "preview": True, "back": back},
            "languages": languages_of(source.file, file.language, {}),
            "arrival": {"lang": file.language} if file.language != source.file.language else {},
            **page_words(file.language),
        }
        return render(request, "rater/landing.html", context)


def _clip(request: HttpRequest, source: Source, stimulus: str) -> HttpResponseBase:
    try:
        path = source.clip(stimulus) if "\0" not in stimulus else None  # no database looks that up
    except AudioError:
        raise Http404 from None  # the page of sounds says what is wrong with it
    if path is None or not path.is_file():
        raise Http404
    response = flac_response(path, request.headers.get("Range", ""))
    response["Cache-Control"] = f"private, max-age={KEPT_S}"
    return response


def _sound(source: Source, key: str, seed: str, place: int) -> HttpResponse:
    """The sound of a check, made of the seed that the page threw the dice for."""
    if not SEED.fullmatch(seed):
        raise Http404
    try:
        check, asked = check_and_settings(source.file.checks, key, source.file.language)
        wave = check.signal(asked, seed, place)
    except (NotAsked, IndexError):
        raise Http404 from None
    response = HttpResponse(as_wav(wave, check.sample_rate_hz), content_type="audio/wav")
    response["Cache-Control"] = f"private, max-age={KEPT_S}"
    return response
