"""Isolation, paragraph, context and dialogue conditions, derived from one manifest of lines."""

from listening.design.settings.derive import Derived, Skipped, derive
from listening.design.settings.manifest import Mistake
from listening.design.settings.names import BadName, Form, form_named
from listening.design.settings.recipe import Line, Recipe

__all__ = [
    "BadName",
    "Derived",
    "Form",
    "Line",
    "Mistake",
    "Recipe",
    "Skipped",
    "derive",
    "form_named",
]
