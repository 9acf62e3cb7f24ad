"""Whether a metric describes itself as pages, reports and other code read it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection
from typing import TYPE_CHECKING

from metrics.core import published_models

if TYPE_CHECKING:
    from metrics.core.metric import Metric

ATTRIBUTE = "attributes."


def description_problems(cls: type[Metric], fields: Collection[str]) -> list[str]:
    """What a metric says wrongly of itself, in words; empty when all is well.

    ``fields`` are those of `metrics.core.metric.Material`, which a metric may need.
    """
    wrong = []
    for name, least in (("version", 1), ("description", 20), ("source", 10)):
        if not isinstance(text := getattr(cls, name), str) or len(text) < least:
            wrong.append(f"{name} must be a text of {least} characters or more, is {text!r}")
    if not isinstance(cls.sample_rate_hz, int) or cls.sample_rate_hz <= 0:
        wrong.append(f"sample_rate_hz must be a whole number above 0, is {cls.sample_rate_hz!r}")
    if cls.higher_is_better not in (True, False, None):
        wrong.append("higher_is_better must be True, False or None")
    columns = {*fields} - {"attributes"}
    if unknown := [n for n in cls.needs if n not in columns and not n.startswith(ATTRIBUTE)]:
        wrong.append(
            f"needs {', '.join(unknown)}: use {', '.join(sorted(columns))} or attributes.NAME"
        )
    return wrong + _parameter_problems(cls)


def _parameter_problems(cls: type[Metric]) -> list[str]:
    """Whether defaults serve for every parameter, and come back from JSON as they were."""
    if not dataclasses.is_dataclass(cls.parameters_type):
        return ["parameters_type must be a frozen dataclass"]
    try:
        metric = cls()
        again = cls(**json.loads(json.dumps(metric.parameters_dict())))
    except Exception as error:
        return [f"cannot be made with its default parameters ({type(error).__name__}: {error})"]
    wrong = [] if again.parameters == metric.parameters else ["parameters differ after JSON"]
    return wrong + [each for model in metric.models() for each in published_models.problems(model)]
