"""The page of a review of vocalisations: judges and people against what people settled on."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from listening.common.signals import acted
from listening.selectors import MarkedEvents, marked_events, study_head_or_404
from metrics.core import texts
from metrics.core.metric import canonical_json
from metrics.core.vocalisations import (
    TARGET,
    Controllability,
    Vocalisation,
    VocalisationError,
    compare,
    controllability,
    parse,
)
from metrics.models import MetricScore
from metrics.scoring.study_material import study_stimuli

JUDGE = "judge_nvv"  # the metric whose details hold what a judge model marked
PREDICTED = "nvv_predicted"  # the attribute of what somebody else's program marked


@never_cache
@login_required
@require_GET
def page(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    study = study_head_or_404(key, request.user)
    found = _events(key, pk)
    known, tolerance = truths(found["clips"]), found["tolerance"]
    predicted, asked = _attributes(key, PREDICTED), _attributes(key, TARGET)
    judges = [
        against(name, known, heard, tolerance)
        for name, heard in [*_judges(known), *([(PREDICTED, predicted)] if predicted else [])]
    ]
    context = {
        "study": study,
        "review": {"pk": pk, **found},
        "settled": len(known),
        "adjudicated": sum(clip["third"] for clip in found["clips"]),
        "tables": [
            ("Judge models", "Judge", [each for each in judges if each.clips]),
            ("Reviewers", "Reviewer", people(found["clips"], tolerance)),
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
    writer = csv.DictWriter(response, HEAD, restval="")
    writer.writeheader()
    writer.writerows(csv_rows(found["clips"]))
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
        raise Http404("This study has no such vocalisation review.")
    return found


def _systems(
    known: Mapping[str, Truth], asked: Mapping[str, Found], found: MarkedEvents
) -> list[Against]:
    return systems(known, asked, found["tolerance"]) if found["unblinded"] else []


def _attributes(key: str, name: str) -> dict[str, Found]:
    """What an attribute of each clip says, where it can be read."""
    read = {
        row["stimulus"]: parsed(material.attribute(name), material.language)
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


Found = Sequence[Vocalisation]
HEAD = (
    *("stimulus", "marker", "type", "position", "from_s", "to_s"),
    *("units", "language", "sha256"),
)


@dataclass(frozen=True)
class Truth:
    """A clip with what people settled on, and how many words (characters) it has."""

    stimulus: str
    sha256: str
    condition: str
    length: int
    events: tuple[Vocalisation, ...]


@dataclass(frozen=True)
class Against:
    """Somebody's marks against the settled ones, over the clips of which both are known."""

    who: str
    clips: int
    found: Controllability


def vocalisations(events: Iterable[Any]) -> tuple[Vocalisation, ...]:
    return tuple(Vocalisation(each.type, each.position) for each in events)


def truths(clips: Iterable[Mapping[str, Any]]) -> dict[str, Truth]:
    """By stimulus: the clips that are settled, and whose sound is the same still."""
    return {
        clip["stimulus"]: Truth(
            clip["stimulus"],
            clip["sha256"],
            clip["condition"],
            len(texts.units(clip["text"], clip["language"])),
            vocalisations(clip["settled"]),
        )
        for clip in clips
        if clip["settled"] is not None and clip["there"]
    }


def against(
    who: str, known: Mapping[str, Truth], marks: Mapping[str, Found], tolerance: int
) -> Against:
    """Precision, recall, F1 and distance of marks; a settled vocalisation is what was asked for."""
    both = [name for name in known if name in marks]
    found = controllability(
        compare(known[name].events, marks[name], known[name].length, tolerance) for name in both
    )
    return Against(who, len(both), found)


def people(clips: Sequence[Mapping[str, Any]], tolerance: int) -> list[Against]:
    """Each person against what all settled on; their own marks are part of that."""
    known = truths(clips)
    by: dict[int, dict[str, Found]] = defaultdict(dict)
    for clip in clips:
        for number, events in clip["by"].items():
            by[number][clip["stimulus"]] = vocalisations(events)
    return [
        against(f"Reviewer {number}", known, marks, tolerance)
        for number, marks in sorted(by.items())
    ]


def systems(
    known: Mapping[str, Truth], asked: Mapping[str, Found], tolerance: int
) -> list[Against]:
    """How well vocalisations came as asked for, by system, as people heard them."""
    by: dict[str, list[str]] = defaultdict(list)
    for name, each in known.items():
        if name in asked:
            by[each.condition].append(name)
    return [
        Against(
            condition,
            len(names),
            controllability(
                compare(asked[name], known[name].events, known[name].length, tolerance)
                for name in names
            ),
        )
        for condition, names in sorted(by.items())
    ]


def parsed(text: str, language: str) -> Found | None:
    """None where nobody said anything, or it cannot be read."""
    try:
        return parse(text, language) if text and language else None
    except VocalisationError:
        return None


def csv_rows(clips: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    """One row for each vocalisation, settled or of a person; one without a type for none heard."""
    for clip in clips:
        about = {
            "stimulus": clip["stimulus"],
            "units": len(texts.units(clip["text"], clip["language"])),
            "language": clip["language"],
            "sha256": clip["sha256"],
        }
        marks = {f"Reviewer {number}": events for number, events in sorted(clip["by"].items())}
        if clip["settled"] is not None:
            marks = {"adjudicated" if clip["third"] else "majority": clip["settled"], **marks}
        for marker, events in marks.items():
            if not events:
                yield {**about, "marker": marker}
            for event in events:
                from_s, to_s = event.seconds or ("", "")
                place = "" if event.position is None else event.position
                yield {
                    **about,
                    "marker": marker,
                    "type": event.type,
                    "position": place,
                    "from_s": from_s,
                    "to_s": to_s,
                }
