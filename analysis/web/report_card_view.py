"""The report card of a study's method: a page, and the same as Markdown, LaTeX and JSON."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from analysis.web.views import shown_run
from listening.selectors import method_facts, study_head_or_404

KINDS = {
    "md": "text/markdown; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
    "json": "application/json",
}


@login_required
@require_GET
@never_cache
def page(request: HttpRequest, key: str) -> HttpResponse:
    """The card as it stands now, with the counts of the newest analysis or of ``?run=``."""
    from analysis.report.report_card import report_card

    head = study_head_or_404(key, request.user)
    run = shown_run(key, request.GET.get("run", ""))
    card = report_card(run.page_report() if run else None, method_facts(key))
    context: dict[str, Any] = {"study": head, "card": card, "shown": run, "kinds": list(KINDS)}
    return render(request, "analysis/report_card.html", context)


@login_required
@require_GET
@never_cache
def file(request: HttpRequest, key: str, kind: str) -> HttpResponse:
    """The same card as a file."""
    from analysis.report.writers.report_card import STEM, card_files

    study_head_or_404(key, request.user)
    run = shown_run(key, request.GET.get("run", ""))
    files = card_files(run.page_report() if run else None, method_facts(key))
    response = HttpResponse(files[f"{STEM}.{kind}"], content_type=KINDS[kind])
    response["Content-Disposition"] = f'attachment; filename="{key}-{STEM}.{kind}"'
    return response
