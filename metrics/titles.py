"""What pages and reports call a metric's outputs: the one place for it. Files keep the keys."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from metrics.metric import Metric, Output, make_metric


def title_of(metric: Metric, output: Output) -> str:
    """The output's title; with other than the default parameters, title (name value, name value).

    An output without a title is called by its key. Of a path its last part stands for it.
    """
    told = ", ".join(
        f"{name.replace('_', ' ')} {_told(value)}" for name, value in unusual(metric).items()
    )
    title = output.title or output.key
    return f"{title} ({told})" if told else title


def unusual(metric: Metric) -> dict[str, Any]:
    """The parameters that differ from the metric's defaults, by name."""
    usual = make_metric(metric.key).parameters_dict()
    values = metric.parameters_dict()
    return {name: values[name] for name in sorted(values) if values[name] != usual[name]}


def _told(value: Any) -> str:
    text = str(value)
    return PurePath(text).name or text if text.startswith(("/", "./", "../", "~")) else text
