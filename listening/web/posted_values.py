"""What forms send, read alike by all pages."""

from __future__ import annotations

from django.http import HttpRequest


def number_in(request: HttpRequest, name: str) -> int:
    """A field's whole number; 0 where it holds none, as no row is numbered."""
    return whole_number(request.POST.get(name, ""))


def whole_number(text: str, default: int = 0) -> int:
    """A whole number of up to nine digits; more fit no column, and thousands no integer."""
    return int(text) if text.isdecimal() and len(text) < 10 else default
