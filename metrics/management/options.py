"""The options that the scoring commands share: which metrics, parameters and device."""

from __future__ import annotations

import json
from argparse import ArgumentTypeError
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError, CommandParser

from metrics.base import ParameterError, make_metric


def add_metric_options(parser: CommandParser) -> None:
    """Add --metrics, --parameters, --device and --threads."""
    parser.add_argument(
        "--metrics", default="", help="Keys with commas between; default: every metric."
    )
    parser.add_argument(
        "--parameters",
        default="{}",
        help='JSON by metric, such as \'{"srmr": {"variant": "slow_norm128"}}\'.',
    )
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--threads", type=thread_count, default=1, help="CPU threads (default 1).")


def thread_count(text: str) -> int:
    """A number of threads from the command line."""
    if not (text.isdecimal() and 1 <= int(text) <= 1024):
        raise ArgumentTypeError(f"{text!r} is no number of threads; give 1 or more")
    return int(text)


def chosen_metrics(options: Mapping[str, Any]) -> list[str]:
    """The metric keys named in --metrics, checked; none when every metric is wanted."""
    keys = [key.strip() for key in options["metrics"].split(",") if key.strip()]
    parameters = chosen_parameters(options)
    try:
        for key in {*keys, *parameters}:
            make_metric(key, parameters.get(key))
    except ParameterError as error:
        raise CommandError(f"{error} (see manage.py list_metrics)") from error
    return keys


def chosen_parameters(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The value of --parameters as metric -> name -> value."""
    wanted = "--parameters must be a JSON object of objects, one per metric"
    try:
        given = json.loads(options["parameters"])
    except json.JSONDecodeError as error:
        raise CommandError(f"{wanted}; {error}") from error
    if not isinstance(given, dict) or not all(isinstance(v, dict) for v in given.values()):
        raise CommandError(wanted)
    return given
