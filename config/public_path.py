"""The path below which Earnest is reached, such as /earnest of https://uni.example.org/earnest.

All routes lie below it (`config/urls.py`), so that links are right in every process and thread. A
proxy may pass the path on or take it away.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from django.conf import settings


def below(path: str) -> str:
    """The rest of a request's path, such as /r/abc/ of /earnest/r/abc/."""
    prefix: str = settings.EARNEST_PATH
    return path.removeprefix(prefix) if is_below(path) else path


def is_below(path: str) -> bool:
    prefix: str = settings.EARNEST_PATH
    return path == prefix or path.startswith(f"{prefix}/")


def restore(scope: MutableMapping[str, Any]) -> None:
    """Adds the path to a request whose proxy took it away."""
    if settings.EARNEST_PATH and "path" in scope and not is_below(scope["path"]):
        scope["path"] = settings.EARNEST_PATH + scope["path"]
