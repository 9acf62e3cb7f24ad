"""Means (dot) with their interval (thick) and the naive one (thin, just below), a line each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.formatting import PAST_TOLD, Ends, interval_text, past
from analysis.report.content import Figure
from analysis.report.figures.axis import Axis, axis_of, decimals_for, known, number_text, tick_text
from analysis.report.figures.svg import (
    LEFT,
    RIGHT,
    WIDTH,
    Canvas,
    clean,
    columns_of,
    grid,
    hair,
    nothing,
    shortened,
    spoken,
    stroke,
    text,
)

TOP = 58
_LINE_HEIGHT, _TIGHT = 46, 38
_ROOMY = 24  # lines above this number stand closer
_HEADING = 28
_NAME_COLUMNS = 46  # of name and value together


@dataclass(frozen=True)
class Line:
    """One line of the plot; a bound is None where there is no interval."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    naive_low: float | None
    naive_high: float | None
    mark: str
    group: str

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


def intervals(figure: Figure) -> Canvas:
    """The drawing; lines stand as given, each group under its heading.

    With the ``ends`` of a bounded scale the axis is that scale, and an interval that runs past an
    end stops there with an arrow.
    """
    lines = grouped(lines_of(figure))
    if not lines:
        return nothing("No estimates")
    ends = figure.ends
    edges = [edge for line in lines for edge in line.edges()]
    axis = axis_of([*edges, *figure.at], LEFT, RIGHT, ends)
    decimals = decimals_for(edges) if figure.decimals is None else figure.decimals
    height = _LINE_HEIGHT if len(lines) <= _ROOMY else _TIGHT
    naive = any(line.naive_low is not None for line in lines)
    top = TOP if naive else 36
    places, bottom = placed(lines, top, height)
    body = [*(_legend(figure) if naive else ()), *axis_below(axis, figure, top - 24, bottom)]
    for line, (y, heading) in zip(lines, places, strict=True):
        body += [text(LEFT, y - 26, shortened(heading, 50), "plot-group", size=13)] * bool(heading)
        body += _drawn(line, y, axis, ends, decimals)
    tall = bottom + 46
    if any(any(past(low, high, ends)) for line in lines for _, low, high, _ in line.strokes()):
        body.append(text(LEFT, tall + 8, PAST_TOLD, "plot-legend", "start", 11.5))
        tall += 18
    told = spoken((_told(line, ends, decimals) for line in lines), figure.x or figure.y)
    return Canvas(body, tall, told)


def lines_of(figure: Figure) -> list[Line]:
    """The figure's rows as lines."""
    return [_line(row) for row in figure.rows]


def grouped(lines: Sequence[Line]) -> list[Line]:
    """Lines with those of a group together, groups in the order of their first lines."""
    order = list(dict.fromkeys(line.group for line in lines))
    return sorted(lines, key=lambda line: order.index(line.group))


def placed(
    lines: Sequence[Line], top: float, height: float, heading_height: float = _HEADING
) -> tuple[list[tuple[float, str]], float]:
    """Where each line's name stands (px), the heading above it if any; and the bottom of all."""
    found: list[tuple[float, str]] = []
    y, before = top, ""
    for line in lines:
        heading = line.group if line.group and line.group != before else ""
        y += heading_height if heading else 0
        found.append((y, heading))
        y, before = y + height, line.group
    return found, y


def axis_below(axis: Axis, figure: Figure, top: float, bottom: float) -> Iterator[str]:
    """Grid, ticks, hair lines and the words below a drawing whose values run from left to right."""
    for tick in axis.ticks:
        x = axis.place(tick)
        yield grid(f"M{x:g} {top:g}V{bottom:g}")
        first, last = tick == axis.ticks[0], tick == axis.ticks[-1]
        anchor = "start" if first else "end" if last else "middle"
        yield text(x, bottom + 16, tick_text(tick), "plot-tick", anchor, 12)
    for value in figure.at:
        if axis.holds(value):
            yield hair(f"M{axis.place(value):g} {top:g}V{bottom:g}")
    words = shortened(figure.x or figure.y, 56)
    yield text(WIDTH / 2, bottom + 36, words, "plot-axis", "middle", 12.5)


