"""For papers: means with their intervals, tiers at the right side, groups under headings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.formatting import Ends, past
from analysis.report.content import Figure
from analysis.report.figures.interval_plot import Line, grouped, lines_of, placed
from analysis.report.paper.paper_style import Sheet, colour, label, set_legend, set_names, set_span


def intervals(sheet: Sheet, figure: Figure) -> None:
    """Draws the figure; an interval that runs past the scale stops at its end with an arrow."""
    lines: list[Line] = grouped(lines_of(figure))
    axes = sheet.axes
    places, bottom = placed(lines, 0.0, 1.0, 1.0)
    naive = any(line.naive_low is not None for line in lines)
    higher = set_names(sheet, [line.name for line in lines], [y for y, _ in places])
    set_span(axes, figure, [e for line in lines for e in line.edges() if e is not None], True)
    for y, heading in places:
        if heading:
            axes.annotate(heading, (0, y - 0.75), xycoords=("axes fraction", "data"), weight="bold")
    _drawn(sheet, lines, [y for y, _ in places], figure, shift=0.14 if naive else 0.0)
    _tiers(sheet, lines, [y for y, _ in places])
    axes.set_xlabel(label(figure.x or figure.y, sheet.width), loc="right")
    if naive:
        main, other = figure.interval or "interval", "naive, as if independent"
        axes.errorbar([], [], xerr=[], fmt="o", ms=3.5, lw=1.8, color=colour(0), label=main)
        axes.errorbar([], [], xerr=[], fmt="none", lw=0.8, color=colour(1), label=other)
        set_legend(sheet)
    sheet.set_height(0.55 + 0.2 * naive + 0.17 * higher * bottom)


def _drawn(
    sheet: Sheet, lines: Sequence[Line], places: Sequence[float], figure: Figure, shift: float
) -> None:
    axes = sheet.axes
    for number, name in enumerate(("interval-clustered", "interval-naive")):
        ink, move = colour(number), 2 * shift if number else -shift
        found = [
            (y + move, low, high)
            for line, y in zip(lines, places, strict=True)
            for kind, low, high, _ in line.strokes()
            if kind == name
        ]
        _strokes(axes, found, figure.ends, ink, 0.8 if number else 1.8)
    known = [
        (line.value, y) for line, y in zip(lines, places, strict=True) if line.value is not None
    ]
    values, at = [value for value, _ in known], [y - shift for _, y in known]
    axes.plot(values, at, "o", ms=3.5, color=colour(0), zorder=3)


def _strokes(
    axes: Any, found: Sequence[tuple[float, float, float]], ends: Ends, ink: str, width: float
) -> None:
    """Intervals of one kind (place, low, high), with a cap or an arrow head at each end."""
    signs: dict[str, list[tuple[float, float]]] = {}
    bars = []
    for y, low, high in found:
        over = past(low, high, ends)
        if ends is not None:
            low, high = max(low, ends[0]), min(high, ends[1])
        bars.append((y, low, high))
        signs.setdefault("<" if over[0] else "|", []).append((low, y))
        signs.setdefault(">" if over[1] else "|", []).append((high, y))
    if bars:
        ys, lows, highs = zip(*bars, strict=True)
        axes.hlines(ys, lows, highs, color=ink, lw=width, zorder=2)
    for sign, points in signs.items():
        size = 2.8 + width if sign == "|" else 4
        across, down = zip(*points, strict=True)
        axes.plot(across, down, sign, ms=size, mew=0.8, color=ink, zorder=2, clip_on=False)


def _tiers(sheet: Sheet, lines: Sequence[Line], places: Sequence[float]) -> None:
    for line, y in zip(lines, places, strict=True):
        if line.mark:
            sheet.axes.annotate(
                line.mark,
                (1.01, y),
                xycoords=("axes fraction", "data"),
                va="center",
                annotation_clip=False,
            )
