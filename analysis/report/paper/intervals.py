"""For papers: means with their intervals, tiers at the right side, groups under headings."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.figures.intervals import Line, grouped, lines_of, placed
from analysis.parts.shown import Figure
from analysis.report.paper.style import Sheet, colour, label, set_legend, set_names, set_span
from analysis.scales import past


def intervals(sheet: Sheet, figure: Figure) -> None:
    """Draws the figure; an interval that runs past the scale stops at its end with an arrow."""
    lines: list[Line] = grouped(lines_of(figure))
    axes = sheet.axes
    places, bottom = placed(lines, 0.0, 1.0, 1.0)
    naive = any(line.naive_low is not None for line in lines)
    set_names(sheet, [line.name for line in lines], [y for y, _ in places])
    set_span(axes, figure, [e for line in lines for e in line.edges() if e is not None], True)
    for line, (y, heading) in zip(lines, places, strict=True):
        _drawn(sheet, line, y, figure, shift=0.14 if naive else 0.0)
        if heading:
            axes.annotate(heading, (0, y - 1), xycoords=("axes fraction", "data"), weight="bold")
    _tiers(sheet, lines, [y for y, _ in places])
    axes.set_xlabel(label(figure.x or figure.y, sheet.width), loc="right")
    if naive:
        main, other = figure.interval or "interval", "naive, as if independent"
        axes.errorbar([], [], xerr=[], fmt="o", ms=3.5, lw=1.8, color=colour(0), label=main)
        axes.errorbar([], [], xerr=[], fmt="none", lw=0.8, color=colour(1), label=other)
        set_legend(sheet)
    sheet.set_height(0.55 + 0.2 * naive + 0.17 * bottom)


def _drawn(sheet: Sheet, line: Line, y: float, figure: Figure, shift: float) -> None:
    axes, ends = sheet.axes, figure.ends
    if line.value is None:
        return
    for name, low, high, width in line.strokes():
        main = name == "interval-clustered"
        at = y - shift if main else y + 2 * shift
        over = past(low, high, ends)
        if ends is not None:
            low, high = max(low, ends[0]), min(high, ends[1])
        ink = colour(0) if main else colour(1)
        axes.plot([low, high], [at, at], color=ink, lw=1.8 if main else 0.8, zorder=2)
        signs = ("<" if over[0] else "|", ">" if over[1] else "|")
        for edge, sign in zip((low, high), signs, strict=True):
            size = 4 if sign != "|" else 2.2 + width / 2
            axes.plot([edge], [at], sign, ms=size, mew=0.8, color=ink, zorder=2, clip_on=False)
    axes.plot([line.value], [y - shift], "o", ms=3.5, color=colour(0), zorder=3)


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
