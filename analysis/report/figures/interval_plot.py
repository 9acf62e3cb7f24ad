"""Means (dot) with their interval (thick) and the naive one (thin, just below), a line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.formatting import PAST_TOLD, Ends, counted, interval_text, past
from analysis.report.content import Figure
from analysis.report.figures import scene
from analysis.report.figures.axis import (
    MIDDLE,
    Axis,
    Rows,
    axis_of,
    decimals_for,
    known,
    number_text,
    rows_on,
)

SHORT_ROLES = {"reference": "ref."}  # beside a name, which needs the room
_KEYS = ("value", "low", "high", "naive_low", "naive_high")
_LINE_HEIGHT, _TIGHT = 46, 38
_ROOMY = 24  # lines above this number stand closer


@dataclass(frozen=True)
class Line:
    """One line of the plot; a bound is None where there is no interval."""

    name: str
    mark: str
    group: str
    value: float | None
    low: float | None
    high: float | None
    naive_low: float | None
    naive_high: float | None
    tier: int | None
    ratings: int | None
    key: str

    def edges(self) -> tuple[float | None, ...]:
        """Every number that the axis must hold."""
        return self.value, self.low, self.high, self.naive_low, self.naive_high

    def strokes(self) -> Iterator[tuple[str, float, float, float]]:
        """Class, low, high and width in px of each interval that the line has."""
        if self.value is None:
            return
        if self.low is not None and self.high is not None:
            yield "interval-clustered", self.low, self.high, 4
        if self.naive_low is not None and self.naive_high is not None:
            yield "interval-naive", self.naive_low, self.naive_high, 1.5


def intervals(figure: Figure, sheet: scene.Sheet) -> scene.Scene:
    """The drawing; lines stand as given, but those of a group together under its heading.

    With the ``ends`` of a bounded scale the axis is that scale, and an interval that runs past an
    end stops there with an arrow.
    """
    lines = [_line(row) for row in figure.rows]
    if not lines:
        return sheet.nothing("No estimates")
    groups = list(dict.fromkeys(line.group for line in lines))
    lines.sort(key=lambda line: groups.index(line.group))
    ends = figure.ends
    edges = [edge for line in lines for edge in line.edges()]
    height = _LINE_HEIGHT if len(lines) <= _ROOMY else _TIGHT
    decimals = decimals_for(edges) if figure.decimals is None else figure.decimals
    numbers = [_numbers(line, ends, decimals) for line in lines]
    marks_beside = [line.mark for line in lines]
    rows = rows_on(sheet, [line.name for line in lines], height, marks_beside, numbers)
    axis = axis_of([*edges, *figure.at], rows.left, rows.right, ends)
    naive = any(line.naive_low is not None for line in lines)
    top = 34.0 if naive else 12.0
    y, before = rows.first(top, 24), lines[0]
    drawn: list[scene.Mark] = []
    for place, line in enumerate(lines):
        if line.group and (place == 0 or line.group != before.group):
            y, heading = rows.heading(y, line.group)
            drawn.append(heading)
        elif line.tier and before.tier and line.tier != before.tier:
            drawn.append(_between_tiers(rows, y))
        drawn.append(_draw_line(line, y, rows, axis, ends, numbers[place], decimals))
        y, before = y + rows.height, line
    bottom = rows.bottom(y)
    below = rows.axis_below(axis, figure, top, bottom)
    marks = [*(_legend(figure, sheet) if naive else ()), *below, *drawn]
    tall = bottom + 46
    if any(any(past(low, high, ends)) for line in lines for _, low, high, _ in line.strokes()):
        marks.append(scene.Text(sheet.left, tall + 8, PAST_TOLD, "plot-legend", "start", 11.5))
        tall += 18
    words = (_in_words(line, ends, decimals) for line in lines)
    return sheet.scene(marks, tall, words, figure.x or figure.y)


def _line(row: Mapping[str, Any]) -> Line:
    name, mark, group = (str(row.get(key) or "") for key in ("name", "mark", "group"))
    if row.get("role"):
        name = f"{scene.isolate_direction(name)} ({SHORT_ROLES.get(row['role'], row['role'])})"
    value, low, high, naive_low, naive_high = (known(row.get(key)) for key in _KEYS)
    key = str(row.get("key") or "")
    tier, ratings = row.get("tier"), row.get("n")
    return Line(name, mark, group, value, low, high, naive_low, naive_high, tier, ratings, key)


def _numbers(line: Line, ends: Ends, decimals: int) -> str:
    numbers = number_text(line.value, decimals) if line.value is not None else "no estimate"
    if line.value is not None and line.low is not None and line.high is not None:
        numbers += " " + interval_text(line.low, line.high, ends, decimals)
    return numbers


def _between_tiers(rows: Rows, y: float) -> scene.Path:
    """A line across, above the row at y: another tier begins there."""
    above = y + MIDDLE - rows.height / 2 if rows.sheet.paper else y - rows.height / 2 + 4
    return scene.hair(f"M{rows.sheet.left:g} {above:g}H{rows.sheet.right:g}")


def _draw_line(
    line: Line, y: float, rows: Rows, axis: Axis, ends: Ends, numbers: str, decimals: int
) -> scene.Group:
    marks = [*rows.name(y, line.name, numbers, line.mark)]
    middle = y + MIDDLE
    if rows.sheet.paper and line.naive_low is not None:
        middle -= 4  # both intervals lie around the middle of the name
    for name, low, high, width in line.strokes():
        main = name == "interval-clustered"
        stroke = _stroke(low, high, middle if main else middle + 8, axis, name, width, ends)
        marks.append(scene.Group([stroke], series=0 if main else 1))
    if line.value is not None:
        dot = scene.Circle(axis.place(line.value), middle, 5.5, "plot-dot")
        marks.append(scene.Group([dot], series=0))
    return scene.Group(marks, "plot-line", None, _in_words(line, ends, decimals), line.key)


def _stroke(
    low: float, high: float, y: float, axis: Axis, name: str, width: float, ends: Ends
) -> scene.Path:
    below, above = past(low, high, ends)
    x1, x2 = axis.place(low), axis.place(high)
    left, right = _end(x1, y, width, below, -1), _end(x2, y, width, above, 1)
    return scene.Path(f"M{x1:g} {y:g}H{x2:g}{left}{right}", name, width)


def _end(x: float, y: float, width: float, runs_past: bool, side: int) -> str:
    """The end of an interval's line: a cap, or an arrow head where it runs past the scale."""
    cap = width + 1.5
    if not runs_past:
        return f"M{x:g} {y - cap:g}V{y + cap:g}"
    tip, back = x + side * 9, x + side * 1
    return f"M{back:g} {y - cap:g}L{tip:g} {y:g}L{back:g} {y + cap:g}"


