"""Figures as SVG text, one drawing per file: `figure_svg` draws any `content.Figure`.

No style attributes and no scripts, so that a strict content security policy lets them through.
Colours come from ``currentColor`` and from classes that a page may style (`palette.STYLE`); text
is real text, every figure says its numbers in words, and nothing is told by colour alone.
"""

from analysis.report.figures.axis import nice_ticks
from analysis.report.figures.palette import PAGE_STYLE, STYLE
from analysis.report.figures.svg import figure_svg

__all__ = ["PAGE_STYLE", "STYLE", "figure_svg", "nice_ticks"]
