"""manage.py list_metrics: every metric with its version, parameters and source."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from listening.common import plugins
from metrics.core.metric import Metric, needed_columns

DIRECTIONS = {True: "higher is better", False: "lower is better", None: "no direction"}


class Command(BaseCommand):
    help = "List every metric with its version, direction, default parameters and source."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        for metric in Metric.registry.values():
            self.stdout.write(describe_metric(metric()))
        for plugin in plugins.broken_plugins(Metric.registry):
            self.stdout.write(f"left out: {plugin.origin}: {plugin.error}")


def describe_metric(metric: Metric) -> str:
    """A metric in a few lines of text."""
    settings = ", ".join(f"{name}={value}" for name, value in metric.parameters_dict().items())
    more = ", ".join(output.key for output in metric.more_outputs)
    when_named = "only when it is named" + (f": {metric.costs}" if metric.costs else "")
    origin = plugins.origin_of(type(metric))
    return "\n".join(
        [
            f"{metric.key} (version {metric.version}, {DIRECTIONS[metric.higher_is_better]})",
            f"    {metric.description}",
            *([f"    from: {origin}"] if origin else []),
            *([f"    also gives: {more}"] if more else []),
            *([f"    needs: {needed_columns(metric.needs)}"] if metric.needs else []),
            *([f"    runs {when_named}"] if metric.asked_only else []),
            f"    parameters: {settings or 'none'}; audio at {metric.sample_rate_hz} Hz",
            f"    source: {metric.source}",
        ]
    )
