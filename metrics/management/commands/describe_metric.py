"""manage.py describe_metric KEY: one metric with its outputs, parameters and hints."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from listening.common import plugins
from metrics.core.metric import Metric, Output, ParameterError, make_metric, needed_columns, outputs
from metrics.management.commands.list_metrics import DIRECTIONS


class Command(BaseCommand):
    help = (
        "Describe a metric: what it measures, its outputs, ranges, parameters, requirements and "
        "source."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("metric", help="Key of the metric or of one of its outputs.")

    def handle(self, *args: Any, **options: Any) -> None:
        known = outputs()
        key = known[options["metric"]].key if options["metric"] in known else options["metric"]
        try:
            metric = make_metric(key)
        except ParameterError as error:
            raise CommandError(str(error)) from error
        self.stdout.write("\n".join(description_lines(metric)))


def description_lines(metric: Metric) -> Iterator[str]:
    """All that is known about a metric, one line per entry."""
    yield f"{metric.key}, version {metric.version}"
    yield f"  {metric.description}"
    yield f"  called on pages and in reports: {metric.title or metric.key}"
    if origin := plugins.origin_of(type(metric)):
        yield f"  from: {origin}"
    yield f"  source: {metric.source}"
    yield f"  audio: {metric.accepts.words(metric.sample_rate_hz)}"
    yield f"  shares a batch: {metric.sharing.words()}"
    yield f"  computes in: {metric.precisions.words()}"
    yield f"  needs, besides the audio: {needed_columns(metric.needs) or 'nothing'}"
    for model in metric.models():
        yield f"  model: {model.name}, {model.terms}"
    if metric.asked_only:
        yield f"  runs only when it is named{': ' + metric.costs if metric.costs else ''}"
    yield "  outputs:"
    for output in metric.outputs():
        words = f": {output.description}" if output.description and output.key != metric.key else ""
        yield f"    {output.key} ({range_in_words(output)}){words}"
    yield "  parameters:" if metric.parameters_dict() else "  parameters: none"
    for field in dataclasses.fields(metric.parameters):
        yield f"    {field.name} = {metric.parameters_dict()[field.name]!r}"
    for hint in metric.hints():
        yield f"  hint: {hint.output} from {hint.at:g}: {hint.words} ({hint.source})"


def range_in_words(output: Output) -> str:
    """An output's unit, range and direction in words."""
    words = [output.unit] if output.unit else []
    if output.low is not None or output.high is not None:
        low = "-∞" if output.low is None else f"{output.low:g}"
        high = "∞" if output.high is None else f"{output.high:g}"
        words.append(f"{low} to {high}")
    return ", ".join([*words, DIRECTIONS[output.higher_is_better]])
