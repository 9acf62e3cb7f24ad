"""Boxes from the lower to the upper quartile, whiskers, the median as a line, the mean as a dot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.report.content import Figure
from analysis.report.figures.axis import Axis, axis_of, decimals_for, known, number_text
from analysis.report.figures.interval_plot import axis_below, name_and_value
from analysis.report.figures.svg import LEFT, RIGHT, Canvas, clean, nothing, spoken, stroke, text

_LINE_HEIGHT = 46


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

    def told(self, decimals: int) -> str:
        """The box in words."""
        if self.median is None:
            return f"{self.name}: no values"
        numbers = [number_text(edge, decimals) for edge in self.edges()[:5]]
        mean = f", mean {number_text(self.value, decimals)}" if self.value is not None else ""
        return (
            f"{self.name}: median {numbers[2]}, middle half {numbers[1]} to {numbers[3]}, "
            f"whiskers {numbers[0]} to {numbers[4]}{mean}"
        )


def boxes(figure: Figure) -> Canvas:
    """The drawing; boxes stand as given, one below the other."""
    found = boxes_of(figure)
    edges = [edge for box in found for edge in box.edges()]
    if not any(edge is not None for edge in edges):
        return nothing()
    axis = axis_of([*edges, *figure.at], LEFT, RIGHT, figure.ends)
    decimals = min(decimals_for(edges), 2)
    means = any(box.value is not None for box in found)
    bottom = 50 + _LINE_HEIGHT * len(found)
    body = [*_legend(means), *axis_below(axis, figure, 28, bottom)]
    for place, box in enumerate(found):
        body += _drawn(box, 46 + _LINE_HEIGHT * place, axis, decimals)
    told = spoken((box.told(decimals) for box in found), figure.x or figure.y)
    return Canvas(body, bottom + 46, told)


def boxes_of(figure: Figure) -> list[Box]:
    """The figure's rows as boxes."""
    return [_box(row) for row in figure.rows]


def _box(row: Mapping[str, Any]) -> Box:
    keys = ("low", "q1", "median", "q3", "high", "value")
    return Box(str(row.get("name") or ""), *(known(row.get(key)) for key in keys))


def _drawn(box: Box, y: float, axis: Axis, decimals: int) -> Iterator[str]:
    middle = y + 16
    yield f'<g class="plot-box series-1"><title>{clean(box.told(decimals))}</title></g>'
    yield from name_and_value(box.name, "", number_text(box.median, decimals), y)
    yield '<g class="series-1">'
    if box.low is not None and box.high is not None:
        x1, x2 = axis.place(box.low), axis.place(box.high)
        caps = "".join(f"M{x:g} {middle - 4:g}V{middle + 4:g}" for x in (x1, x2))
        yield stroke(f"M{x1:g} {middle:g}H{x2:g}{caps}", "plot-whisker", 1.5)
    if box.q1 is not None and box.q3 is not None:
        x1, x2 = axis.place(box.q1), axis.place(box.q3)
        yield (
            f'<rect class="plot-quartiles" x="{x1:g}" y="{middle - 8:g}"'
            f' width="{max(x2 - x1, 1):.4g}" height="16" rx="2"/>'
        )
        yield stroke(f"M{x1:g} {middle - 8:g}H{x2:g}V{middle + 8:g}H{x1:g}Z", "", 1.5)
    if box.median is not None:
        x = axis.place(box.median)
        yield stroke(f"M{x:g} {middle - 8:g}V{middle + 8:g}", "plot-median", 3.5)
    yield "</g>"
    if box.value is not None:
        x = axis.place(box.value)
        dot = f'<circle cx="{x:g}" cy="{middle:g}" r="4" fill="currentColor"/>'
        yield f'<g class="series-2">{dot}</g>'


def _legend(means: bool) -> Iterator[str]:
    yield f'<g class="series-1">{stroke("M14 8V20", "", 3.5)}</g>'
    yield text(24, 18, "median; box: middle half", "plot-legend", "start", 11.5)
    if means:
        yield '<g class="series-2"><circle cx="206" cy="14" r="4" fill="currentColor"/></g>'
        yield text(216, 18, "mean", "plot-legend", "start", 11.5)
