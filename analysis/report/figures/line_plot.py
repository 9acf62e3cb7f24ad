"""Lines over x, one per group with its own sign, dashes and colour; a band where there is one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.report.content import Figure
from analysis.report.figures.axis import Axis, axis_of, decimals_for, known
from analysis.report.figures.frame import LEFT_OF_PLOT, frame, legend
from analysis.report.figures.palette import dash, series_class
from analysis.report.figures.svg import RIGHT, Canvas, clean, nothing, sign, spoken, stroke

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


def lines(figure: Figure) -> Canvas:
    """The drawing; x may be numbers, or names that stand in the order of their first rows."""
    names, series = series_of(figure)
    every = [place for places in series.values() for place in places]
    if not any(place.y is not None for place in every):
        return nothing()
    groups = list(series)
    head, top = legend(groups, _sample, 14) if groups != [""] else ([], 10.0)
    across = (
        Axis([float(n) for n in range(max(len(names), 2))], LEFT_OF_PLOT + 14, RIGHT - 14)
        if names
        else axis_of((place.x for place in every), LEFT_OF_PLOT + 12, RIGHT - 12)
    )
    bottom = top + 26 + _HEIGHT
    edges = [edge for place in every for edge in (place.y, place.low, place.high)]
    up = axis_of([*edges, *figure.at], bottom - 12, top + 38, figure.ends)
    body = [*head, *frame(across, up, figure.x, figure.y, figure.at, names)]
    for number, (group, places) in enumerate(series.items()):
        body.append(f'<g class="{series_class(number)}"><title>{clean(group or figure.title)}')
        body.append("</title>" + "".join(_drawn(places, number, across, up)) + "</g>")
    decimals = decimals_for(edges)
    told = (
        f"{group + ', ' if group else ''}{place.name}: {place.y:.{decimals}f}"
        for group, places in series.items()
        for place in places
        if place.y is not None
    )
    return Canvas(body, bottom + 50, spoken(told, f"{figure.y} by {figure.x}"))


def series_of(figure: Figure) -> tuple[list[str], dict[str, list[Place]]]:
    """The names on x (none where x are numbers), and each group's places from left to right."""
    names = _names(figure.rows)
    return names, _series(figure.rows, names)


def _names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names on x where x is not a number everywhere."""
    if all(known(row.get("x")) is not None for row in rows):
        return []
    return list(dict.fromkeys(str(row.get("x") or "") for row in rows))


def _series(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = {}
    for row in rows:
        x = float(names.index(str(row.get("x") or ""))) if names else float(row["x"])
        name = names[int(x)] if names else f"{x:g}"
        place = Place(x, name, *(known(row.get(key)) for key in ("y", "low", "high")))
        found.setdefault(str(row.get("group") or ""), []).append(place)
    return {group: sorted(places, key=lambda p: p.x) for group, places in found.items()}


def _drawn(places: Sequence[Place], number: int, across: Axis, up: Axis) -> Iterator[str]:
    for run in _runs(places, ("low", "high")):
        if len(run) > 1:
            there = [f"{across.place(p.x):g} {up.place(p.high or 0.0):g}" for p in run]
            back = [f"{across.place(p.x):g} {up.place(p.low or 0.0):g}" for p in reversed(run)]
            yield (
                f'<path class="plot-band" d="M{"L".join(there + back)}Z" fill="currentColor"'
                ' fill-opacity="0.13"/>'
            )
    signed = len(places) <= _MOST_SIGNS
    for run in _runs(places, ("y",)):
        points = [(across.place(p.x), up.place(p.y or 0.0)) for p in run]
        if len(points) > 1:
            path = "L".join(f"{x:g} {y:g}" for x, y in points)
            yield stroke(f"M{path}", "plot-path", 2, dash(number))
        for (x, y), place in zip(points, run, strict=True):
            alone = len(run) == 1
            if (signed or alone) and place.low is not None and place.high is not None:
                low, high = up.place(place.low), up.place(place.high)
                yield stroke(f"M{x:g} {low:g}V{high:g}", "plot-bar", 1)
            if signed or alone:
                yield sign(number, x, y)


def _runs(places: Sequence[Place], keys: tuple[str, ...]) -> Iterator[list[Place]]:
    """Stretches without a gap."""
    run: list[Place] = []
    for place in places:
        if any(getattr(place, key) is None for key in keys):
            if run:
                yield run
            run = []
        else:
            run.append(place)
    if run:
        yield run


def _sample(number: int, x: float, y: float) -> str:
    return stroke(f"M{x:g} {y:g}H{x + 28:g}", "", 2, dash(number)) + sign(number, x + 14, y)
