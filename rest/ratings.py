"""A study's ratings, whole or since a cursor, each exactly once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from django.http import FileResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

from analysis.ratings.cells import COLUMNS, csv_lines, in_pieces, json_lines
from listening.access.rights import ANALYSE
from listening.models import Study
from listening.selectors import RatingRow, rating_rows
from listening.selectors.ratings import RatingFeedPage, rating_feed
from rest.base import ApiView
from rest.payloads import RatingsSerializer
from rest.schema_decorator import describe
from rest.table_formats import (
    ARROW,
    CSV,
    FORM,
    JSON,
    PARQUET,
    arrow_stream,
    form_of,
    note_taken,
    parquet_file,
)
from rest.tokens import RATINGS

FORMS = {"json": JSON, "csv": CSV, "parquet": PARQUET, "arrow": ARROW}
MOST, USUAL = 100_000, 10_000
NEXT, MORE = "Earnest-Next", "Earnest-More"
CURSOR = re.compile(r"r(\d{1,18})-(\d{1,18})", re.ASCII)
SINCE = OpenApiParameter(
    "since", str, description="The cursor of the previous response. Default: from the first rating."
)
LIMIT = OpenApiParameter(
    "limit", {"type": "integer", "minimum": 1, "maximum": MOST}, description="Approximate number."
)
HEADERS = [
    OpenApiParameter(name, str, OpenApiParameter.HEADER, response=[200], description=words)
    for name, words in (
        (NEXT, "The cursor for `since`."),
        (MORE, "More ratings follow: true, false."),
    )
]


class Ratings(ApiView):
    scopes = {"GET": RATINGS}

    @describe(
        "Ratings",
        {
            (200, JSON): RatingsSerializer,
            (200, CSV): OpenApiTypes.STR,
            (200, PARQUET): OpenApiTypes.BINARY,
            (200, ARROW): OpenApiTypes.BINARY,
        },
        parameters=[SINCE, LIMIT, FORM(FORMS), *HEADERS],
        problems=(404, 406, 422, 503),
    )
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Return pseudonymous ratings, including traps, in the order of storage.

        Use `since` to get ratings stored after the previous response. Each rating is returned
        exactly once, even while others are being stored. Later changes (such as a rejected
        session) are not returned again. Read all ratings again if you need them.
        """
        study, form = self.study(key, ANALYSE), form_of(request, FORMS)
        feed = rating_feed(study, _after(request, study), _limit(request))
        rows = rating_rows(key, feed.ratings)
        response: HttpResponseBase = WRITTEN[form](rows, feed, study)
        if not feed.is_empty:
            note_taken(study, self.by, f"ratings.{form}")
        response[NEXT], response[MORE] = cursor_of(study, feed), str(feed.more).lower()
        return response


def cursor_of(study: Study, feed: RatingFeedPage) -> str:
    return f"r{study.pk}-{feed.upto}"


def _after(request: Request, study: Study) -> int:
    since = request.query_params.get("since", "")
    if not since:
        return 0
    match = CURSOR.fullmatch(since)
    if match is None or int(match[1]) != study.pk:
        raise ValidationError(
            {"since": "Invalid cursor for this study. Omit it to start from the first rating."}
        )
    return int(match[2])


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", str(USUAL))
    if not (text.isascii() and text.isdecimal() and 0 < int(text[:9]) <= MOST):
        raise ValidationError({"limit": f"The limit must be 1 to {MOST:,} ratings."})
    return int(text)


Rows = Iterator[RatingRow]


def _json(rows: Rows, feed: RatingFeedPage, study: Study) -> StreamingHttpResponse:
    def lines() -> Iterator[str]:
        more = str(feed.more).lower()
        yield f'{{"next": "{cursor_of(study, feed)}", "more": {more}, '
        yield f'"columns": {json.dumps(COLUMNS)}, "ratings": '
        yield from json_lines(rows)
        yield "}\n"

    return StreamingHttpResponse(in_pieces(lines()), content_type=JSON)


def _csv(rows: Rows, feed: RatingFeedPage, study: Study) -> StreamingHttpResponse:
    return StreamingHttpResponse(in_pieces(csv_lines(rows)), content_type=f"{CSV}; charset=utf-8")


def _arrow(rows: Rows, feed: RatingFeedPage, study: Study) -> StreamingHttpResponse:
    return StreamingHttpResponse(arrow_stream(rows), content_type=ARROW)


def _parquet(rows: Rows, feed: RatingFeedPage, study: Study) -> FileResponse:
    name = f"{study.key}-ratings.parquet"
    return FileResponse(parquet_file(rows), content_type=PARQUET, filename=name)


WRITTEN: dict[str, Any] = {"json": _json, "csv": _csv, "arrow": _arrow, "parquet": _parquet}
