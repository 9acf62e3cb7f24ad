"""Jinja2 templates of a report's page, in the folder `templates` beside this module."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from analysis.formatting import whole_number


def render(template: str, **values: Any) -> Markup:
    """The template ``NAME.html`` with these values, escaped unless they are `Markup`."""
    return Markup(_environment().get_template(f"{template}.html").render(values))


def join(texts: Any) -> Markup:
    """Pieces of HTML as one; plain text among them is escaped."""
    return Markup("").join(texts)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = whole_number
    return environment
