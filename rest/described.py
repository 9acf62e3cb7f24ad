"""How a view's method stands in the schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema

from rest.problems import TYPE
from rest.shapes import ProblemShape

USUAL = (401, 403, 429)
BODY = (400, 415, 422)


def described(
    summary: str,
    answer: Any,
    *,
    status: int = 200,
    request: Any = None,
    parameters: Any = None,
    problems: tuple[int, ...] = (404, 409, 422, 503),
    **more: Any,
) -> Callable[[Any], Any]:
    """The summary, what is sent and answered, and the problems that may come instead."""
    statuses = sorted({*USUAL, *problems, *(BODY if request is not None else ())})
    responses: dict[Any, Any] = {
        (code, TYPE): OpenApiResponse(ProblemShape, "A problem") for code in statuses
    }
    if isinstance(answer, dict):
        responses |= answer
    else:
        responses[status] = answer
    return extend_schema(
        summary=summary, request=request, responses=responses, parameters=parameters, **more
    )
