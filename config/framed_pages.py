"""Pages that another site shows in a frame, as Hugging Face does with a Space."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import render


class OwnWindow:
    """Middleware: in a frame of EARNEST_FRAME_ANCESTORS, show a link that opens a new window.

    Browsers keep cookies from pages in frames of other sites, so nobody could log in or answer
    there. All other pages keep `frame-ancestors 'none'`, and the link is all that can be clicked.
    A page whose view names the sites that frame it stays, such as Mechanical Turk's entry page.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if not settings.EARNEST_FRAME_ANCESTORS or not _is_framed_elsewhere(request):
            return response
        if "frame-ancestors" in getattr(response, "_csp_replace", {}):
            return response
        response.close()
        response = render(request, "framed.html", {"address": settings.EARNEST_PUBLIC_URL})
        sites = {"frame-ancestors": settings.EARNEST_FRAME_ANCESTORS}
        response._csp_replace = sites  # type: ignore[attr-defined]  # read by django-csp
        return response


def _is_framed_elsewhere(request: HttpRequest) -> bool:
    sent = request.headers
    return (
        sent.get("Sec-Fetch-Dest") in ("iframe", "frame")
        and sent.get("Sec-Fetch-Site") == "cross-site"
    )
