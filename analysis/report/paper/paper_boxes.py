"""For papers: boxes with whiskers, the median as a line, the mean as a dot."""

from __future__ import annotations

from analysis.report.content import Figure
from analysis.report.figures.box_plot import Box, boxes_of
from analysis.report.paper.paper_style import Sheet, colour, label, set_legend, set_names, set_span


def boxes(sheet: Sheet, figure: Figure) -> None:
    """Draws the figure, the first box on top."""
    found = boxes_of(figure)
    edges = [edge for box in found for edge in box.edges() if edge is not None]
    if not edges:
        sheet.say_nothing()
        return
    axes = sheet.axes
    higher = set_names(sheet, [box.name for box in found], range(len(found)))
    set_span(axes, figure, edges, True)
    for place, box in enumerate(found):
        _drawn(sheet, box, place)
    axes.set_xlabel(label(figure.x or figure.y, sheet.width), loc="right")
    axes.plot([], [], color=colour(0), lw=2, label="median")
    if any(box.value is not None for box in found):
        axes.plot([], [], "o", ms=2.8, color=colour(1), label="mean")
    set_legend(sheet)
    sheet.set_height(0.7 + 0.19 * higher * len(found))


def _drawn(sheet: Sheet, box: Box, place: int) -> None:
    from matplotlib.patches import Rectangle

    axes, ink = sheet.axes, colour(0)
    if box.low is not None and box.high is not None:
        axes.plot([box.low, box.high], [place, place], color=ink, lw=0.8)
    if box.q1 is not None and box.q3 is not None:
        corner, width = (box.q1, place - 0.3), box.q3 - box.q1
        axes.add_patch(Rectangle(corner, width, 0.6, fc="#dfeaf2", ec=ink, linewidth=0.8, zorder=2))
    if box.median is not None:
        axes.plot([box.median] * 2, [place - 0.3, place + 0.3], color=ink, lw=2, zorder=3)
    if box.value is not None:
        axes.plot([box.value], [place], "o", ms=2.8, color=colour(1), zorder=4)
