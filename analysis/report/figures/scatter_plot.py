"""Points by two values: numbered with a key below where they are few, a sign per group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.report.content import Figure
from analysis.report.figures.axis import Axis, axis_of, known, tick_text
from analysis.report.figures.frame import LEFT_OF_PLOT, frame, legend
from analysis.report.figures.palette import series_class
from analysis.report.figures.svg import (
    RIGHT,
    Canvas,
    clean,
    nothing,
    shortened,
    sign,
    spoken,
    stroke,
    text,
)

MOST_NUMBERED = 40
_HEIGHT = 282


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
    title: str = ""  # told for a point without a name, which is then not numbered

    def told(self) -> str:
        """The point in words."""
        return f"{self.name or self.title}: {self.x:.3g}, {self.y:.3g}"


def scatter(figure: Figure) -> Canvas:
    """The drawing; rows without x or y are not drawn, and said to be so."""
    groups, points = points_of(figure)
    if not points:
        return nothing()
    head, top = legend(groups, _sample, 14) if groups != [""] else ([], 2.0)
    bottom = top + 12 + _HEIGHT
    across = axis_of(
        (edge for p in points for edge in (p.x, p.x_low, p.x_high)), LEFT_OF_PLOT + 12, RIGHT - 12
    )
    edges = [edge for p in points for edge in (p.y, p.low, p.high)]
    up = axis_of([*edges, *figure.at], bottom - 12, top + 36, figure.ends)
    numbered = len(points) <= MOST_NUMBERED and all(point.name for point in points)
    body = [*head, *frame(across, up, figure.x, figure.y, figure.at)]
    for number, point in enumerate(points, start=1):
        body += _drawn(point, number if numbered else None, across, up)
    if numbered:
        body += _key(points, bottom)
    missing = len(figure.rows) - len(points)
    told = [*(point.told() for point in points), *[f"{missing} without values"] * bool(missing)]
    height = bottom + 60 + (18 * len(points) if numbered else 0)
    return Canvas(body, height, spoken(told, f"{figure.x} and {figure.y}"))


def points_of(figure: Figure) -> tuple[list[str], list[Point]]:
    """The names of the groups in their order, and the points that have x and y."""
    groups = list(dict.fromkeys(str(row.get("group") or "") for row in figure.rows))
    return groups, [point for row in figure.rows if (point := _point(row, groups))]


def _point(row: Mapping[str, Any], groups: Sequence[str]) -> Point | None:
    x, y, low, high = (known(row.get(key)) for key in ("x", "y", "low", "high"))
    if x is None or y is None:
        return None
    name = str(row.get("name") or "")
    x_low, x_high = (known(row.get(key)) for key in ("x_low", "x_high"))
    series = groups.index(str(row.get("group") or ""))
    return Point(name, x, y, low, high, series, x_low, x_high, str(row.get("title") or ""))


def _drawn(point: Point, number: int | None, across: Axis, up: Axis) -> Iterator[str]:
    x, y = across.place(point.x), up.place(point.y)
    yield f'<g class="plot-point {series_class(point.series)}">'
    yield f"<title>{clean(point.told())}</title>"
    if point.low is not None and point.high is not None:
        yield stroke(f"M{x:g} {up.place(point.low):g}V{up.place(point.high):g}", "plot-bar", 1.2)
    if point.x_low is not None and point.x_high is not None:
        left, right = across.place(point.x_low), across.place(point.x_high)
        yield stroke(f"M{left:g} {y:g}H{right:g}", "plot-bar", 1.2)
    if number is None:
        yield sign(point.series, x, y, 3.5, filled=False) + "</g>"
    else:
        yield sign(point.series, x, y, 9, filled=False)
        yield text(x, y + 3.5, str(number), "plot-number", "middle", 10) + "</g>"


def _key(points: Sequence[Point], bottom: float) -> Iterator[str]:
    for number, point in enumerate(points, start=1):
        where = f"({tick_text(float(f'{point.x:.3g}'))}, {tick_text(float(f'{point.y:.3g}'))})"
        line = f"{number}  {shortened(point.name, 26)}  {where}"
        yield text(LEFT_OF_PLOT, bottom + 44 + 18 * number, line, "plot-key", "start", 13)


def _sample(number: int, x: float, y: float) -> str:
    return sign(number, x + 16, y, 5.5, filled=False)
