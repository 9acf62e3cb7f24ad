"""Dates of pages: `{{ moment|utc }}` names the time zone, which is UTC on every page."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.template import Library
from django.template.defaultfilters import date as formatted

register = Library()
MINUTE = "Y-m-d H:i"


@register.filter(expects_localtime=True)
def utc(value: date | None, form: str = MINUTE) -> str:
    """A moment or day with its time zone; nothing where there is none."""
    written = utc_cell(value, form)
    return f"{written} UTC" if written else ""


@register.filter(expects_localtime=True)
def utc_cell(value: date | None, form: str = MINUTE) -> Any:
    """The same in a column whose heading says UTC."""
    return formatted(value, form)
