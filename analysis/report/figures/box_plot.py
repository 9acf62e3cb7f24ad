"""Boxes from the lower to the upper quartile, whiskers, the median as a line, the mean as a dot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.report.content import Figure
from analysis.report.figures import scene
from analysis.report.figures.axis import Axis, axis_of, decimals_for, known, number_text, rows_on

_LINE_HEIGHT = 46
_KEYS = ("low", "q1", "median", "q3", "high", "value")


@dataclass(frozen=True)
class Box:
    """One box; a number is None where it is not known."""

    name: str
    low: float | None
    q1: float | None
    median: float | None
    q3: float | None
    high: float | None
    value: float | None

    def edges(self) -> tuple[float | None, ...]:
        """Every number that the axis must hold."""
        return self.low, self.q1, self.median, self.q3, self.high, self.value

    def in_words(self, decimals: int) -> str:
        """The box in words."""
        if self.median is None:
            return f"{self.name}: no values"
        numbers = [number_text(edge, decimals) for edge in self.edges()[:5]]
        mean = f", mean {number_text(self.value, decimals)}" if self.value is not None else ""
        return (
            f"{self.name}: median {numbers[2]}, middle half {numbers[1]} to {numbers[3]}, "
            f"whiskers {numbers[0]} to {numbers[4]}{mean}"
        )


def boxes(figure: Figure, sheet: scene.Sheet) -> scene.Scene:
    """The drawing; boxes stand as given, one below the other."""
    drawn = [
        Box(str(row.get("name") or ""), *(known(row.get(key)) for key in _KEYS))
        for row in figure.rows
    ]
    edges = [edge for box in drawn for edge in box.edges()]
    if not any(edge is not None for edge in edges):
        return sheet.nothing()
    rows = rows_on(sheet, (box.name for box in drawn), _LINE_HEIGHT)
    axis = axis_of([*edges, *figure.at], rows.left, rows.right, figure.ends)
    decimals = min(decimals_for(edges), 2)
    means = any(box.value is not None for box in drawn)
    top = 28
    first = rows.first(top, 18)
    bottom = rows.bottom(first + rows.height * len(drawn) + 4)
    marks: list[scene.Mark] = [*_legend(sheet, means), *rows.axis_below(axis, figure, top, bottom)]
    for place, box in enumerate(drawn):
        y = first + rows.height * place
        marks.append(scene.Group([], "plot-box", 0, box.in_words(decimals)))
        marks += rows.name(y, box.name, number_text(box.median, decimals))
        marks += _draw_box(box, y + 16, axis)
    words = (box.in_words(decimals) for box in drawn)
    return sheet.scene(marks, bottom + 46, words, figure.x or figure.y)


def _draw_box(box: Box, middle: float, axis: Axis) -> Iterator[scene.Mark]:
    marks: list[scene.Mark] = []
    above, below = middle - 8, middle + 8
    if box.low is not None and box.high is not None:
        x1, x2 = axis.place(box.low), axis.place(box.high)
        caps = "".join(f"M{x:g} {middle - 4:g}V{middle + 4:g}" for x in (x1, x2))
        marks.append(scene.Path(f"M{x1:g} {middle:g}H{x2:g}{caps}", "plot-whisker"))
    if box.q1 is not None and box.q3 is not None:
        x1, x2 = axis.place(box.q1), axis.place(box.q3)
        width = scene.digits(max(x2 - x1, 1), 4)
        marks.append(scene.Rect(x1, above, width, 16, "plot-quartiles", 2))
        marks.append(scene.Path(f"M{x1:g} {above:g}H{x2:g}V{below:g}H{x1:g}Z"))
    if box.median is not None:
        x = axis.place(box.median)
        marks.append(scene.Path(f"M{x:g} {above:g}V{below:g}", "plot-median", 3.5))
    yield scene.Group(marks, series=0)
    if box.value is not None:
        yield scene.Group([scene.Circle(axis.place(box.value), middle, 4)], series=1)


def _legend(sheet: scene.Sheet, means: bool) -> Iterator[scene.Mark]:
    x = sheet.left
    yield scene.Group([scene.Path(f"M{x:g} 8V20", width=3.5)], series=0)
    yield scene.Text(x + 10, 18, "median; box: middle half", "plot-legend", "start", 11.5)
    if means:
        yield scene.Group([scene.Circle(x + 192, 14, 4)], series=1)
        yield scene.Text(x + 202, 18, "mean", "plot-legend", "start", 11.5)