def name_and_value(name: str, mark: str, told: str, y: float) -> Iterator[str]:
    """The name with its mark on the left, the numbers on the right of one line of text."""
    room = _NAME_COLUMNS - columns_of(told) - (columns_of(mark) + 1 if mark else 0)
    marked = f' <tspan class="plot-mark">{clean(mark)}</tspan>' if mark else ""
    yield (
        f'<text class="plot-name" x="{LEFT}" y="{y:g}" font-size="13.5" fill="currentColor">'
        f"{clean(shortened(name, max(room, 12)))}{marked}</text>"
    )
    yield text(RIGHT, y, told, "plot-value", "end", 13)


def _line(row: Mapping[str, Any]) -> Line:
    return Line(
        name=str(row.get("name") or ""),
        value=known(row.get("value")),
        low=known(row.get("low")),
        high=known(row.get("high")),
        naive_low=known(row.get("naive_low")),
        naive_high=known(row.get("naive_high")),
        mark=str(row.get("mark") or ""),
        group=str(row.get("group") or ""),
    )


def _drawn(line: Line, y: float, axis: Axis, ends: Ends, decimals: int) -> Iterator[str]:
    middle = y + 15
    yield f'<g class="plot-line"><title>{clean(_told(line, ends, decimals))}</title>'
    told = number_text(line.value, decimals) if line.value is not None else "no estimate"
    if line.value is not None and line.low is not None and line.high is not None:
        told += " " + interval_text(line.low, line.high, ends, decimals)
    yield from name_and_value(line.name, line.mark, told, y)
    for name, low, high, width in line.strokes():
        main = name == "interval-clustered"
        yield f'<g class="series-{1 if main else 2}">'
        yield _stroke(low, high, middle if main else middle + 8, axis, name, width, ends) + "</g>"
    if line.value is not None:
        x = axis.place(line.value)
        yield '<g class="series-1">'
        yield f'<circle class="plot-dot" cx="{x:g}" cy="{middle:g}" r="5.5" fill="currentColor"/>'
        yield "</g>"
    yield "</g>"


def _stroke(
    low: float, high: float, y: float, axis: Axis, name: str, width: float, ends: Ends
) -> str:
    below, above = past(low, high, ends)
    x1, x2 = axis.place(low), axis.place(high)
    left, right = _end(x1, y, width, below, -1), _end(x2, y, width, above, 1)
    return stroke(f"M{x1:g} {y:g}H{x2:g}{left}{right}", name, width)


def _end(x: float, y: float, width: float, runs_past: bool, side: int) -> str:
    """The end of an interval's line: a cap, or an arrow head where it runs past the scale."""
    cap = width + 1.5
    if not runs_past:
        return f"M{x:g} {y - cap:g}V{y + cap:g}"
    tip, back = x + side * 9, x + side * 1
    return f"M{back:g} {y - cap:g}L{tip:g} {y:g}L{back:g} {y + cap:g}"


def _legend(figure: Figure) -> Iterator[str]:
    yield f'<g class="series-1">{stroke("M14 14H40", "interval-clustered", 4)}'
    yield '<circle class="plot-dot" cx="27" cy="14" r="5" fill="currentColor"/></g>'
    main = figure.interval or "interval"
    yield text(46, 18, shortened(main, 25), "plot-legend", "start", 11.5)
    yield f'<g class="series-2">{stroke("M200 14H226", "interval-naive")}</g>'
    yield text(232, 18, "naive, as if independent", "plot-legend", "start", 11.5)


def _told(line: Line, ends: Ends, decimals: int) -> str:
    named = f"{line.group}, {line.name}" if line.group else line.name
    if line.mark:
        named += f" ({line.mark})"
    if line.value is None:
        return f"{named}: no estimate"
    told = f"{named}: {line.value:.{decimals}f}"
    if line.low is None or line.high is None:
        return f"{told}, no interval"
    over = " (runs past the scale)" if any(past(line.low, line.high, ends)) else ""
    return f"{told}, from {line.low:.{decimals}f} to {line.high:.{decimals}f}{over}"
