"""A radar: axes around a middle, each series a closed line through its values on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import cos, pi, sin
from typing import Any

from analysis.report.content import Figure
from analysis.report.figures import scene
from analysis.report.figures.axis import Axis, axis_of, known, legend, tick_text
from analysis.report.figures.line_plot import line_sample
from analysis.report.figures.palette import dash

LEAST_AXES = 3
_RADIUS = 118  # px, at most
_LETTER = 6.2  # px of one column of text at 12 px
_ROOM = 15  # columns of the longest name beside the circle
Point = tuple[float, float]


def radar(figure: Figure, sheet: scene.Sheet) -> scene.Scene:
    """The drawing; axes stand in the order of their first rows, the first one at the top."""
    names = list(dict.fromkeys(str(row["name"]) for row in figure.rows))
    series: dict[str, dict[str, float]] = {}
    for row in figure.rows:
        value = known(row.get("value"))
        if value is not None:
            series.setdefault(str(row.get("group") or ""), {})[str(row["name"])] = value
    if len(names) < LEAST_AXES or not series:
        return sheet.nothing()
    groups = list(series)
    head, top = legend(sheet, groups, line_sample, 14) if groups != [""] else ([], 10.0)
    name_columns = min(max(map(sheet.columns, names)), _ROOM)
    radius = min((sheet.inner - 2 * name_columns * _LETTER - 16) / 2, _RADIUS)
    middle = (sheet.left + sheet.inner / 2, top + 30 + radius)
    values = [value for held in series.values() for value in held.values()]
    scale = axis_of(values, 0.0, radius, figure.ends)
    marks = [*head, *_ground(sheet, names, scale, middle, radius, name_columns)]
    for number, (group, held) in enumerate(series.items()):
        drawn = [*_line(names, held, number, scale, middle)]
        marks.append(scene.Group(drawn, "", number, group or figure.title))
    decimals = 2 if figure.decimals is None else figure.decimals
    words = (
        f"{group + ', ' if group else ''}{name}: {held[name]:.{decimals}f}"
        for group, held in series.items()
        for name in names
        if name in held
    )
    return sheet.scene(marks, middle[1] + radius + 34, words, "Values by axis")


def _point_at(middle: Point, radius: float, place: int, places: int) -> Point:
    angle = 2 * pi * place / places
    return round(middle[0] + radius * sin(angle), 2), round(middle[1] - radius * cos(angle), 2)


def _closed_path(points: Sequence[Point]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points) + "Z"


def _ground(
    sheet: scene.Sheet,
    names: Sequence[str],
    scale: Axis,
    middle: Point,
    radius: float,
    name_columns: float,
) -> Iterator[scene.Mark]:
    """Rings at the ticks, axes, and the names at their ends."""
    for tick in scale.ticks:
        ring = [_point_at(middle, scale.place(tick), n, len(names)) for n in range(len(names))]
        yield scene.grid(_closed_path(ring))
        y = middle[1] - scale.place(tick) + 4
        yield scene.Text(middle[0] - 4, y, tick_text(tick), "plot-tick", "end", 11)
    for place, name in enumerate(names):
        x, y = _point_at(middle, radius, place, len(names))
        yield scene.grid(f"M{middle[0]:g} {middle[1]:g}L{x:g} {y:g}")
        x, y = _point_at(middle, radius + 9, place, len(names))
        side = "middle" if abs(x - middle[0]) < 6 else "start" if x > middle[0] else "end"
        low = 10 if y > middle[1] + radius / 2 else -2 if y < middle[1] - radius / 2 else 4
        yield scene.Text(x, y + low, sheet.shortened(name, name_columns), "plot-axis", side, 12)


def _line(
    names: Sequence[str], held: Mapping[str, Any], number: int, scale: Axis, middle: Point
) -> Iterator[scene.Mark]:
    """The closed line; where an axis has no value, only what lies between neighbours."""
    places = [
        _point_at(middle, scale.place(held[name]), n, len(names)) if name in held else None
        for n, name in enumerate(names)
    ]
    points = [place for place in places if place is not None]
    if len(points) == len(names):
        yield scene.Path(_closed_path(points), "plot-path", 2, dash(number))
    else:
        for one, other in zip(places, [*places[1:], places[0]], strict=True):
            if one is not None and other is not None:
                data = f"M{one[0]:g} {one[1]:g}L{other[0]:g} {other[1]:g}"
                yield scene.Path(data, "plot-path", 2, dash(number))
    for x, y in points:
        yield scene.Sign(number, x, y)
