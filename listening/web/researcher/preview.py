"""A study as its raters see it, for researchers: real pages and clips, and nothing is stored."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from random import Random
from typing import Any

from csp.constants import SELF
from csp.decorators import csp_replace
from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_required
from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET

from listening.access.rights import LOOK, draft_for, study_for
from listening.audio import AudioError
from listening.audio.links import flac_response
from listening.common.addresses import public_route
from listening.common.languages import page_words, speaking
from listening.common.views import logged_in_page
from listening.design.draft_questionnaires import forms_of
from listening.design.studyfile import StudyFile, StudyProblems, mistakes
from listening.drafts.folder import folder_of, rows_of, table_of
from listening.models import Draft, Study
from listening.sessions.stages import NotAsked, check_and_settings
from listening.web.posted_values import whole_number
from listening.web.rater import page_facts
from listening.web.rater.pages import as_wav, languages_of
from listening.web.researcher.draft_mistakes import shown_mistakes
from listening.web.researcher.preview_state import Addresses, in_language, preview_state
from listening.web.researcher.preview_studies import (
    Source,
    StoredSource,
    example,
    folder_source,
    only,
    questionnaire_alone,
)

PARTS = ("task", "check", "questionnaire")
LINKED, LINK_S = "preview", 15 * 60
SEED = re.compile(r"[0-9a-f]{32}")
CACHE_S = 3600


@logged_in_page
def study_preview(request: HttpRequest, key: str) -> HttpResponse:
    back = (reverse("study", args=[key]), "To the study")
    return _page(request, study_source(request, key), _Addresses("study", key), back)


@logged_in_page
def example_preview(request: HttpRequest, name: str) -> HttpResponse:
    back = (reverse("gallery"), "To the gallery")
    return _page(request, example_source(request, name), _Addresses("example", name), back)


@logged_in_page
@xframe_options_sameorigin  # beside the questions, on the page that changes them
@csp_replace({"frame-ancestors": [SELF]})  # type: ignore[arg-type]  # knows no arguments of views
def draft_preview(request: HttpRequest, code: str) -> HttpResponse:
    draft = draft_for(request.user, code, LOOK)
    try:
        return _draft_page(request, draft)
    except Http404:  # a part that was just removed: the frame may show this page alone
        return render(request, "researcher/draft_no_preview.html", status=404)


def _draft_page(request: HttpRequest, draft: Draft) -> HttpResponse:
    back = (reverse("draft-questions", args=[draft.code]), "To the questions")
    if "form" in request.GET:
        return _by_its_key(request, draft)
    addresses = _Addresses("draft", draft.code)
    try:
        return _page(request, folder_source(folder_of(draft)), addresses, back)
    except StudyProblems as problems:
        top, rows = table_of(draft), rows_of(draft)
        if source := questionnaire_alone(top, request.GET.get("questionnaire", "")):
            return _page(request, source, addresses, back)
        grouped = shown_mistakes(mistakes(problems.problems), top, rows)
        context = {"draft": draft, "mistakes": grouped}
        return render(request, "researcher/draft_no_preview.html", context)


def _by_its_key(request: HttpRequest, draft: Draft) -> HttpResponse:
    """To a questionnaire by its place, which stays while its key is changed on the page."""
    forms = forms_of(table_of(draft))
    place, query = whole_number(request.GET["form"], len(forms)), request.GET.copy()
    if place >= len(forms):
        raise Http404
    del query["form"]
    query["questionnaire"] = str(forms[place].get("key", ""))
    return redirect(f"{request.path}?{query.urlencode()}")


def preview_link(study: Study, user: Any) -> str:
    """An address that shows the preview of a study for `LINK_S` without a login."""
    return public_route("linked-preview", signing.dumps([study.pk, user.pk], salt=LINKED))


@never_cache
@require_GET
def linked_preview(request: HttpRequest, signed: str) -> HttpResponse:
    source = linked_source(request, signed)
    back = (reverse("study", args=[source.study.key]), "To the study")
    return _page(request, source, _Addresses("linked", signed), back)


def study_source(request: HttpRequest, key: str) -> StoredSource:
    return StoredSource(study_for(request.user, key, LOOK))


def draft_source(request: HttpRequest, code: str) -> Source:
    return folder_source(folder_of(draft_for(request.user, code, LOOK)))


def example_source(request: HttpRequest, name: str) -> Source:
    preset = example(name)
    if preset is None:
        raise Http404
    return preset


def linked_source(request: HttpRequest, signed: str) -> StoredSource:
    """The study of a link; Http404 where it is over, or its maker may see the study no more."""
    try:
        study_pk, user_pk = signing.loads(signed, salt=LINKED, max_age=LINK_S)
    except signing.BadSignature:
        raise Http404("This link has expired.") from None
    user = get_user_model().objects.filter(pk=user_pk, is_active=True).first()
    study = Study.objects.filter(pk=study_pk).first()
    if user is None or study is None:
        raise Http404("This link has expired.")
    return StoredSource(study_for(user, study.key, LOOK))


def sounds_of(
    kind: str, address: str, source: Callable[[HttpRequest, str], Source]
) -> list[URLPattern]:
    """The routes of a preview's clips and of the sounds of its checks."""

    def clip(request: HttpRequest, stimulus: str, **named: str) -> HttpResponseBase:
        return _clip(request, source(request, *named.values()), stimulus)

    def sound(
        request: HttpRequest, check: str, seed: str, place: int, **named: str
    ) -> HttpResponseBase:
        return _sound(source(request, *named.values()), check, seed, place)

    routes: tuple[tuple[str, str, Callable[..., HttpResponseBase]], ...] = (
        ("clip", "clips/<path:stimulus>", clip),
        ("sound", "checks/<str:check>/<str:seed>/<int:place>", sound),
    )
    return [
        path(
            f"preview/{address}/{below}",
            require_GET(view) if kind == "linked" else login_required(require_GET(view)),
            name=f"{kind}-preview-{what}",
        )
        for what, below, view in routes
    ]


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
        return _entry_page(request, file, source, back)
    with speaking(file.language):
        state = preview_state(file, source, addresses, Random(secrets.token_bytes(16)))
        context = {"study": state["study"], "state": state, "tasks": state["tasks"], "back": back}
        context |= page_words(file.language)
        return render(request, "rater/session.html", context)


