"""The gallery for researchers: every method, check, questionnaire and preset, each to be tried."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from listening.checks import Check, check_named
from listening.common.interface_languages import INTERFACE_LANGUAGES
from listening.common.languages import CODES, ENGLISH, unchecked_translations
from listening.common.plugins import origin_of, purpose_of
from listening.common.views import logged_in_get
from listening.design.questionnaires import READY_MADE, TITLES
from listening.methods import Method
from listening.web.researcher.checks_and_traps import chance_text
from listening.web.researcher.preview_studies import GALLERY, every_check, example, shown_presets


@logged_in_get
def gallery(request: HttpRequest) -> HttpResponse:
    language = request.GET.get("lang", "")
    language = language if language.lower() in CODES else ENGLISH
    presets = _presets(language)
    context = {
        "methods": _methods(presets, language),
        "checks": [_check(entry["key"], language) for entry in every_check()],
        "questionnaires": [_questionnaire(key, language) for key in READY_MADE],
        "presets": presets,
        "languages": INTERFACE_LANGUAGES,
        "language": language,
        "unchecked": unchecked_translations(),
    }
    return render(request, "researcher/gallery.html", context)


def _presets(language: str) -> list[dict[str, Any]]:
    cards = []
    for name, preset in shown_presets().items():
        source = example(name)
        if source is None:
            continue
        heading, _, purpose = preset.purpose.partition(":")
        cards.append(
            {
                "key": name,
                "title": heading,
                "what": purpose.strip(),
                "methods": list(dict.fromkeys(task.method for task in source.file.tasks)),
                "url": _preview(name, language),
            }
        )
    return cards


def _methods(presets: list[dict[str, Any]], language: str) -> list[dict[str, Any]]:
    """In the order of the gallery's study, from one clip to several; those without example last."""
    source = example(GALLERY)
    shown = [task.method for task in source.file.tasks] if source else []
    last = [key for key in Method.registry if source and key not in shown]
    return [
        {
            "key": key,
            "title": Method.registry[key].title,
            "what": purpose_of(Method.registry[key]),
            "standard": Method.registry[key].standard,
            "presets": [preset for preset in presets if key in preset["methods"]],
            "origin": origin_of(Method.registry[key]),
            "url": _preview(GALLERY, language, task=key) if key in shown else "",
        }
        for key in (*shown, *last)
    ]


def _check(key: str, language: str) -> dict[str, Any]:
    check = check_named(key)
    settings = check.settings({})
    return {
        "key": key,
        "title": settings.title,
        "what": purpose_of(Check.registry[key]),
        "origin": origin_of(Check.registry[key]),
        "trials": settings.trials,
        "pass_at_least": settings.pass_at_least,
        "guessing": chance_text(check.odds(settings)) if settings.trials else "",
        "url": _preview(GALLERY, language, check=key),
    }


def _questionnaire(key: str, language: str) -> dict[str, Any]:
    questions = [question["question"] for question in READY_MADE[key]]
    return {
        "key": key,
        "title": TITLES[key],
        "questions": questions,
        "url": _preview(GALLERY, language, questionnaire=key),
    }


def _preview(name: str, language: str, **part: str) -> str:
    query = part if language == ENGLISH else part | {"lang": language}
    return reverse("example-preview", args=[name], query=query)
