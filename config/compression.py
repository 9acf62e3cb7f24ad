"""Pages leave compressed: raters on slow links wait for every byte of them."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class PageCompression(GZipMiddleware):
    """Compresses HTML only: answers in JSON are small, and clips never come this way.

    Each page has its token masked anew, and each compressed answer has a length of its own, so
    that lengths tell nothing about secrets (BREACH).
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        if not response.headers.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)
