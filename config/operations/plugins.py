"""The plug-ins of an installation: what they bring, and a system check that names the broken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

from django.core.checks import CheckMessage, Warning, register
from django.template import TemplateSyntaxError
from django.template.loader import get_template

from config.missing_packages import remedy
from listening.common.plugins import Plugin, folders, groups_declared, plugins_of, sources
from listening.common.registry import Registry

BASES = {  # imported where a package brings something to the group
    "earnest.methods": ("listening.methods", "Method"),
    "earnest.checks": ("listening.checks", "Check"),
    "earnest.questions": ("listening.design.questions", "QuestionKind"),
    "earnest.providers": ("listening.design.providers", "Provider"),
    "earnest.metrics": ("metrics.core.metric", "Metric"),
    "earnest.report_parts": ("analysis.report.part", "Part"),
}
REMEDY = "Update, repair or uninstall it, then restart Earnest."


def all_plugins() -> list[tuple[str, Plugin]]:
    """Every plug-in with what it brings, such as "method"."""
    found = []
    for group, (module, name) in BASES.items():
        if declared := [plugin for plugin, _ in sources(group)]:
            registry: Registry[Any] = getattr(import_module(module), name).registry
            try:
                plugins = plugins_of(registry)
            except ModuleNotFoundError as error:  # of a light installation
                why = remedy(error) or str(error)
                plugins = [replace(plugin, error=why) for plugin in declared]
            found += [(registry.what, plugin) for plugin in plugins]
    return found


def unknown_groups() -> list[tuple[str, str]]:
    """Packages with entry points in a group that Earnest does not read, each with the group."""
    return [
        (package, group)
        for group, packages in sorted(groups_declared().items())
        if group not in BASES
        for package in packages
    ]


@register("plugins")
def check_plugins(**_: Any) -> list[CheckMessage]:
    """A warning for each plug-in that is left out; nothing stops."""
    return list(_warnings())


def _warnings() -> Iterator[CheckMessage]:
    for what, plugin in all_plugins():
        if plugin.error:
            text = f"The {what} plug-in of {plugin.origin} is left out: {plugin.error}"
            yield Warning(text, hint=REMEDY, id="earnest.W001")
    for folder in folders("templates").values():
        for file in sorted(folder.glob("widgets/*.html")):
            try:
                get_template(f"widgets/{file.name}")
            except TemplateSyntaxError as error:
                text = f"The template {file} cannot be read: {error}"
                yield Warning(text, hint="Raters cannot answer on this scale.", id="earnest.W003")
    for package, group in unknown_groups():
        text = f"{package} names the entry point group {group}, which Earnest does not read."
        yield Warning(text, hint=f"Groups are {', '.join(BASES)}.", id="earnest.W002")
