"""What responses get on their way out: headers, compression, and no place in caches."""

from __future__ import annotations

from collections.abc import Callable

from csp.utils import build_policy
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from listening.common.asgi import Message, Send

# A listening test needs none of these, and no script may ask for them.
UNUSED = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"


def every_answers() -> dict[bytes, bytes]:
    headers = {
        "x-content-type-options": "nosniff",
        "referrer-policy": settings.SECURE_REFERRER_POLICY,
        "x-frame-options": settings.X_FRAME_OPTIONS,
        "cross-origin-opener-policy": settings.SECURE_CROSS_ORIGIN_OPENER_POLICY,
        "content-security-policy": str(build_policy()),
        "permissions-policy": UNUSED,
    }
    if settings.SECURE:
        below = "; includeSubDomains" if settings.SECURE_HSTS_INCLUDE_SUBDOMAINS else ""
        headers["strict-transport-security"] = f"max-age={settings.SECURE_HSTS_SECONDS}{below}"
    return {name.encode(): value.encode() for name, value in headers.items()}


class WithHeaders:
    """Adds what an answer does not say itself."""

    def __init__(self, send: Send, added: dict[bytes, bytes]) -> None:
        self.send, self.added = send, added

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            names = {name.lower() for name, _ in headers}
            missing = [pair for pair in self.added.items() if pair[0] not in names]
            message = {**message, "headers": [*headers, *missing]}
        await self.send(message)


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


PRIVATE = "private, no-store"


class PrivatePages:
    """Middleware after authentication: pages and files of who is logged in are kept nowhere."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if not response.has_header("Cache-Control") and request.user.is_authenticated:
            response["Cache-Control"] = PRIVATE
        return response
