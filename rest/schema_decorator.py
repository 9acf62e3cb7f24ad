"""How a view's method stands in the schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from rest.payloads import ProblemSerializer
from rest.problems import TYPE


class PathNamedSchema(AutoSchema):
    """Operations are called after their path and method."""

    def get_operation_id(self) -> str:
        """Such as get_studies_ratings; of one of a list, without its end: get_studies_one."""
        parts = self.path.removeprefix(f"{settings.EARNEST_PATH}/api/v1/").split("/")
        last = "_one" if parts[-1].startswith("{") else ""
        named = [part for part in parts if not part.startswith("{")]
        return f"{self.method.lower()}_{'_'.join(named)}{last}"


USUAL = (401, 403, 422, 429)  # 422: a parameter that there is none of
BODY = (400, 415)


def describe(
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
        (code, TYPE): OpenApiResponse(ProblemSerializer, "A problem") for code in statuses
    }
    if isinstance(answer, dict):
        responses |= answer
    else:
        responses[status] = answer
    decorate = extend_schema(
        summary=summary, request=request, responses=responses, parameters=parameters, **more
    )

    def describe(method: Any) -> Any:
        done = decorate(method)
        done.query = names_of(parameters or ())  # `ApiView` refuses all others
        return done

    return describe


def names_of(parameters: Iterable[Any]) -> frozenset[str]:
    """The names of parameters of the query, which a shape may list, too."""
    names: set[str] = set()
    for each in parameters:
        if isinstance(each, OpenApiParameter):
            names |= {each.name} if each.location == OpenApiParameter.QUERY else set()
        else:
            names |= set(each().fields)
    return frozenset(names)
