"""For papers: points by two values, a sign per group, names beside them where they are few."""

from __future__ import annotations

from analysis.figures.scatter import points_of
from analysis.figures.svg import shortened
from analysis.parts.shown import Figure
from analysis.report.paper.style import FAINT, Sheet, colour, label, marker, set_legend, set_span

_MOST_NAMED = 12


def scatter(sheet: Sheet, figure: Figure) -> None:
    """Draws the figure; more points than twelve have no names, which the CSV has."""
    groups, points = points_of(figure)
    if not points:
        sheet.say_nothing()
        return
    axes = sheet.axes
    for number, group in enumerate(groups):
        own = [point for point in points if point.series == number]
        for point in own:
            if point.low is not None and point.high is not None:
                axes.plot([point.x] * 2, [point.low, point.high], lw=0.7, color=colour(number))
        axes.plot(
            [point.x for point in own],
            [point.y for point in own],
            marker(number),
            ms=4 if len(points) <= 60 else 2.5,
            color=colour(number),
            markerfacecolor=colour(number) if len(points) <= 60 else "none",
            label=group or None,
        )
    if len(points) <= _MOST_NAMED:
        for point in points:
            axes.annotate(
                shortened(point.name, 18),
                (point.x, point.y),
                xytext=(3, 3),
                textcoords="offset points",
                size=6,
            )
        axes.margins(x=0.15)
    edges = [e for point in points for e in (point.y, point.low, point.high) if e is not None]
    set_span(axes, figure, edges, False)
    axes.grid(color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlabel(label(figure.x, sheet.width))
    axes.set_ylabel(label(figure.y, 2.3))
    if groups != [""]:
        set_legend(sheet)
    sheet.set_height(min(sheet.width * 0.8, 3.6) + 0.08 * len(groups))