def _legend(figure: Figure, sheet: scene.Sheet) -> Iterator[scene.Mark]:
    x, other = sheet.left, round(sheet.left + sheet.inner * 186 / scene.INNER, 1)
    line = scene.Path(f"M{x:g} 14H{x + 26:g}", "interval-clustered", 4)
    yield scene.Group([line, scene.Circle(x + 13, 14, 5, "plot-dot")], series=0)
    main = sheet.shortened(figure.interval or "interval", sheet.line(25))
    yield scene.Text(x + 32, 18, main, "plot-legend", "start", 11.5)
    yield scene.Group([scene.Path(f"M{other:g} 14H{other + 26:g}", "interval-naive")], series=1)
    yield scene.Text(other + 32, 18, "naive, as if independent", "plot-legend", "start", 11.5)


def _in_words(line: Line, ends: Ends, decimals: int) -> str:
    named = f"{line.group}, {line.name}" if line.group else line.name
    if line.mark:
        named += f" ({line.mark})"
    if line.value is None:
        return f"{named}: no estimate"
    words = f"{named}: {line.value:.{decimals}f}"
    if line.low is None or line.high is None:
        return f"{words}, no interval"
    over = " (runs past the scale)" if any(past(line.low, line.high, ends)) else ""
    words = f"{words}, from {line.low:.{decimals}f} to {line.high:.{decimals}f}{over}"
    return f"{words}, {counted(line.ratings, 'rating')}" if line.ratings else words
