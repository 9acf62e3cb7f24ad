"""The page of a review of vocalisations: judges and people against what people settled on."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from listening.common.signals import acted
from listening.common.spreadsheets import safe_cell
from listening.common.views import logged_in_get, logged_in_page
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


@logged_in_page
def page(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    study = study_head_or_404(key, request.user)
    events = _events(key, pk)
    known, tolerance = settled_truths(events["clips"]), events["tolerance"]
    predicted, targets = _attributes(key, PREDICTED), _attributes(key, TARGET)
    judges = [
        mark_agreement(name, known, heard, tolerance)
        for name, heard in [*_judges(known), *([(PREDICTED, predicted)] if predicted else [])]
    ]
    systems = system_agreement(known, targets, tolerance) if events["unblinded"] else []
    context = {
        "study": study,
        "review": {"pk": pk, **events},
        "settled": len(known),
        "adjudicated": sum(clip["third"] for clip in events["clips"]),
        "tables": [
            ("Judge models", "Judge", [each for each in judges if each.clips]),
            ("Reviewers", "Reviewer", reviewer_agreement(events["clips"], tolerance)),
            ("Systems", "System", systems),
        ],
    }
    return render(request, "metrics/events.html", context)


@logged_in_get
def export(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    """All marks, for other programs."""
    study = study_head_or_404(key, request.user, "analyse")
    events = _events(key, pk)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{key}-vocalisations-{pk}.csv"'
    writer = csv.DictWriter(response, HEAD, restval="")
    writer.writeheader()
    writer.writerows(csv_rows(events["clips"]))
    acted.send(
        MetricScore,
        study_id=study["pk"],
        by=request.user.get_username(),
        what="exported",
        details={"file": "vocalisations", "review": events["title"]},
    )
    return response


def _events(key: str, pk: int) -> MarkedEvents:
    events = marked_events(key, pk)
    if events is None:
        raise Http404("This study has no such vocalisation review.")
    return events


def _attributes(key: str, name: str) -> dict[str, Marks]:
    """What an attribute of each clip says, where it can be read."""
    read = {
        row["stimulus"]: parse_marks(material.attribute(name), material.language)
        for row, material in study_stimuli(key)
    }
    return {stimulus: events for stimulus, events in read.items() if events is not None}


def _judges(known: Mapping[str, Truth]) -> list[tuple[str, dict[str, Marks]]]:
    """What each judge model, with its version and parameters, marked in these clips."""
    clips: dict[str, list[str]] = defaultdict(list)
    for each in known.values():
        clips[each.sha256].append(each.stimulus)
    rows = MetricScore.objects.filter(metric=JUDGE, sha256__in=clips, failed=False)
    marks_by_judge: dict[str, dict[str, Marks]] = defaultdict(dict)
    for row in rows.order_by("computed_at"):
        if "predicted" not in row.details:
            continue
        heard = tuple(Vocalisation(*each) for each in row.details["predicted"])
        for stimulus in clips[row.sha256]:
            marks_by_judge[_name(row)][stimulus] = heard
    return sorted(marks_by_judge.items())


def _name(row: Any) -> str:
    model = row.provenance.get("model") or row.provenance.get("judge") or ""
    words = [JUDGE, f"version {row.version}", str(model)]
    if row.parameters:
        words.append(canonical_json(row.parameters))
    return " ".join(filter(None, words))


Marks = Sequence[Vocalisation]
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
class MarkAgreement:
    """Somebody's marks against the settled ones, over the clips of which both are known."""

    who: str
    clips: int
    agreement: Controllability


def vocalisations(events: Iterable[Any]) -> tuple[Vocalisation, ...]:
    return tuple(Vocalisation(each.type, each.position) for each in events)


def settled_truths(clips: Iterable[Mapping[str, Any]]) -> dict[str, Truth]:
    """Return the settled clips by stimulus, as far as their audio is unchanged."""
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


def mark_agreement(
    who: str, known: Mapping[str, Truth], marks: Mapping[str, Marks], tolerance: int
) -> MarkAgreement:
    """Precision, recall, F1 and distance of marks; the settled ones are the target."""
    both = [name for name in known if name in marks]
    agreement = controllability(
        compare(known[name].events, marks[name], known[name].length, tolerance) for name in both
    )
    return MarkAgreement(who, len(both), agreement)


def reviewer_agreement(clips: Sequence[Mapping[str, Any]], tolerance: int) -> list[MarkAgreement]:
    """Each person against what all settled on; their own marks are part of that."""
    known = settled_truths(clips)
    marks_by_reviewer: dict[int, dict[str, Marks]] = defaultdict(dict)
    for clip in clips:
        for number, events in clip["by"].items():
            marks_by_reviewer[number][clip["stimulus"]] = vocalisations(events)
    return [
        mark_agreement(f"Reviewer {number}", known, marks, tolerance)
        for number, marks in sorted(marks_by_reviewer.items())
    ]


def system_agreement(
    known: Mapping[str, Truth], targets: Mapping[str, Marks], tolerance: int
) -> list[MarkAgreement]:
    """How well vocalisations came as asked for, by system, as people heard them."""
    names_by_condition: dict[str, list[str]] = defaultdict(list)
    for name, each in known.items():
        if name in targets:
            names_by_condition[each.condition].append(name)
    return [
        MarkAgreement(
            condition,
            len(names),
            controllability(
                compare(targets[name], known[name].events, known[name].length, tolerance)
                for name in names
            ),
        )
        for condition, names in sorted(names_by_condition.items())
    ]


def parse_marks(text: str, language: str) -> Marks | None:
    """None where nobody said anything, or it cannot be read."""
    try:
        return parse(text, language) if text and language else None
    except VocalisationError:
        return None


def csv_rows(clips: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    """One row for each vocalisation, settled or of a person; one without a type for none heard."""
    for clip in clips:
        clip_columns = {
            "stimulus": safe_cell(clip["stimulus"]),
            "units": len(texts.units(clip["text"], clip["language"])),
            "language": clip["language"],
            "sha256": clip["sha256"],
        }
        marks = {f"Reviewer {number}": events for number, events in sorted(clip["by"].items())}
        if clip["settled"] is not None:
            marks = {"adjudicated" if clip["third"] else "majority": clip["settled"], **marks}
        for marker, events in marks.items():
            if not events:
                yield {**clip_columns, "marker": marker}
            for event in events:
                from_s, to_s = event.seconds or ("", "")
                place = "" if event.position is None else event.position
                yield {
                    **clip_columns,
                    "marker": marker,
                    "type": event.type,
                    "position": place,
                    "from_s": from_s,
                    "to_s": to_s,
                }
