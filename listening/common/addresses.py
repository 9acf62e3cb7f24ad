"""Addresses as raters, researchers and other servers open them."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse


def public(path: str) -> str:
    """The whole address of a path of this server, such as `reverse` gives."""
    own = urlsplit(settings.EARNEST_PUBLIC_URL)
    return f"{own.scheme}://{own.netloc}{path}"


def public_route(route: str, *args: object) -> str:
    """The whole address of a route."""
    return public(reverse(route, args=args))
