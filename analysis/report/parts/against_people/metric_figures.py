"""Scatter plots of metrics and people: conditions with intervals on both axes, and stimuli."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.ratings.estimands import name_of
from analysis.report.content import Figure
from analysis.report.parts.against_people.metric_data import Gathered
from analysis.report.parts.against_people.metric_tables import (
    NAMES,
    CeilingsFor,
    ordered,
    point_rows,
    top_of,
)
from analysis.statistics.metric_agreement import CONDITION, STIMULUS
from analysis.statistics.metric_agreement.metric_correlations import AS_IS

MOST_OF_CONDITIONS, MOST_OF_STIMULI = 2, 1  # metrics that are drawn; tables have all
MOST_POINTS = 600
MOST_GROUPS = 8


def figures(of: Gathered, level: float, ceilings: CeilingsFor, suffix: str) -> Iterator[Figure]:
    """The metrics that follow people most closely, per condition and per stimulus."""
    names = ordered(of)
    human = name_of(of.units.estimand)
    if len(of.units.conditions) > 1:
        for place, metric in enumerate(names[:MOST_OF_CONDITIONS], start=1):
            yield _of_conditions(
                of, metric, level, human, f"{suffix}_{place}", len(names), ceilings
            )
    for place, metric in enumerate(names[:MOST_OF_STIMULI], start=1):
        yield _of_stimuli(of, metric, human, f"{suffix}_{place}", ceilings)


def _of_conditions(
    of: Gathered,
    metric: str,
    level: float,
    human: str,
    suffix: str,
    among: int,
    ceilings: CeilingsFor,
) -> Figure:
    keys = ("x", "y", "x_low", "x_high")
    rows = [
        {"name": row["condition"], **{key: row[key] for key in keys}}
        | {"low": row["y_low"], "high": row["y_high"]}
        for row in point_rows(of, metric, level)
    ]
    left = among - MOST_OF_CONDITIONS
    more = f" {left} more metrics are in the table of means." if left > 0 else ""
    note = (
        f"{level * 100:g} % intervals: of the metric over clips, of people over raters and items."
    )
    return Figure(
        key=f"conditions{suffix}",
        title=f"{of.called(metric)} and people, per condition",
        drawing="scatter",
        rows=rows,
        x=f"{of.called(metric)}, mean" + (" difference" if of.units.compared else ""),
        y=human,
        note=f"{_told(of, metric, CONDITION, ceilings)}{note}{more}",
        about=of.title,
    )


def _of_stimuli(
    of: Gathered, metric: str, human: str, suffix: str, ceilings: CeilingsFor
) -> Figure:
    units, values = of.units, of.values[metric]
    held = np.flatnonzero(np.isfinite(values))
    left = len(held) - MOST_POINTS
    if left > 0:
        held = held[np.unique(np.linspace(0, len(held) - 1, MOST_POINTS).round().astype(int))]
    grouped = 1 < len(units.conditions) <= MOST_GROUPS
    names = units.names()
    rows: list[dict[str, Any]] = []
    for s in sorted(held.tolist(), key=lambda s: int(units.condition[s])):
        row: dict[str, Any] = {"title": names[s], "x": float(values[s]), "y": float(units.human[s])}
        if grouped:
            row["group"] = units.conditions[units.condition[s]]
        rows.append(row)
    drawn = f" {MOST_POINTS} of {MOST_POINTS + left} are drawn." if left > 0 else ""
    return Figure(
        key=f"stimuli{suffix}",
        title=f"{of.called(metric)} and people, per {of.what}",
        drawing="scatter",
        rows=rows,
        x=of.called(metric) + (", difference" if units.compared else ""),
        y=f"{human}, mean of the {of.what}",
        note=f"{_told(of, metric, STIMULUS, ceilings)}Every point is a {of.what}.{drawn}",
        about=of.title,
    )


def _told(of: Gathered, metric: str, unit: str, ceilings: CeilingsFor) -> str:
    """The coefficients, each beside what a perfect metric could reach."""
    told = []
    for name in ("srcc", "plcc"):
        number = of.number(metric, unit, name, AS_IS)
        if number is None or number.value is None:
            return ""
        top = top_of(ceilings(metric), unit, name)["ceiling"]
        reach = "ceiling not known" if top is None else f"ceiling {top:.2f}"
        told.append(f"{NAMES[name]} {number.value:.2f} ({reach})")
    return f"{', '.join(told)}. ".replace("-", "−")
