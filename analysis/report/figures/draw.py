"""The drawings by the names that figures have for them: each lays a figure out on a sheet."""

from __future__ import annotations

from collections.abc import Callable

from analysis.report.content import Figure
from analysis.report.figures.box_plot import boxes
from analysis.report.figures.count_bars import bars
from analysis.report.figures.heatmap import heatmap
from analysis.report.figures.histogram import histogram
from analysis.report.figures.interval_plot import intervals
from analysis.report.figures.line_plot import lines
from analysis.report.figures.radar_plot import radar
from analysis.report.figures.scatter_plot import scatter
from analysis.report.figures.scene import Scene, Sheet
from analysis.report.figures.share_bars import shares
from analysis.report.report_schema import Drawing

DRAWINGS: dict[Drawing, Callable[[Figure, Sheet], Scene]] = {
    "intervals": intervals,
    "scatter": scatter,
    "lines": lines,
    "heatmap": heatmap,
    "shares": shares,
    "boxes": boxes,
    "radar": radar,
    "bars": bars,
    "histogram": histogram,
}
