"""Points by two values: numbered with a key below where they are few, a sign per group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.report.content import Figure
from analysis.report.figures import scene
from analysis.report.figures.axis import (
    Axis,
    axis_of,
    frame,
    known,
    left_of_plot,
    legend,
    tick_text,
    upright_bar,
)

MOST_NUMBERED = 40
_HEIGHT = 282
_KEY_WIDTH = 190  # px of a column of the key, at least


@dataclass(frozen=True)
class Point:
    """One point; low and high are of y, x_low and x_high of x."""

    name: str
    x: float
    y: float
    low: float | None
    high: float | None
    series: int
    x_low: float | None = None
    x_high: float | None = None
    title: str = ""  # said of a point without a name, which is then not numbered

    def in_words(self) -> str:
        return f"{self.name or self.title}: {self.x:.3g}, {self.y:.3g}"


def scatter(figure: Figure, sheet: scene.Sheet) -> scene.Scene:
    """The drawing; rows without x or y are not drawn, and said to be so."""
    groups = list(dict.fromkeys(str(row.get("group") or "") for row in figure.rows))
    points = [point for row in figure.rows if (point := _point(row, groups))]
    if not points:
        return sheet.nothing()
    head, top = legend(sheet, groups, _sample, 14) if groups != [""] else ([], 2.0)
    bottom = top + 12 + _HEIGHT
    edges = [edge for p in points for edge in (p.y, p.low, p.high)]
    up = axis_of([*edges, *figure.at], bottom - 12, top + 36, figure.ends)
    edges = [edge for p in points for edge in (p.x, p.x_low, p.x_high)]
    across = axis_of(edges, left_of_plot(sheet, up) + 12, sheet.right - 12)
    numbered = len(points) <= MOST_NUMBERED and all(point.name for point in points)
    marks = [*head, *frame(sheet, across, up, (figure.x, figure.y), figure.at)]
    for number, point in enumerate(points, start=1):
        marks.append(_draw_point(point, number if numbered else None, across, up))
    height = bottom + 60
    if numbered:
        key, tall = _key(sheet, points, left_of_plot(sheet, up), bottom + 44)
        marks, height = [*marks, *key], height + tall
    missing = len(figure.rows) - len(points)
    words = [point.in_words() for point in points]
    words += [f"{missing} without values"] * bool(missing)
    return sheet.scene(marks, height, words, f"{figure.x} and {figure.y}")


def _point(row: Mapping[str, Any], groups: Sequence[str]) -> Point | None:
    x, y, low, high = (known(row.get(key)) for key in ("x", "y", "low", "high"))
    if x is None or y is None:
        return None
    name = str(row.get("name") or "")
    x_low, x_high = (known(row.get(key)) for key in ("x_low", "x_high"))
    series = groups.index(str(row.get("group") or ""))
    return Point(name, x, y, low, high, series, x_low, x_high, str(row.get("title") or ""))


def _draw_point(point: Point, number: int | None, across: Axis, up: Axis) -> scene.Group:
    x, y = across.place(point.x), up.place(point.y)
    marks: list[scene.Mark] = [*upright_bar(x, up, point.low, point.high, 1.2)]
    if point.x_low is not None and point.x_high is not None:
        left, right = across.place(point.x_low), across.place(point.x_high)
        marks.append(scene.Path(f"M{left:g} {y:g}H{right:g}", "plot-bar", 1.2))
    marks.append(scene.Sign(point.series, x, y, 9 if number else 3.5, filled=False))
    if number:
        marks.append(scene.Text(x, y + 3.5, str(number), "plot-number", "middle", 10))
    return scene.Group(marks, "plot-point", point.series, point.in_words())


def _key(
    sheet: scene.Sheet, points: Sequence[Point], left: float, top: float
) -> tuple[list[scene.Mark], float]:
    """What the numbers stand for, and how high: on paper names alone, in columns."""
    columns = int(sheet.inner // _KEY_WIDTH) or 1 if sheet.paper else 1
    down, column_width = -(-len(points) // columns), sheet.inner / columns
    marks: list[scene.Mark] = []
    for place, point in enumerate(points):
        x, y = left, top + 18 * (place % down + 1)
        if sheet.paper:
            x = sheet.left + place // down * column_width
            name = sheet.shortened(point.name, column_width / 6 - 6)
            line = f"{place + 1}  {scene.isolate_direction(name)}"
        else:
            values = (tick_text(float(f"{value:.3g}")) for value in (point.x, point.y))
            name = scene.isolate_direction(sheet.shortened(point.name, 26))
            line = f"{place + 1}  {name}  ({', '.join(values)})"
        marks.append(scene.Text(x, y, line, "plot-key", size=12 if sheet.paper else 13))
    return marks, 18 * down


def _sample(number: int, x: float, y: float) -> scene.Group:
    return scene.Group([scene.Sign(number, x + 16, y, 5.5, filled=False)], series=number)
