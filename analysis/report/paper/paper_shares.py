"""For papers: bars of 100 %, cut into the shares of each label."""

from __future__ import annotations

from analysis.report.content import Figure
from analysis.report.figures.palette import ink_on
from analysis.report.figures.share_bars import bars_of, share_colours
from analysis.report.paper.paper_style import Sheet, label, set_legend, set_names

_NARROWEST = 0.09


def shares(sheet: Sheet, figure: Figure) -> None:
    """Draws the figure; a share says its percentage where it has room."""
    labels, bars = bars_of(figure)
    axes = sheet.axes
    higher = set_names(sheet, list(bars), range(len(bars)))
    starts = dict.fromkeys(bars, 0.0)
    for name, ground in zip(labels, share_colours(len(labels)), strict=True):
        sizes = [bar.get(name, 0.0) * 100 for bar in bars.values()]
        axes.barh(
            range(len(bars)),
            sizes,
            left=list(starts.values()),
            color=ground,
            edgecolor="white",
            linewidth=0.5,
            height=0.72,
            label=name,
        )
        for place, (bar, size) in enumerate(zip(bars, sizes, strict=True)):
            if size >= 100 * _NARROWEST:
                x = starts[bar] + size / 2
                ink = ink_on(ground)
                axes.text(x, place, f"{size:.0f}", color=ink, ha="center", va="center", size=6)
            starts[bar] += size
    axes.set_xlim(0, max(100.0, *starts.values()))
    axes.set_xlabel(label(figure.x or "Share, %", sheet.width), loc="right")
    columns = min(len(labels), 3 if all(len(name) < 14 for name in labels) else 2)
    set_legend(sheet, columns)
    sheet.set_height(0.6 + 0.19 * higher * len(bars) + 0.14 * -(-len(labels) // columns))
