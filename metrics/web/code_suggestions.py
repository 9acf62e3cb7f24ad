"""The page that asks a judge model for codes of reasons, once the user agrees to what is sent."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from listening.common.signals import acted
from listening.common.views import logged_in_page, logged_in_post
from listening.models.requested_jobs import ask as ask_for
from listening.models.requested_jobs import requests_of
from listening.selectors import codes_to_suggest, study_head_or_404
from metrics.core.weights import Unavailable
from metrics.jobs import suggest_codes
from metrics.models import CodeSuggestion
from metrics.scoring.code_suggestions import plan_request


@logged_in_page
def page(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    study = study_head_or_404(key, request.user, "edit")
    context: dict[str, Any] = {"study": study, "review": codes_to_suggest(key, pk)}
    context["under_way"] = _under_way(key, pk)
    try:
        code_request = plan_request(key, pk)
        context |= {"asked": code_request, "failed": sorted(code_request.failed.items())}
    except Unavailable as error:
        context["problem"] = str(error)
    return render(request, "metrics/suggest_codes.html", context)


def _under_way(key: str, pk: int) -> Any:
    return requests_of(suggest_codes).filter(given__0=key, given__1=pk).first()


@logged_in_post
def request_suggestions(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """Has a worker ask; only who ticked that reasons may be sent gets that far."""
    study = study_head_or_404(key, request.user, "edit")
    by = request.user.get_username()
    try:
        code_request = plan_request(key, pk)
        if request.POST.get("send") != "on":
            messages.error(
                request, "Nothing was sent. First confirm that the justifications may be sent."
            )
            return redirect("review-suggestions", key, pk)
        if _under_way(key, pk) is not None:  # twice at once would be paid for twice
            messages.error(
                request, "A request is already running. Reload this page to see its progress."
            )
            return redirect("review-suggestions", key, pk)
        ask_for(suggest_codes, key, pk, code_request.model, by)
    except Unavailable as error:
        messages.error(request, str(error))
    else:
        details = code_request.details(len(code_request.missing))
        acted.send(
            CodeSuggestion, study_id=study["pk"], by=by, what="codes_suggested", details=details
        )
        messages.success(
            request, f"Request sent to {code_request.model}. Reload this page to see its progress."
        )
    return redirect("review-suggestions", key, pk)
