"""The gallery for researchers: every method, check, questionnaire and preset, each to be tried."""

from __future__ import annotations

import sys
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from listening.checks import Check, check_named
from listening.design.questionnaires import READY_MADE, TITLES
from listening.methods import Method
from listening.web.researcher.checks_and_traps import chance_text
from listening.web.researcher.preview_studies import GALLERY, every_check, example, shown_presets


@login_required
@require_GET
def gallery(request: HttpRequest) -> HttpResponse:
    presets = _presets()
    context = {
        "methods": _methods(presets),
        "checks": [_check(entry["key"]) for entry in every_check()],
        "questionnaires": [_questionnaire(key) for key in READY_MADE],
        "presets": presets,
    }
    return render(request, "researcher/gallery.html", context)


def _presets() -> list[dict[str, Any]]:
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
                "purpose": purpose.strip(),
                "methods": list(dict.fromkeys(task.method for task in source.file.tasks)),
                "url": reverse("example-preview", args=[name]),
            }
        )
    return cards


def _methods(presets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those with an example, in the order of the gallery's study: from one clip to several."""
    source = example(GALLERY)
    shown = [task.method for task in source.file.tasks] if source else []
    return [
        {
            "key": key,
            "title": Method.registry[key].title,
            "what": purpose_of(Method.registry[key]),
            "standard": Method.registry[key].standard,
            "presets": [preset for preset in presets if key in preset["methods"]],
            "url": _try(task=key),
        }
        for key in shown
    ]


def _check(key: str) -> dict[str, Any]:
    check = check_named(key)
    settings = check.settings({})
    return {
        "key": key,
        "title": settings.title,
        "what": purpose_of(Check.registry[key]),
        "trials": settings.trials,
        "pass_at_least": settings.pass_at_least,
        "guessing": chance_text(check.odds(settings)) if settings.trials else "",
        "url": _try(check=key),
    }


def _questionnaire(key: str) -> dict[str, Any]:
    questions = [question["question"] for question in READY_MADE[key]]
    return {
        "key": key,
        "title": TITLES[key],
        "questions": questions,
        "url": _try(questionnaire=key),
    }


def _try(**part: str) -> str:
    return f"{reverse('example-preview', args=[GALLERY])}?{urlencode(part)}"


def purpose_of(kind: type) -> str:
    """The sentence that its module says of itself."""
    return (sys.modules[kind.__module__].__doc__ or "").split("\n", 1)[0]
