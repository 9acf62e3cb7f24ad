"""What is raised becomes a problem (RFC 9457): what is wrong, where, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.http import Http404, HttpResponse, JsonResponse
from kombu.exceptions import OperationalError
from rest_framework import exceptions

from analysis.formatting import counted
from analysis.statistics.options import OptionsError
from listening.access.projects import ProjectError
from listening.design.studyfile import Problem, StudyProblems
from listening.notifications.channels import ChannelError
from listening.selectors.ratings import FeedNotReady
from listening.studies import StudyError
from metrics.core.metric import ParameterError
from metrics.scoring.clip_warnings import NoSuchWarning
from metrics.scoring.presets import PresetError
from metrics.scoring.study_material import NoStimuli

TYPE = "application/problem+json"
TITLES = {
    400: "Bad request",
    401: "No valid token",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    406: "Format not available",
    409: "Conflict",
    413: "Too large",
    415: "Unsupported content type",
    422: "Invalid request",
    429: "Too many requests",
    503: "Temporarily unavailable",
}
CONFLICTS = (StudyError, ProjectError, ChannelError)
WRONG = (OptionsError, PresetError, ParameterError, NoStimuli, NoSuchWarning)
QUEUE = "The job queue is not reachable. Try again in a minute."


def problem(
    status: int, detail: str, mistakes: list[dict[str, Any]] | None = None, **more: Any
) -> HttpResponse:
    body = {"type": "about:blank", "title": TITLES[status], "status": status, "detail": detail}
    details = {"mistakes": mistakes} if mistakes else {}
    ascii_too = {"ensure_ascii": False}
    response = JsonResponse(body | details | more, status=status, json_dumps_params=ascii_too)
    response["Content-Type"] = TYPE
    return response


def mistake_of(each: Problem) -> dict[str, Any]:
    """A mistake of a study folder, as pages and commands list it."""
    return {
        "file": each.file,
        "row": each.row,
        "field": each.place,
        "what": each.what,
        "remedy": each.remedy,
    }


def response_to(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """What is told of an exception; None for what nobody has foreseen."""
    for kind, respond in TOLD.items():
        if isinstance(error, kind):
            return respond(error)
    if isinstance(error, exceptions.APIException):
        return _of_framework(error, context)
    return None


def _of_folder(error: StudyProblems) -> HttpResponse:
    mistakes = [mistake_of(each) for each in error.problems]
    many = counted(len(mistakes), "mistake")
    return problem(422, f"The study has {many}; nothing was stored.", mistakes)


def _of_fields(error: exceptions.ValidationError) -> HttpResponse:
    listed = list(_fields(error.detail))
    return problem(422, " ".join(_sentence(each) for each in listed), listed)


def _later(detail: str, wait_s: int) -> HttpResponse:
    response = problem(503, detail)
    response["Retry-After"] = str(wait_s)
    return response


def _of_framework(error: exceptions.APIException, context: dict[str, Any]) -> HttpResponse:
    response = problem(error.status_code, _words(error, context))
    if isinstance(error, exceptions.AuthenticationFailed | exceptions.NotAuthenticated):
        view = context["view"]
        response["WWW-Authenticate"] = view.get_authenticate_header(context["request"])
    if isinstance(error, exceptions.Throttled):
        response["Retry-After"] = str(max(1, math.ceil(getattr(error, "wait", None) or 1)))
    if isinstance(error, exceptions.MethodNotAllowed):
        response["Allow"] = ", ".join(context["view"].allowed_methods)
    return response


def _words(error: exceptions.APIException, context: dict[str, Any]) -> str:
    """What is wrong, and what would be right."""
    view = context["view"]
    if isinstance(error, exceptions.MethodNotAllowed):
        return f"{error.detail} Allowed methods: {', '.join(view.allowed_methods)}."
    if isinstance(error, exceptions.UnsupportedMediaType):
        kinds = " or ".join(parser.media_type for parser in view.parser_classes)
        return f"{error.detail} Send it with Content-Type: {kinds}."
    if isinstance(error, exceptions.Throttled):
        return "This token sent too many requests. Wait for the number of seconds in Retry-After."
    return str(error.detail)


def _fields(detail: Any, where: str = "") -> Iterator[dict[str, Any]]:
    """Each mistake with the name of its field."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            path = where if name == "non_field_errors" else f"{where}.{name}".lstrip(".")
            yield from _fields(inner, path)
    elif isinstance(detail, list):
        for inner in detail:
            yield from _fields(inner, where)
    else:
        yield {"field": where, "what": str(detail)}


def _sentence(mistake: dict[str, Any]) -> str:
    return f"{mistake['field']}: {mistake['what']}" if mistake["field"] else mistake["what"]


def _of_nothing(error: Http404) -> HttpResponse:
    """Django's own words name a class of ours."""
    words = str(error)
    usual = not words or words.endswith("matches the given query.")
    return problem(404, "This address does not exist." if usual else words)


def _plain(status: int, usual: str = "") -> Callable[[Any], HttpResponse]:
    return lambda error: problem(status, str(error) or usual)


TOLD: dict[type[Exception] | tuple[type[Exception], ...], Callable[[Any], HttpResponse]] = {
    StudyProblems: _of_folder,
    exceptions.ValidationError: _of_fields,
    Http404: _of_nothing,
    PermissionDenied: _plain(403, "You do not have this permission."),
    RequestDataTooBig: lambda _: problem(
        413, "The request body is too large. Upload it in pieces."
    ),
    FeedNotReady: lambda error: _later(str(error), 1),
    OperationalError: lambda _: _later(QUEUE, 60),
    CONFLICTS: _plain(409),
    WRONG: _plain(422),
}
