"""What a log-in shows stays out of every cache, also when a view says nothing of it."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

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
