"""For papers: lines over x, one per group with its own sign, dashes and colour, and its band."""

from __future__ import annotations

import math

from analysis.report.content import Figure
from analysis.report.figures.line_plot import Place, series_of
from analysis.report.figures.svg import shortened
from analysis.report.paper.paper_style import (
    FAINT,
    Sheet,
    colour,
    dash,
    label,
    marker,
    set_legend,
    set_span,
)

_MOST_SIGNS = 25


def lines(sheet: Sheet, figure: Figure) -> None:
    """Draws the figure; x may be numbers, or names that stand in the order of their rows."""
    names, series = series_of(figure)
    axes = sheet.axes
    edges: list[float] = []
    for number, (group, places) in enumerate(series.items()):
        edges += [e for p in places for e in (p.y, p.low, p.high) if e is not None]
        _drawn(sheet, number, group, places)
    if not edges:
        sheet.say_nothing()
        return
    set_span(axes, figure, edges, False)
    if names:
        every = max(1, -(-len(names) // 8))
        shown = [shortened(name, round(sheet.width * 14 / min(len(names), 8))) for name in names]
        axes.set_xticks(range(0, len(names), every), shown[::every])
        axes.set_xlim(-0.4, len(names) - 0.6)
    axes.grid(color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlabel(label(figure.x, sheet.width))
    axes.set_ylabel(label(figure.y, 2.3))
    columns = 1 if any(len(group) > 22 for group in series) else 2
    if list(series) != [""]:
        set_legend(sheet, columns)
    sheet.set_height(2.3 + 0.13 * -(-len(series) // columns))


def _drawn(sheet: Sheet, number: int, group: str, places: list[Place]) -> None:
    axes, ink = sheet.axes, colour(number)
    x = [p.x for p in places]
    low, high, y = (
        [math.nan if (value := getattr(p, key)) is None else value for p in places]
        for key in ("low", "high", "y")
    )
    axes.fill_between(x, low, high, color=ink, alpha=0.15, linewidth=0)
    axes.plot(
        x,
        y,
        color=ink,
        linestyle=dash(number),
        marker=marker(number) if len(places) <= _MOST_SIGNS else None,
        ms=3,
        label=group or None,
    )
    if len(places) <= _MOST_SIGNS:
        axes.vlines(x, low, high, color=ink, lw=0.6)
