"""The page Ratings of a study: every one, filtered and sorted, each with its clip to be heard."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from listening.access.rights import ANALYSE, study_for
from listening.selectors.rating_table import read_ratings, shown_ratings


@login_required
@require_GET
@never_cache
def page(request: HttpRequest, key: str) -> HttpResponse:
    study = study_for(request.user, key, ANALYSE)
    shown = read_ratings(study, request.GET)
    context = {
        "study": study,
        "shown": shown,
        "page": shown.page,
        "rows": shown_ratings(study, shown),
    }
    return render(request, "researcher/ratings.html", context)
