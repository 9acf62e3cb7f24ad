"""The plug-ins of an installation: what they bring, and a system check that names the broken."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from django.core.checks import CheckMessage, Warning, register

from listening.common.plugins import Plugin, groups_declared, plugins_of, sources

BASES = {  # imported where a package brings something to the group
    "earnest.methods": ("listening.methods", "Method"),
    "earnest.checks": ("listening.checks", "Check"),
    "earnest.metrics": ("metrics.core.metric", "Metric"),
    "earnest.report_parts": ("analysis.report.part", "Part"),
}
REMEDY = "Update, repair or uninstall it, then restart Earnest."


def all_plugins() -> list[tuple[str, Plugin]]:
    """Every plug-in with what it brings, such as "method"."""
    bases = (BASES[group] for group in BASES if any(sources(group)))
    registries = [getattr(import_module(module), name).registry for module, name in bases]
    return [(each.what, plugin) for each in registries for plugin in plugins_of(each)]


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
    for package, group in unknown_groups():
        text = f"{package} names the entry point group {group}, which Earnest does not read."
        yield Warning(text, hint=f"Groups are {', '.join(BASES)}.", id="earnest.W002")
