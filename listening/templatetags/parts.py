"""Parts of raters' pages that are the same for everybody who reads them in one language."""

import re
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.template import Library
from django.template.loader import render_to_string
from django.utils.formats import get_format
from django.utils.safestring import SafeString
from django.utils.translation import get_language

register = Library()
FRACTION = re.compile(r"[-−]?\d+\.\d+")


@register.simple_tag(takes_context=True)
def part(context: Any, template: str) -> SafeString:
    """As `include`, but made once per language: a template may use nothing but `study_lang`."""
    render = _part.__wrapped__ if settings.DEBUG else _part
    return render(template, get_language() or "", str(context.get("study_lang", "")))


@lru_cache(maxsize=256)
def _part(template: str, _language: str, study_lang: str) -> SafeString:
    return render_to_string(template, {"study_lang": study_lang})


@register.simple_tag
def decimal_separator() -> str:
    """The separator of the page's language: a point or a comma."""
    return str(get_format("DECIMAL_SEPARATOR"))


@register.filter
def numeral(label: str) -> str:
    """A step of a scale, such as 2.5, as the page's language writes it; its value stays."""
    return label.replace(".", decimal_separator()) if FRACTION.fullmatch(label) else label
