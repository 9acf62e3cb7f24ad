"""What most views have in common: who may call them, by which method, and files to save."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, HttpResponseBase
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

CSV = "text/csv; charset=utf-8"
View = TypeVar("View", bound=Callable[..., HttpResponseBase])


def logged_in_get(view: View) -> View:
    """Answer GET, and only users who are logged in; others come to the login page."""
    return login_required(require_GET(view))


def logged_in_page(view: View) -> View:
    """Answer as `logged_in_get`, and have no browser or proxy keep the answer."""
    return never_cache(logged_in_get(view))


def logged_in_post(view: View) -> View:
    """Answer POST, and only users who are logged in; others come to the login page."""
    return login_required(require_POST(view))


def attachment(content: str | bytes, name: str, content_type: str = CSV) -> HttpResponse:
    """Return a file that browsers save under this name."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(content, content_type=content_type, headers=headers)
