"""How wide the intervals of a draft would be: a piece of its sidebar, by the planning code."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from listening.selectors import DraftPlan, draft_plans


@never_cache
@login_required
@require_GET
def precision(request: HttpRequest, code: str) -> HttpResponse:
    rows = [_row(plan) for plan in draft_plans(code, request.user)]
    return render(request, "analysis/_draft_precision.html", {"rows": rows})


def _row(plan: DraftPlan) -> dict[str, Any]:
    """The half width of a mean and of a difference, or why there is none."""
    from analysis.formatting import number
    from analysis.ratings.estimands import estimand_of
    from analysis.statistics.planning import PlanningError
    from analysis.statistics.planning.precision import (
        DIFFERENCE,
        MEAN,
        half_width,
        shared_level,
    )
    from analysis.statistics.planning.study_design import design_of
    from analysis.statistics.planning.variance_components import assumed

    estimand = estimand_of(plan["estimand"])
    row: dict[str, Any] = {"title": plan["title"], "name": estimand.name}
    low, high = plan["low"], plan["high"]
    if low is None or high is None:
        return row | {"problem": "its answers have no numbers"}
    try:
        components = assumed(estimand.key, low, high, plan["answers"])
        design = design_of(
            plan["ratings_per_clip"],
            items=plan["items"],
            conditions=max(plan["conditions"], 1),
            clips_per_rater=max(plan["clips_per_rater"], 1),
        )
        row["mean"] = number(half_width(design, components, of=MEAN), decimals=estimand.decimals)
        if plan["conditions"] > 1 and not estimand.in_pairs:
            pairs = plan["conditions"] * (plan["conditions"] - 1) // 2
            level = shared_level(0.95, pairs)
            both = half_width(design, components, of=DIFFERENCE, level=level)
            row["difference"] = number(both, decimals=estimand.decimals)
    except PlanningError as error:
        return row | {"problem": str(error)}
    return row | {"source": components.source, "items": plan["items"]}
