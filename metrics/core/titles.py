"""What pages and reports call a metric's outputs: the one place for it. Files keep the keys."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from metrics.core.metric import Metric, Output, make_metric, outputs


def title_of(metric: Metric, output: Output) -> str:
    """The output's title; with other than the default parameters, title (name value, name value).

    An output without a title is called by its key. Of a path its last part stands for it.
    """
    told = ", ".join(
        f"{name.replace('_', ' ')} {_shorten_path(value)}"
        for name, value in changed_parameters(metric).items()
    )
    title = output.title or output.key
    return f"{title} ({told})" if told else title


def title_of_key(key: str) -> str:
    """What an output is called, by its key; one that there is no longer by its key."""
    kind = outputs().get(key)
    said = next((each for each in kind.outputs() if each.key == key), None) if kind else None
    return (said.title if said else "") or key


def pooled_words(metric: str, name: str) -> str:
    """A pooled number of a metric in words: "pooled words" of wer_pooled_words."""
    return name.removeprefix(f"{metric}_").replace("_", " ")


def changed_parameters(metric: Metric) -> dict[str, Any]:
    """The parameters that differ from the metric's defaults, by name."""
    usual = make_metric(metric.key).parameters_dict()
    values = metric.parameters_dict()
    return {name: values[name] for name in sorted(values) if values[name] != usual.get(name)}


def _shorten_path(value: Any) -> str:
    text = str(value)
    return PurePath(text).name or text if text.startswith(("/", "./", "../", "~")) else text
