"""Who may call a view, and by which method: one decorator for what most pages have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.contrib.auth.decorators import login_required
from django.http import HttpResponseBase
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

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
