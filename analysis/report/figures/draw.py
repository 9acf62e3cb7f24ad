"""A figure laid out by the drawing that it names, and rendered as SVG for pages."""

from __future__ import annotations

from collections.abc import Callable

from analysis.report.content import Drawing, Figure
from analysis.report.figures.box_plot import boxes
from analysis.report.figures.heatmap import heatmap
from analysis.report.figures.interval_plot import intervals
from analysis.report.figures.line_plot import lines
from analysis.report.figures.scatter_plot import scatter
from analysis.report.figures.scene import PAGE, WIDTH, Scene, Sheet
from analysis.report.figures.share_bars import shares
from analysis.report.figures.svg import framed

DRAWINGS: dict[Drawing, Callable[[Figure, Sheet], Scene]] = {
    "intervals": intervals,
    "scatter": scatter,
    "lines": lines,
    "heatmap": heatmap,
    "shares": shares,
    "boxes": boxes,
}


def figure_svg(figure: Figure, key: str, *, standalone: bool = False) -> str:
    """The figure as SVG; ``key`` (letters, digits, hyphens) makes its ids unique on a page.

    A ``standalone`` one has a size and brings its colours along. Raises KeyError for a drawing
    that is not known.
    """
    return framed(DRAWINGS[figure.drawing](figure, PAGE), key, figure.title, standalone)


def is_wide(svg: str) -> bool:
    """Whether the drawing is wider than a phone's screen, so that its place must scroll."""
    return f'viewBox="0 0 {WIDTH} ' not in svg[:200]
