"""The page Corpus: a study's clips and texts checked before they are rated."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from analysis.web.corpus_jobs import DONE, check_file, check_state, start_check
from listening.selectors import stimuli_mark, study_head_or_404


@login_required
@require_GET
@never_cache
def page(request: HttpRequest, key: str) -> HttpResponse:
    head = study_head_or_404(key, request.user)
    state = check_state(key)
    context: dict[str, Any] = {"study": head, "check": state, "clips": len(stimuli_mark(key)[1])}
    if state["state"] == DONE:
        from analysis.corpus.corpus_report import FILES, report_from, report_sections

        report = report_from(state["report"])
        context |= {
            "sections": report_sections(report),
            "files": FILES,
            "checked_at": datetime.fromisoformat(state["at"]),
        }
    return render(request, "analysis/corpus.html", context)


@login_required
@require_POST
def run(request: HttpRequest, key: str) -> HttpResponse:
    study_head_or_404(key, request.user, "analyse")
    start_check(key)
    return redirect("corpus", key)


@login_required
@require_GET
@never_cache
def file(request: HttpRequest, key: str, name: str) -> HttpResponse:
    study_head_or_404(key, request.user, "analyse")
    content = check_file(key, name)
    if content is None:
        raise Http404("There is no such file. Check the corpus again, then download it.")
    response = HttpResponse(content, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{key}-{name}"'
    return response
