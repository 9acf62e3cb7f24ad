"""Lines over x, one per group with its own sign, dashes and colour; a band where there is one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from analysis.report.content import Figure
from analysis.report.figures import scene
from analysis.report.figures.axis import (
    Axis,
    axis_of,
    decimals_for,
    frame,
    known,
    left_of_plot,
    legend,
    upright_bar,
)
from analysis.report.figures.palette import dash

_HEIGHT = 260
_MOST_SIGNS = 40  # of a line; above it has none


@dataclass(frozen=True)
class Place:
    """One place of a line; y and the band are None where there is no value."""

    x: float
    name: str
    y: float | None
    low: float | None
    high: float | None


def lines(figure: Figure, sheet: scene.Sheet) -> scene.Scene:
    """The drawing; x may be numbers, or names that stand in the order of their first rows."""
    names = _names(figure.rows)
    series = _series(figure.rows, names)
    every = [place for places in series.values() for place in places]
    if not any(place.y is not None for place in every):
        return sheet.nothing()
    groups = list(series)
    head, top = legend(sheet, groups, line_sample, 14) if groups != [""] else ([], 10.0)
    bottom = top + 26 + _HEIGHT
    edges = [edge for place in every for edge in (place.y, place.low, place.high)]
    up = axis_of([*edges, *figure.at], bottom - 12, top + 38, figure.ends)
    left, right = left_of_plot(sheet, up), sheet.right
    across = (
        Axis([float(n) for n in range(max(len(names), 2))], left + 14, right - 14)
        if names
        else axis_of((place.x for place in every), left + 12, right - 12)
    )
    marks = [*head, *frame(sheet, across, up, (figure.x, figure.y), figure.at, names)]
    for number, (group, places) in enumerate(series.items()):
        drawn = [*_draw_series(places, number, across, up)]
        marks.append(scene.Group(drawn, "", number, group or figure.title))
    decimals = decimals_for(edges)
    words = (
        f"{group + ', ' if group else ''}{place.name}: {place.y:.{decimals}f}"
        for group, places in series.items()
        for place in places
        if place.y is not None
    )
    return sheet.scene(marks, bottom + 50, words, f"{figure.y} by {figure.x}")


def _names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names on x where x is not a number everywhere."""
    if all(known(row.get("x")) is not None for row in rows):
        return []
    return list(dict.fromkeys(str(row.get("x") or "") for row in rows))


def _series(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, list[Place]]:
    series: dict[str, list[Place]] = {}
    for row in rows:
        x = float(names.index(str(row.get("x") or ""))) if names else float(row["x"])
        name = names[int(x)] if names else f"{x:g}"
        place = Place(x, name, *(known(row.get(key)) for key in ("y", "low", "high")))
        series.setdefault(str(row.get("group") or ""), []).append(place)
    return {group: sorted(places, key=lambda p: p.x) for group, places in series.items()}


def _draw_series(
    places: Sequence[Place], number: int, across: Axis, up: Axis
) -> Iterator[scene.Mark]:
    for run in _runs(places, ("low", "high")):
        if len(run) > 1:
            there = [f"{across.place(p.x):g} {up.place(p.high or 0.0):g}" for p in run]
            back = [f"{across.place(p.x):g} {up.place(p.low or 0.0):g}" for p in reversed(run)]
            yield scene.Path(f"M{'L'.join(there + back)}Z", "plot-band", fill=0.13)
    signed = len(places) <= _MOST_SIGNS
    for run in _runs(places, ("y",)):
        points = [(across.place(p.x), up.place(p.y or 0.0)) for p in run]
        if len(points) > 1:
            path = "L".join(f"{x:g} {y:g}" for x, y in points)
            yield scene.Path(f"M{path}", "plot-path", 2, dash(number))
        if not signed and len(run) > 1:
            continue
        for (x, y), place in zip(points, run, strict=True):
            yield from upright_bar(x, up, place.low, place.high, 1)
            yield scene.Sign(number, x, y)


def _runs(places: Sequence[Place], keys: tuple[str, ...]) -> Iterator[list[Place]]:
    """Stretches without a gap."""
    for whole, run in groupby(places, lambda p: all(getattr(p, key) is not None for key in keys)):
        if whole:
            yield list(run)


def line_sample(number: int, x: float, y: float) -> scene.Group:
    """The sample of a line in a legend."""
    line = scene.Path(f"M{x:g} {y:g}H{x + 28:g}", width=2, dashes=dash(number))
    return scene.Group([line, scene.Sign(number, x + 14, y)], series=number)
