"""Requests before Django's views: the path below which Earnest lies, and text that is refused.

All routes lie below a path such as /earnest of https://uni.example.org/earnest (`config/urls.py`),
so that links are right in every process and thread. A proxy may pass the path on or take it away.

Other encodings than UTF-8, and NULs in fields, are refused. A view need not think of either: what
PostgreSQL cannot keep, or Python cannot decode, does not reach it. Raters' entry pages are left
out: there a NUL is taken out of an id, and nobody is sent away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.http import parse_header_parameters


def without_prefix(path: str) -> str:
    """The rest of a request's path, such as /r/abc/ of /earnest/r/abc/."""
    prefix: str = settings.EARNEST_PATH
    return path.removeprefix(prefix) if has_prefix(path) else path


def has_prefix(path: str) -> bool:
    prefix: str = settings.EARNEST_PATH
    return path == prefix or path.startswith(f"{prefix}/")


def restore_prefix(scope: MutableMapping[str, Any]) -> None:
    """Adds the path to a request whose proxy took it away."""
    if settings.EARNEST_PATH and "path" in scope and not has_prefix(scope["path"]):
        scope["path"] = settings.EARNEST_PATH + scope["path"]


GetResponse = Callable[[HttpRequest], HttpResponse]
UTF_8 = ("utf-8", "utf8", "us-ascii", "ascii")
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
ENTRIES = ("/r/",)
PLAIN_TEXT = "text/plain; charset=utf-8"
OTHER_ENCODING = "This is not in UTF-8. Send it again in UTF-8.\n"
UNSUPPORTED = HTTPStatus.UNSUPPORTED_MEDIA_TYPE


def is_in_utf_8(content_type: str) -> bool:
    """Whether a body of this type is, by the type's own word, in the encoding that we read."""
    charset = parse_header_parameters(content_type)[1].get("charset", "")
    return not charset or charset.strip("\"' ").casefold() in UTF_8


def utf_8_only(pages: WSGIApplication) -> WSGIApplication:
    """Answer 415 to other encodings before Django sees them.

    It decodes the query with the body's encoding while it makes the request, which no middleware
    can catch: `charset=hex` is a LookupError there.
    """

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if is_in_utf_8(environ.get("CONTENT_TYPE", "")):
            return pages(environ, start_response)
        body = OTHER_ENCODING.encode()
        headers = [("Content-Type", PLAIN_TEXT), ("Content-Length", str(len(body)))]
        start_response(f"{UNSUPPORTED.value} {UNSUPPORTED.phrase}", headers)
        return [body]

    return answer


class PlainRequests:
    """Refuses what no page sends: 415 for another encoding, 400 for a NUL."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not is_in_utf_8(request.META.get("CONTENT_TYPE", "")):
            return _refusal(OTHER_ENCODING, UNSUPPORTED)
        if not request.path.startswith(ENTRIES) and self._holds_nul(request):
            explanation = "A field holds a NUL, which is no text. Take it out, and send it again.\n"
            return _refusal(explanation, HTTPStatus.BAD_REQUEST)
        return self.get_response(request)

    def _holds_nul(self, request: HttpRequest) -> bool:
        if _with_nul(request.GET):
            return True
        return request.content_type in FORMS and _with_nul(request.POST)


def _with_nul(fields: QueryDict) -> bool:
    return any("\0" in text for name, texts in fields.lists() for text in (name, *texts))


def _refusal(explanation: str, status: HTTPStatus) -> HttpResponse:
    return HttpResponse(explanation, status=status, content_type=PLAIN_TEXT)
