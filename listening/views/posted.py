"""What forms send, read alike by all pages."""

from __future__ import annotations

from django.http import HttpRequest


def number_in(request: HttpRequest, name: str) -> int:
    """A field's whole number; 0 where it holds none, as no row is numbered."""
    text = request.POST.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else 0
