"""The clips of a study, heard by its researchers, each with how often every answer was given."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from analysis.formatting import number, percent
from listening.common.views import logged_in_page
from listening.selectors import (
    CLIP_SORTS,
    AskedPlace,
    ClipAnswers,
    ClipPage,
    ClipQuery,
    clip_answers,
    condition_labels,
    criterion_places,
    study_head_or_404,
)

CLIPS_SHOWN = 20


@logged_in_page
def clips(request: HttpRequest, key: str) -> HttpResponse:
    """One page of clips of a task and criterion, maybe of one condition or stimulus."""
    head = study_head_or_404(key, request.user)
    places = criterion_places(key)
    place = _place(places, request)
    filters = {name: _text(request, name) for name in ("condition", "stimulus")}
    number_of = _page_number(request)
    sort = _text(request, "sort") if _text(request, "sort") in CLIP_SORTS else ""
    clip_page = ClipPage(clips=[], total=0, counted_at=None)
    wherever = filters["stimulus"] and not _text(request, "task")  # a clip of any task
    for each in places if wherever else [place]:
        place = each
        query = ClipQuery(key, place["task"], place["criterion"], **filters, sort=sort)
        clip_page = clip_answers(query, CLIPS_SHOWN, (number_of - 1) * CLIPS_SHOWN)
        if clip_page["total"]:
            break
    chosen = {"task": place["task"], "criterion": place["criterion"], **filters, "sort": sort}
    context = {
        "study": head,
        "places": places,
        "place": place,
        "conditions": condition_labels(key).items(),
        **filters,
        "rows": [_clip_row(row) for row in clip_page["clips"]],
        "total": clip_page["total"],
        "counted_at": clip_page["counted_at"],
        "sort": sort,
        "sorts": [(name, words) for name, (words, _) in CLIP_SORTS.items()],
        "page": Paginator(range(clip_page["total"]), CLIPS_SHOWN).get_page(number_of),
        "query": f"{urlencode({k: v for k, v in chosen.items() if v})}&",
    }
    return render(request, "analysis/clips.html", context)


def _place(places: list[AskedPlace], request: HttpRequest) -> AskedPlace:
    """The task and criterion that are asked for, else the first; nothing of a study without any."""
    place_asked = (_text(request, "task"), _text(request, "criterion"))
    if not place_asked[1] and " " in place_asked[0]:  # both from one field of the form
        place_asked = (place_asked[0].split(" ")[0], place_asked[0].split(" ")[1])
    nothing = AskedPlace(task="", criterion="", title="", question="")
    first = places[0] if places else nothing
    return next(
        (each for each in places if (each["task"], each["criterion"]) == place_asked), first
    )


def _text(request: HttpRequest, name: str) -> str:
    return request.GET.get(name, "").replace("\0", "")[:200]


def _page_number(request: HttpRequest) -> int:
    text = request.GET.get("page", "1")
    return max(int(text), 1) if text.isdecimal() and len(text) < 7 else 1


def _clip_row(row: ClipAnswers) -> dict[str, Any]:
    """A clip with its histogram: a bar for each answer, its share of this clip's ratings."""
    bars = [
        {
            "label": label,
            "count": count,
            "share": round(100 * count / row["ratings"], 1),
            "percent": percent(count / row["ratings"]),
        }
        for label, _, count in row["answers"]
    ]
    if row["different"] > len(bars):
        bars = sorted(bars, key=lambda bar: -float(str(bar["count"])))
    return {
        **row,
        "name": row["label"] or row["condition"],
        "mean": number(row["mean"], decimals=2),
        "sd": number(row["sd"], decimals=2),
        "bars": bars,
        "not_shown": row["different"] - len(bars),
    }
