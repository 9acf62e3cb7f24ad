"""Responses that a browser saves as files."""

from __future__ import annotations

from django.http import HttpResponse

CSV = "text/csv; charset=utf-8"


def attachment(content: str | bytes, kind: str, name: str) -> HttpResponse:
    """Return content of a media type as a file with this name."""
    header = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(content, content_type=kind, headers=header)
