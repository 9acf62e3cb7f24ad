"""What the metrics of a run compute in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from metrics.core import precision
from metrics.core.metric import Metric
from metrics.core.precision import FLOAT32, Arithmetic


def plan_arithmetic(
    metrics: Sequence[Metric], arithmetic: Arithmetic, device: str = ""
) -> tuple[list[Metric], list[str]]:
    """The metrics as a run computes them, each once, and in a line each what was not to be had.

    A metric whose own parameters say how it computes keeps that. What others do not allow, or the
    device does not have (``device`` empty: it is not known yet), they do in float32.
    """
    notes: list[str] = []
    if device and (reason := precision.unsupported_reason(arithmetic, device)):
        notes.append(f"{reason}: everything runs in float32")
        arithmetic = replace(arithmetic, precision="float32")
    for metric in metrics:
        if device and (reason := precision.unsupported_reason(metric.arithmetic, device)):
            notes.append(f"{metric.key}: {reason}; it runs in float32")
            metric.arithmetic = metric.arithmetic.on(device)
    if device and arithmetic.compile and precision.backend(device) == "aot_eager":
        notes.append("nothing here compiles networks: they are traced (aot_eager), and not quicker")
    refused: dict[str, list[str]] = {}
    for metric in metrics:
        if metric.arithmetic_is_explicit:
            continue
        for part in (Arithmetic(arithmetic.precision), Arithmetic(compile=arithmetic.compile)):
            if reason := metric.precisions.refusal(part):
                refused.setdefault(reason, []).append(metric.key)
            elif part != FLOAT32:
                metric.arithmetic = replace(metric.arithmetic, **part.plain())
    notes += [f"{', '.join(keys)}: {reason}" for reason, keys in refused.items()]
    once = {f"{m.key} {json.dumps(m.parameters_dict(), sort_keys=True)}": m for m in metrics}
    return list(once.values()), notes
