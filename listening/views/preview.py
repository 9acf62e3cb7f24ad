"""A study as its raters see it, for researchers: real pages and clips, and nothing is stored."""

from __future__ import annotations

import re
import secrets
from pathlib import Path
from random import Random

from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from listening.access import LOOK, study_for
from listening.design.studyfile import StudyFile
from listening.languages import page_words, speaking
from listening.previews import Source, StoredSource, example, only
from listening.stages import NotAsked, check_and_settings
from listening.views import page_facts
from listening.views.preview_state import Addresses, preview_state
from listening.views.preview_words import in_language
from listening.views.rater import as_wav, languages_of

PARTS = ("task", "check", "questionnaire")
RANGE = re.compile(r"bytes=(\d{1,15})-(\d{0,15})")
PIECE_BYTES = 4 * 1024 * 1024  # of a long clip at a time
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
    path = source.clip(stimulus) if "\0" not in stimulus else None  # no database looks that up
    if path is None or not path.is_file():
        raise Http404
    response = _piece(path, request.headers.get("Range", ""))
    response["Content-Type"] = "audio/flac"
    response["Accept-Ranges"] = "bytes"
    response["Cache-Control"] = f"private, max-age={KEPT_S}"
    return response


def _piece(path: Path, wanted: str) -> HttpResponseBase:
    """The whole file, or the range that a player of long clips asks for."""
    byte_range = RANGE.fullmatch(wanted)
    if byte_range is None:
        return FileResponse(path.open("rb"))
    size = path.stat().st_size
    start = int(byte_range[1])
    if start >= size:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{size}"})
    last = min(int(byte_range[2]) if byte_range[2] else size - 1, size - 1, start + PIECE_BYTES - 1)
    with path.open("rb") as file:
        file.seek(start)
        content = file.read(max(last - start + 1, 0))
    span = f"bytes {start}-{last}/{size}"
    return HttpResponse(content, status=206, headers={"Content-Range": span})


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
