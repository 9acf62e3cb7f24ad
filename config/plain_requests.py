"""Text is checked at the edge: other encodings than UTF-8, and NULs in fields, are refused.

A view need not think of either: what PostgreSQL cannot keep, or Python cannot decode, does not
reach it. Raters' entry pages are left out: there a NUL is taken out of an id, and nobody is sent
away.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, QueryDict

GetResponse = Callable[[HttpRequest], HttpResponse]
UTF_8 = ("utf-8", "utf8", "us-ascii", "ascii")
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
ENTRIES = ("/r/",)


class PlainRequests:
    """Refuses what no page sends: 415 for another encoding, 400 for a NUL."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        charset = (request.content_params or {}).get("charset", "")
        if charset and charset.strip("\"' ").casefold() not in UTF_8:
            said = "This is not in UTF-8. Send it again in UTF-8.\n"
            return _refusal(said, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        if not request.path.startswith(ENTRIES) and self._holds_nul(request):
            said = "A field holds a NUL, which is no text. Take it out, and send it again.\n"
            return _refusal(said, HTTPStatus.BAD_REQUEST)
        return self.get_response(request)

    def _holds_nul(self, request: HttpRequest) -> bool:
        if _with_nul(request.GET):
            return True
        return request.content_type in FORMS and _with_nul(request.POST)


def _with_nul(fields: QueryDict) -> bool:
    return any("\0" in text for name, texts in fields.lists() for text in (name, *texts))


def _refusal(said: str, status: HTTPStatus) -> HttpResponse:
    return HttpResponse(said, status=status, content_type="text/plain; charset=utf-8")
