"""The types of an ASGI application, and a request's headers as WSGI and Django name them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def header_variables(scope: Scope) -> dict[str, str]:
    """Return the headers of a request, as PEP 3333 names them in a WSGI environment."""
    variables: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        _add_header(variables, raw_name.decode("latin-1"), raw_value.decode("latin-1"))
    return variables


def _add_header(environ: dict[str, str], name: str, value: str) -> None:
    if "_" in name or name in ("content-length", "transfer-encoding"):
        return  # x_y would pass for x-y; the length is the one that was counted
    key = name.upper().replace("-", "_")
    key = key if key == "CONTENT_TYPE" else f"HTTP_{key}"
    if key in environ:
        value = f"{environ[key]}{'; ' if key == 'HTTP_COOKIE' else ','}{value}"
    environ[key] = value
