"""The JSON Schema of study.toml at an address, for editors that complete the file."""

from __future__ import annotations

import hashlib
import json
from functools import cache

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import condition, require_safe

MAX_AGE_S = 3600


@cache
def _text() -> str:
    from listening.design.studyfile.schema import json_schema  # pydantic takes 0.2 s to load

    return json.dumps(json_schema(), ensure_ascii=False)


def _etag(request: HttpRequest) -> str:
    return f'"{hashlib.sha256(_text().encode()).hexdigest()[:16]}"'


@require_safe
@cache_control(public=True, max_age=MAX_AGE_S)
@condition(etag_func=_etag)
def study_schema(request: HttpRequest) -> HttpResponse:
    """For everybody: it says what a study may hold, and of no study what it holds."""
    response = HttpResponse(_text(), content_type="application/schema+json")
    response["Access-Control-Allow-Origin"] = "*"  # editors in a browser read it, too
    return response
