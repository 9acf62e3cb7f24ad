"""What the screening rules say of one rater: a piece of the page, asked for when unfolded."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from analysis.models import AnalysisRun
from analysis.statistics.screening.rule_text import rule_from, rule_text
from analysis.web.forms import rules_on_offer
from analysis.web.study_tables import study_rules
from listening.common.views import logged_in_page
from listening.selectors import ratings_state, study_head_or_404

MOST_RATINGS = 50_000  # every rule compares a rater with all others: more take too long for a page


@logged_in_page
def box(request: HttpRequest, key: str, rater: str) -> HttpResponse:
    head = study_head_or_404(key, request.user)
    count = ratings_state(key)["ratings"]
    context: dict[str, Any] = {"ratings": count, "most": MOST_RATINGS}
    if count <= MOST_RATINGS:
        context |= _verdicts(head["pk"], key, rater)
    return render(request, "analysis/_rater_rules_box.html", context)


def _verdicts(study: int, key: str, rater: str) -> dict[str, Any]:
    """Each rule that leaves something of the rater out: why, how much, and whether it was used."""
    from analysis.ratings.table import from_study
    from analysis.statistics.screening.screened import screen

    run = AnalysisRun.objects.filter(study=study, state=AnalysisRun.State.DONE).first()
    used = list(run.parameters.get("rules", ())) if run else []
    texts = [*map(rule_text, study_rules(key)), *used, *(text for text, _ in rules_on_offer(key))]
    table = from_study(key)
    screened = screen(table, [rule_from(text) for text in dict.fromkeys(texts)])
    own = ((table["rater"] == rater) & (table["trap"] == "")).to_numpy(dtype=bool)
    rows = []
    for rule, reasons in screened.reasons.items():
        reasons_here = [reason for reason in reasons[own] if reason]
        if reasons_here:
            why = list(dict.fromkeys(map(str, reasons_here)))
            is_used = rule_text(rule) in used
            rows.append({"title": rule.title, "why": why, "n": len(reasons_here), "used": is_used})
    return {"rows": rows, "run": run, "own": int(own.sum())}
