"""The reference pages on metrics, commands and Python names, made from the code."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from argparse import SUPPRESS, Action, ArgumentParser
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metrics.core.metric import Metric

PACKAGES = ("listening", "metrics", "analysis", "config")
METRICS_HEAD = """# Metric reference

Inputs, outputs and parameters of each metric, as `manage.py describe_metric KEY` prints them.
[What each metric says and when not to trust it](metrics.md).
"""
COMMANDS_HEAD = """# Command reference

Run commands in Earnest's folder as `.venv/bin/python manage.py COMMAND`. `--help` prints the same.
"""
PYTHON_HEAD = """# Python reference

The public names of `analysis`, and the names of `metrics` that a metric of your own needs.
[Examples that run](python.md).
"""
METRIC_NAMES = {
    "metrics.core.metric": (
        *("Metric", "Output", "Material", "Accepts", "Input", "Sharing"),
        *("Parameters", "ParameterError", "Score", "Take", "undefined"),
    ),
    "metrics.testing": ("check", "Case", "ContractBroken"),
}


def metrics_page() -> str:
    """Return the page that lists every metric with its outputs and parameters."""
    from metrics.core.metric import Metric, make_metric

    lines = [METRICS_HEAD]
    for key in sorted(Metric.registry):
        if Metric.registry[key].__module__.startswith("metrics."):
            lines.extend(_metric(make_metric(key)))
    return "\n".join(lines)


def _metric(metric: Metric) -> Iterator[str]:
    from metrics.core.metric import needed_columns
    from metrics.management.commands.describe_metric import range_in_words

    yield f"## `{metric.key}`\n"
    yield f"{metric.description}. On pages and in reports: {metric.title or metric.key}.\n"
    facts = [
        ("Version", metric.version),
        ("Source", metric.source),
        ("Audio", metric.accepts.words(metric.sample_rate_hz)),
        ("Columns needed", needed_columns(metric.needs) or "none"),
        ("Batches", metric.sharing.words()),
        ("Precision", metric.precisions.words()),
    ]
    for model in metric.models():
        facts.append(("Model", f"[`{model.name}`]({model.origin}), {model.terms}"))
    if metric.asked_only:
        facts.append(("Runs", "only when named" + (f": {metric.costs}" if metric.costs else "")))
    yield from _table(("Property", "Value"), facts)
    outputs = [
        (f"`{each.key}`", range_in_words(each), each.description if each.key != metric.key else "")
        for each in metric.outputs()
    ]
    yield from _table(("Output", "Range", "Meaning"), outputs)
    defaults = metric.parameters_dict()
    parameters = [
        (f"`{field.name}`", f"`{defaults[field.name]!r}`")
        for field in dataclasses.fields(metric.parameters)
    ]
    yield from _table(("Parameter", "Default"), parameters)


def commands_page() -> str:
    """Return the page that lists every command with its arguments."""
    from django.core.management import get_commands, load_command_class

    lines = [COMMANDS_HEAD]
    for name, app in sorted(get_commands().items()):
        module = app if isinstance(app, str) else app.__module__
        if module.partition(".")[0] in PACKAGES:
            parser = load_command_class(module, name).create_parser("manage.py", name)
            lines.extend(_command(name, parser))
    return "\n".join(lines)


def _command(name: str, parser: ArgumentParser) -> Iterator[str]:
    yield f"## `{name}`\n"
    yield f"{_cell(parser.description or '')}\n"
    own = [
        action
        for action in parser._actions
        if action.help != SUPPRESS and not set(action.option_strings) & _everywhere()
    ]
    yield from _table(("Argument", "Meaning"), [(_argument(each), _help(each)) for each in own])


def python_page() -> str:
    """Return the page that lists the public functions and classes with their docstrings."""
    import analysis

    lines = [PYTHON_HEAD, "## analysis\n"]
    for name in dir(analysis):
        lines.extend(_python_name(f"analysis.{name}", getattr(analysis, name)))
    lines.append("## metrics\n")
    for module, names in METRIC_NAMES.items():
        for name in names:
            lines.extend(
                _python_name(f"{module}.{name}", getattr(importlib.import_module(module), name))
            )
    return "\n".join(lines)


def _python_name(name: str, documented: Any) -> Iterator[str]:
    yield f"### `{name}`\n"
    try:
        parameters = list(inspect.signature(documented).parameters.values())
    except ValueError:  # built in C, such as an exception's own constructor
        parameters = []
    shown = ", ".join(
        f"{each.name}={each.default!r}" if _is_plain(each.default) else str(each).partition(":")[0]
        for each in parameters
    )
    yield f"```python\n{name.rpartition('.')[2]}({shown})\n```\n"
    yield f"{(inspect.getdoc(documented) or '').replace('``', '`')}\n"


def _is_plain(default: object) -> bool:
    return isinstance(default, str | int | float | tuple | None) and len(repr(default)) < 60


def _everywhere() -> set[str]:
    """Return the options that every command of Django has."""
    from django.core.management.base import BaseCommand

    parser = BaseCommand().create_parser("manage.py", "any")
    return {option for action in parser._actions for option in action.option_strings}


def _argument(action: Action) -> str:
    names = action.option_strings or [str(action.metavar or action.dest).upper()]
    value = ""
    if action.option_strings and action.nargs != 0:
        value = str(action.metavar or action.dest.upper())
    if action.choices:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    return f"`{' '.join([', '.join(names), value]).strip()}`"


def _help(action: Action) -> str:
    """Return an option's help with its default in place of %(default)s."""
    return (action.help or "") % {
        **{name: value for name, value in vars(action).items() if value is not SUPPRESS},
        "prog": "manage.py",
    }


def _table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if rows:
        head = f"| {' | '.join(titles)} |\n|{' --- |' * len(titles)}"
        yield "\n".join([head, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)]) + "\n"


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")
