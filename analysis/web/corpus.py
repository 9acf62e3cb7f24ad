"""The pages Corpus of a study and of a draft: clips and texts checked before they are rated."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from analysis.corpus.study_corpus import DRAFTS
from analysis.web.corpus_jobs import check_file, check_state, start_check
from analysis.web.job_states import DONE
from listening.common.views import attachment, logged_in_page, logged_in_post
from listening.selectors import draft_head_or_404, study_head_or_404


@logged_in_page
def page(request: HttpRequest, key: str) -> HttpResponse:
    head = study_head_or_404(key, request.user)
    context = {"study": head, **_context(key, "corpus", key, head["may"])}
    return render(request, "analysis/corpus.html", context)


@logged_in_post
def run(request: HttpRequest, key: str) -> HttpResponse:
    study_head_or_404(key, request.user, "analyse")
    start_check(key)
    return redirect("corpus", key)


@logged_in_page
def file(request: HttpRequest, key: str, name: str) -> HttpResponse:
    study_head_or_404(key, request.user, "analyse")
    return _file(key, name, key)


@logged_in_page
def draft_page(request: HttpRequest, code: str) -> HttpResponse:
    head = draft_head_or_404(code, request.user)
    context = {"draft": head, **_context(DRAFTS + code, "draft-corpus", code, head["may"])}
    return render(request, "analysis/draft_corpus.html", context)


@logged_in_post
def draft_run(request: HttpRequest, code: str) -> HttpResponse:
    draft_head_or_404(code, request.user, "analyse")
    start_check(DRAFTS + code)
    return redirect("draft-corpus", code)


@logged_in_page
def draft_file(request: HttpRequest, code: str, name: str) -> HttpResponse:
    draft_head_or_404(code, request.user, "analyse")
    return _file(DRAFTS + code, name, "draft")


def _context(subject: str, route: str, name: str, may: frozenset[str]) -> dict[str, Any]:
    state = check_state(subject)
    context: dict[str, Any] = {
        "check": state,
        "run_url": reverse(f"{route}-run", args=[name]),
        "may_run": "analyse" in may,
    }
    if state["state"] == DONE:
        from analysis.corpus.corpus_report import FILES, report_from, report_sections

        context |= {
            "sections": report_sections(report_from(state["report"])),
            "files": [(each, reverse(f"{route}-file", args=[name, each])) for each in FILES],
            "checked_at": datetime.fromisoformat(state["at"]),
        }
    return context


def _file(subject: str, name: str, called: str) -> HttpResponse:
    content = check_file(subject, name)
    if content is None:
        raise Http404("There is no such file. Check the corpus again, then download it.")
    return attachment(content, f"{called}-{name}")
