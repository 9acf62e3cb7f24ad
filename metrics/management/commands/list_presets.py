"""manage.py list_presets: the lists of metrics that come with Earnest."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from metrics.scoring.presets import Choice, Preset, shipped_presets


class Command(BaseCommand):
    help = "List the presets that --preset takes, with their metrics and judges."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        for preset in shipped_presets().values():
            self.stdout.write(describe_preset(preset))


def describe_preset(preset: Preset) -> str:
    """A preset in a few lines of text."""
    lines = [f"{preset.name}: {preset.description}"]
    lines += [f"    {choice_text(choice)}" for choice in preset.metrics]
    lines += [f"    {choice_text(choice)} (with --judges)" for choice in preset.judges]
    return "\n".join(lines)


def choice_text(choice: Choice) -> str:
    """A metric with the parameters that its preset sets."""
    settings = ", ".join(f"{name}={value}" for name, value in choice.parameters.items())
    return f"{choice.metric} with {settings}" if settings else choice.metric
