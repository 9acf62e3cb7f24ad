"""The entry page in a provider's frame: it opens the study in a window of its own, and submits.

Browsers keep cookies from pages in other sites' frames, so no session runs there. The submission
id of the address, which only its participant knows, says in the frame whether the session is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from listening.common.languages import page_words, speaking, study_words
from listening.design.sources import Source
from listening.models import Session, Study
from listening.sessions.outcomes import code_at_end, outcome_of
from listening.web.rater.endings import HAPPENED, submit_sentence
from listening.web.rater.entry import is_preview


def is_framed(request: HttpRequest, source: Source | None) -> bool:
    """Whether the provider shows this address in a frame, and asks for a form at the end."""
    parameter = source.provider.submit_parameter if source else ""
    return request.method == "GET" and bool(parameter) and parameter in request.GET


def submit_url(request: HttpRequest, source: Source) -> str:
    """Where the form at the end goes; "" where the address names a site that is not theirs."""
    return source.provider.submit_url(request.GET[source.provider.submit_parameter])


def framed_page(
    request: HttpRequest,
    study: Study,
    source: Source,
    carried: Mapping[str, str],
    known: Session | None,
    language: str,
) -> HttpResponse:
    """The link to the study's own window; once the session has ended, the provider's form.

    ``known``: the session of this very submission; None where it has not begun.
    """
    outcome = outcome_of(known.status, known.review) if known else ""
    words = study_words(study.title, study.texts, study.translations, language)
    with speaking(language):
        context: dict[str, Any] = {
            "title": words["title"],
            "study": {"texts": words["texts"]},
            "window": f"{request.path}?{urlencode(carried)}",
            "begun": known is not None,
            "happened": HAPPENED.get(outcome, ""),
            **page_words(language),
        }
        if known is not None and outcome:
            context |= {
                "submit_url": submit_url(request, source),
                "next": submit_sentence(),
                "fields": {
                    source.parameters["submission"]: known.external_session,
                    "code": code_at_end(known),
                    "outcome": outcome,
                },
            }
        return render(request, "rater/framed.html", context)


def let_frame(
    response: HttpResponse, request: HttpRequest, source: Source | None, carried: Mapping[str, str]
) -> HttpResponse:
    """Let the provider's sites, and no others, show this page in a frame and take its form."""
    if source is None or not source.provider.framed_by:
        return response
    if is_framed(request, source) or is_preview(source, carried):
        provider = source.provider
        response.xframe_options_exempt = True  # CSP says it, by site
        response._csp_replace = {  # type: ignore[attr-defined]
            "frame-ancestors": list(provider.framed_by),
            "form-action": [*provider.submit_sites, *provider.framed_by],
        }
    return response
