"""The page of a review of vocalisations: judges and people against what people settled on."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from listening.common.signals import acted
from listening.selectors import MarkedEvents, marked_events, study_head_or_404
from metrics.core.metric import canonical_json
from metrics.core.vocalisations import TARGET, Vocalisation
from metrics.models import MetricScore
from metrics.scoring.study_material import study_stimuli
from metrics.web import marked_events as marks
from metrics.web.marked_events import Against, Found, Truth

JUDGE = "judge_nvv"  # the metric whose details hold what a judge model marked
PREDICTED = "nvv_predicted"  # the attribute of what somebody else's program marked


@never_cache
@login_required
@require_GET
def page(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    study = study_head_or_404(key, request.user)
    found = _events(key, pk)
    known, tolerance = marks.truths(found["clips"]), found["tolerance"]
    predicted, asked = _attributes(key, PREDICTED), _attributes(key, TARGET)
    judges = [
        marks.against(name, known, heard, tolerance)
        for name, heard in [*_judges(known), *([(PREDICTED, predicted)] if predicted else [])]
    ]
    context = {
        "study": study,
        "review": {"pk": pk, **found},
        "settled": len(known),
        "adjudicated": sum(clip["third"] for clip in found["clips"]),
        "tables": [
            ("Judge models", "Judge", [each for each in judges if each.clips]),
            ("People", "Person", marks.people(found["clips"], tolerance)),
            ("Systems", "System", _systems(known, asked, found)),
        ],
    }
    return render(request, "metrics/events.html", context)


@login_required
@require_GET
def export(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """All marks, for other programs."""
    study = study_head_or_404(key, request.user, "analyse")
    found = _events(key, pk)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{key}-vocalisations-{pk}.csv"'
    writer = csv.DictWriter(response, marks.HEAD, restval="")
    writer.writeheader()
    writer.writerows(marks.csv_rows(found["clips"]))
    acted.send(
        MetricScore,
        study_id=study["pk"],
        by=request.user.get_username(),
        what="exported",
        details={"file": "vocalisations", "review": found["title"]},
    )
    return response


def _events(key: str, pk: int) -> MarkedEvents:
    found = marked_events(key, pk)
    if found is None:
        raise Http404("There is no such review of vocalisations in this study.")
    return found


def _systems(
    known: Mapping[str, Truth], asked: Mapping[str, Found], found: MarkedEvents
) -> list[Against]:
    return marks.systems(known, asked, found["tolerance"]) if found["unblinded"] else []


def _attributes(key: str, name: str) -> dict[str, Found]:
    """What an attribute of each clip says, where it can be read."""
    read = {
        row["stimulus"]: marks.parsed(material.attribute(name), material.language)
        for row, material in study_stimuli(key)
    }
    return {stimulus: events for stimulus, events in read.items() if events is not None}


def _judges(known: Mapping[str, Truth]) -> list[tuple[str, dict[str, Found]]]:
    """What each judge model, with its version and parameters, marked in these clips."""
    clips: dict[str, list[str]] = defaultdict(list)
    for each in known.values():
        clips[each.sha256].append(each.stimulus)
    rows = MetricScore.objects.filter(metric=JUDGE, sha256__in=clips, failed=False)
    found: dict[str, dict[str, Found]] = defaultdict(dict)
    for row in rows.order_by("computed_at"):
        if "predicted" not in row.details:
            continue
        heard = tuple(Vocalisation(*each) for each in row.details["predicted"])
        for stimulus in clips[row.sha256]:
            found[_name(row)][stimulus] = heard
    return sorted(found.items())


def _name(row: Any) -> str:
    model = row.provenance.get("model") or row.provenance.get("judge") or ""
    words = [JUDGE, f"version {row.version}", str(model)]
    if row.parameters:
        words.append(canonical_json(row.parameters))
    return " ".join(filter(None, words))
