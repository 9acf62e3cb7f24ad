"""For papers: points by two values, a sign per group, names beside them where they are few."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.report.content import Figure
from analysis.report.figures.scatter_plot import Point, points_of
from analysis.report.figures.svg import columns_of, shortened
from analysis.report.paper.paper_style import (
    FAINT,
    Sheet,
    colour,
    label,
    marker,
    set_legend,
    set_span,
)

_MOST_NAMED = 12
_SIDES = ((1, 1), (-1, 1), (1, -1), (-1, -1))  # right or left, above or below
Box = tuple[float, float, float, float]  # left, bottom, right, top, in points of paper


def scatter(sheet: Sheet, figure: Figure) -> None:
    """Draws the figure; more points than twelve have no names, which the CSV has."""
    groups, points = points_of(figure)
    if not points:
        sheet.say_nothing()
        return
    axes = sheet.axes
    for number, group in enumerate(groups):
        own = [point for point in points if point.series == number]
        bars = [(p.x, p.low, p.high) for p in own if p.low is not None and p.high is not None]
        if bars:
            axes.vlines(*zip(*bars, strict=True), lw=0.7, color=colour(number))
        beside = [
            (p.y, p.x_low, p.x_high) for p in own if p.x_low is not None and p.x_high is not None
        ]
        if beside:
            axes.hlines(*zip(*beside, strict=True), lw=0.7, color=colour(number))
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
    if len(points) <= _MOST_NAMED:
        _name(sheet, points)


def _name(sheet: Sheet, points: Sequence[Point]) -> None:
    """Each point's name beside it, on the first of four sides where nothing else stands."""
    axes = sheet.axes
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    across = sheet.width * 72 * 0.8 / (right - left)  # points of paper per unit, about
    up = sheet.drawn.get_figheight() * 72 * 0.7 / (top - bottom)
    dots = [(p.x * across, p.y * up) for p in points]
    taken: list[Box] = [(x - 2, y - 2, x + 2, y + 2) for x, y in dots]
    for point, (x, y) in zip(points, dots, strict=True):
        words = shortened(point.name, 18)
        wide = 3.6 * columns_of(words)
        boxes = {side: _box(x, y, wide, side) for side in _SIDES}
        side = next((s for s, box in boxes.items() if not _touches(box, taken)), _SIDES[0])
        taken.append(boxes[side])
        axes.annotate(
            words,
            (point.x, point.y),
            xytext=(3 * side[0], 3 * side[1]),
            textcoords="offset points",
            ha="left" if side[0] > 0 else "right",
            va="bottom" if side[1] > 0 else "top",
            size=6,
        )


def _box(x: float, y: float, wide: float, side: tuple[int, int]) -> Box:
    low, down = (x + 3 if side[0] > 0 else x - 3 - wide), (y + 3 if side[1] > 0 else y - 10)
    return low, down, low + wide, down + 7


def _touches(box: Box, taken: Sequence[Box]) -> bool:
    return any(
        box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
        for other in taken
    )