def _entry_page(
    request: HttpRequest, file: StudyFile, source: Source, back: tuple[str, str]
) -> HttpResponse:
    with speaking(file.language):
        context = {
            **page_facts.entry_facts(file, source.length),
            **{"study": file, "preview": True, "back": back},
            "languages": languages_of(source.file, file.language, {}),
            "arrival": {"lang": file.language} if file.language != source.file.language else {},
            **page_words(file.language),
        }
        return render(request, "rater/landing.html", context)


def _clip(request: HttpRequest, source: Source, stimulus: str) -> HttpResponseBase:
    try:
        file = source.clip(stimulus) if "\0" not in stimulus else None  # no database looks that up
    except AudioError:
        raise Http404 from None  # the page of sounds says what is wrong with it
    if file is None or not file.is_file():
        raise Http404
    response = flac_response(file, request.headers.get("Range", ""))
    response["Cache-Control"] = f"private, max-age={CACHE_S}"
    return response


def _sound(source: Source, key: str, seed: str, place: int) -> HttpResponse:
    """The sound of a check, made of the seed that the page threw the dice for."""
    if not SEED.fullmatch(seed):
        raise Http404
    try:
        check, settings = check_and_settings(source.file.checks, key, source.file.language)
        wave = check.signal(settings, seed, place)
    except (NotAsked, IndexError):
        raise Http404 from None
    response = HttpResponse(as_wav(wave, check.sample_rate_hz), content_type="audio/wav")
    response["Cache-Control"] = f"private, max-age={CACHE_S}"
    return response
