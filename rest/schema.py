"""The schema of the API (OpenAPI 3), made once in each process, and what is outside of it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer

from rest.problems import problem
from rest.routes import api

LONGEST_ADDRESS = 100  # of what is repeated in an answer


@cache
def schema() -> dict[str, Any]:
    """All paths, parameters and shapes, as plain values."""
    generator = SchemaGenerator(patterns=api)  # type: ignore[no-untyped-call]
    generated: dict[str, Any] = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    plain: dict[str, Any] = json.loads(json.dumps(generated, default=str))
    shapes = plain["components"]["schemas"]
    bodies = [
        operation["requestBody"]
        for methods in plain["paths"].values()
        for operation in methods.values()
        if "requestBody" in operation
    ]
    for name in _referenced_shapes(
        bodies, shapes
    ):  # what has no place is refused: `rest.payloads.StrictSerializer`
        shapes[name]["additionalProperties"] = False
    return plain


def _referenced_shapes(part: Any, shapes: dict[str, Any]) -> set[str]:
    """The shapes that a part of the schema refers to, and those that they are made of."""
    if isinstance(part, list):
        return set().union(*(_referenced_shapes(each, shapes) for each in part))
    if not isinstance(part, dict):
        return set()
    name = str(part.get("$ref", "")).rpartition("/")[2]
    inner = _referenced_shapes(list(part.values()), shapes)
    return inner | ({name} | _referenced_shapes(shapes[name], shapes) if name else set())


def as_json(request: HttpRequest) -> HttpResponse:
    return HttpResponse(json.dumps(schema(), ensure_ascii=False), content_type="application/json")


def as_yaml(request: HttpRequest) -> HttpResponse:
    renderer = OpenApiYamlRenderer()
    text = renderer.render(schema(), renderer_context={})  # type: ignore[no-untyped-call]
    return HttpResponse(text, content_type="application/yaml")


@csrf_exempt
def unknown(request: HttpRequest, rest: str = "") -> HttpResponse:
    address = rest[:LONGEST_ADDRESS]
    return problem(
        404,
        f"There is nothing at “{address}”. See /api/v1/openapi.json for valid addresses.",
    )
