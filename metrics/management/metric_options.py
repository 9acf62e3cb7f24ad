"""The options that the scoring commands share: which metrics, parameters and device."""

from __future__ import annotations

from argparse import ArgumentTypeError, BooleanOptionalAction
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.core.management.base import CommandError, CommandParser

from listening.common.command_name import command
from listening.common.plain_json import JsonError, read_json
from metrics.core.metric import Metric, ParameterError, make_metric
from metrics.core.precision import PRECISIONS, Arithmetic
from metrics.scoring import presets, runs
from metrics.scoring.arithmetic import plan_arithmetic
from metrics.scoring.presets import DEFAULT_PRESET, Choice, PresetError


def add_metric_options(parser: CommandParser) -> None:
    """Add the options: which metrics, with which parameters, on what, in what numbers."""
    parser.add_argument("--preset", help=f"Named list of metrics (default {DEFAULT_PRESET}).")
    parser.add_argument(
        "--config", metavar="FILE.yaml", help="File with a list of metrics of your own."
    )
    parser.add_argument("--metrics", default="", help="Metric keys, separated by commas.")
    parser.add_argument(
        "--judges", action="store_true", help="Include the judges of the preset; they cost money."
    )
    parser.add_argument(
        "--parameters",
        default="{}",
        help='Parameters as JSON by metric, such as \'{"srmr": {"variant": "slow_norm128"}}\'.',
    )
    parser.add_argument(
        "--device", default="auto", help="Device: auto, cpu, cuda, or one GPU, such as cuda:1."
    )
    parser.add_argument(
        "--metric-by-metric",
        action="store_true",
        help="Keep one model in memory at a time; every clip is decoded once per metric.",
    )
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        help=(
            "Number format of networks, where a metric allows it (default float32, or the "
            "setting EARNEST_METRIC_PRECISION). Scores of each are kept separate."
        ),
    )
    parser.add_argument(
        "--compile",
        action=BooleanOptionalAction,
        help="Compile networks first, where a metric allows it; saves time over many clips.",
    )
    parser.add_argument("--threads", type=thread_count, default=1, help="CPU threads (default 1).")


def thread_count(text: str) -> int:
    """A number of threads from the command line."""
    if not (text.isdecimal() and 1 <= int(text) <= 1024):
        raise ArgumentTypeError(f"{text!r} is no number of threads; give 1 or more")
    return int(text)


def chosen(options: Mapping[str, Any]) -> list[Metric]:
    """The metrics that the options name, each once; without a name, those of the preset fast."""
    try:
        return presets.make_metrics(chosen_choices(options))
    except (ParameterError, PresetError, TypeError) as error:
        raise CommandError(f"{error} (see {command('list_metrics')})") from error


def arithmetic_from_options(options: Mapping[str, Any]) -> Arithmetic:
    """What --precision and --compile say, and the settings where they say nothing."""
    usual = runs.usual_arithmetic()
    wanted, compiles = options["precision"], options["compile"]
    return Arithmetic(wanted or usual.precision, usual.compile if compiles is None else compiles)


def apply_precision_options(
    metrics: Sequence[Metric], options: Mapping[str, Any], device: str, say: Callable[[str], object]
) -> list[Metric]:
    """Return the metrics with the requested precision; ``say`` gets a line for what is refused."""
    planned, notes = plan_arithmetic(metrics, arithmetic_from_options(options), device)
    for note in notes:
        say(note)
    return planned


def chosen_choices(options: Mapping[str, Any]) -> list[Choice]:
    """What --preset, --config and --metrics name together; --parameters fill in and correct."""
    parameters = chosen_parameters(options)
    choices = [Choice(key.strip()) for key in options["metrics"].split(",") if key.strip()]
    lists = [presets.read_preset(options["config"])] if options.get("config") else []
    if options.get("preset") or not (choices or lists):
        lists.append(presets.preset(options.get("preset") or DEFAULT_PRESET))
    choices += [choice for each in lists for choice in each.choices(bool(options.get("judges")))]
    for key in {*parameters, *(choice.metric for choice in choices)}:
        make_metric(key, parameters.get(key))
    return [
        Choice(choice.metric, {**choice.parameters, **parameters.get(choice.metric, {})})
        for choice in choices
    ]


def chosen_parameters(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The value of --parameters as metric -> name -> value."""
    wanted = "--parameters must be a JSON object of objects, one per metric"
    try:
        parameters = read_json(options["parameters"])
    except JsonError as error:
        raise CommandError(f"{wanted}; {error}") from error
    if not isinstance(parameters, dict) or not all(
        isinstance(v, dict) for v in parameters.values()
    ):
        raise CommandError(wanted)
    return parameters
