"""The forms in which tables leave: which is asked for, and how each is streamed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import NotAcceptable
from rest_framework.request import Request

from listening.common.ages import in_last_s
from listening.models import Study, StudyEvent
from listening.models.study_log import note

JSON, CSV = "application/json", "text/csv"
PARQUET, ARROW = "application/vnd.apache.parquet", "application/vnd.apache.arrow.stream"
ANY = ("*/*", "")
NOTED_EVERY_S = 3600


def FORM(forms: Mapping[str, str]) -> OpenApiParameter:
    """The parameter that chooses one."""
    told = "In place of the header Accept; without both, json."
    return OpenApiParameter("format", str, enum=list(forms), description=told)


def form_of(request: Request, forms: Mapping[str, str]) -> str:
    """The form that `format` or the header Accept asks for: the first, where neither does."""
    if asked := request.query_params.getlist("format"):
        if len(asked) == 1 and asked[0] in forms:
            return asked[0]
        raise NotAcceptable(
            f"There is no form {' and '.join(map(repr, asked))}; one of {', '.join(forms)} is."
        )
    accepted = request.headers.get("Accept", "").split(",")
    for kind in (each.partition(";")[0].strip() for each in accepted):
        if kind in ANY or kind == "application/*":
            return next(iter(forms))
        for name, media in forms.items():
            if kind == media.partition(";")[0]:
                return name
    kinds = ", ".join(media.partition(";")[0] for media in forms.values())
    raise NotAcceptable(f"There is none of what Accept asks for; there are {kinds}.")


def json_array(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """An array, a row on each line."""
    yield "["
    separator = "\n"
    for row in rows:
        yield separator + json.dumps(row, ensure_ascii=False, allow_nan=False, default=str)
        separator = ",\n"
    yield "\n]"


def note_taken(study: Study, by: str, file: str, **more: Any) -> None:
    """For the log of the study; a script that asks every minute is noted once an hour."""
    lately = in_last_s(NOTED_EVERY_S)
    told = StudyEvent.objects.filter(study_id=study.pk, what="exported", at__range=lately, by=by)
    if not told.filter(details__file=file).exists():
        note(study, "exported", by, file=file, **more)
