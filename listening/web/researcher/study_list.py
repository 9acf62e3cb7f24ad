"""The list of studies: searched, filtered and paged in the database."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from listening.access.rights import projects_of, visible_drafts, visible_studies
from listening.common.cached_counts import Patience
from listening.common.views import logged_in_get
from listening.models import Study
from listening.selectors.study_overview import Overview, overviews
from listening.studies.naming import FILTERS, filtered, tags_of
from listening.web.researcher.study_page import SPARK_BARS, TimePlot, time_plot

STUDIES_PER_PAGE = 50
NEWEST_DRAFTS = 5  # above the studies; the page of a new study lists more


def home(request: HttpRequest) -> HttpResponse:
    return redirect("studies" if request.user.is_authenticated else "login")


def draft_list(user: Any, most: int) -> dict[str, Any]:
    """Up to `most` drafts that a user may open, the ones changed last first."""
    drafts = visible_drafts(user)
    return {
        "drafts": drafts.select_related("owner", "project")[:most],
        "more_drafts": max(drafts.count() - most, 0),
    }


@logged_in_get
def studies(request: HttpRequest) -> HttpResponse:
    visible = visible_studies(request.user)
    query = {name: request.GET.get(name, "").strip()[:200] for name in FILTERS}
    matching = filtered(visible, query)
    page = Paginator(matching.select_related("owner", "project"), STUDIES_PER_PAGE).get_page(
        request.GET.get("page")
    )
    rows = overviews(page, Patience())
    context = {
        "rows": [(row, _plot(row)) for row in rows],
        "uncounted": sum(not row.has_counts for row in rows),
        "page": page,
        "asked": query,
        "narrowed": any(query[name] for name in ("q", "state", "tag", "project")),
        "states": Study.State.choices,
        "tags": tags_of(visible),
        "projects": projects_of(request.user),
        "archived": visible.filter(archived_at__isnull=False).count(),
        "any": visible.exists(),
        "query": urlencode({name: value for name, value in query.items() if value}),
    }
    if page.number == 1 and not context["query"]:
        context |= draft_list(request.user, NEWEST_DRAFTS)
    return render(request, "researcher/studies.html", context)


def _plot(row: Overview) -> TimePlot | None:
    return time_plot(row.hours, row.study.closed_at or timezone.now(), most=SPARK_BARS)
