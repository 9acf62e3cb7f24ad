"""The frame of drawings with two axes: grid, ticks, words, hair lines and the legend of series."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analysis.report.figures.axis import Axis, tick_text
from analysis.report.figures.palette import series_class
from analysis.report.figures.svg import RIGHT, grid, hair, shortened, text

LEFT_OF_PLOT = 54
_LEGEND_LINE = 18


def frame(
    across: Axis, up: Axis, x: str, y: str, at: Sequence[float], names: Sequence[str] = ()
) -> Iterator[str]:
    """Grid and ticks; ``names`` stand below the ticks of x instead of numbers; ``at`` is of y."""
    top, bottom = up.end - 12, up.start + 12
    every = max(1, -(-len(names) // 8))
    for place, tick in enumerate(across.ticks):
        shown = tick_text(tick) if not names else ""
        if names and place < len(names):
            shown = shortened(names[place], 44 // min(len(names), 8) + 2)
        px = across.place(tick)
        yield grid(f"M{px:g} {top:g}V{bottom:g}")
        if not place % every:
            yield text(px, bottom + 16, shown, "plot-tick", "middle", 12)
    for tick in up.ticks:
        py = up.place(tick)
        yield grid(f"M{LEFT_OF_PLOT} {py:g}H{RIGHT}")
        yield text(LEFT_OF_PLOT - 6, py + 4, tick_text(tick), "plot-tick", "end", 12)
    for value in at:
        if up.holds(value):
            yield hair(f"M{LEFT_OF_PLOT} {up.place(value):g}H{RIGHT}")
    yield text(14, top - 12, shortened(f"↑ {y}" if y else "", 54), "plot-axis", "start", 12.5)
    yield text(RIGHT, bottom + 38, shortened(f"{x} →" if x else "", 54), "plot-axis", "end", 12.5)


def legend(
    names: Sequence[str], sample: Callable[[int, float, float], str], top: float
) -> tuple[list[str], float]:
    """One line per series, its sample in its own colour and its name; and where they end (px).

    ``sample`` draws the sample of a series at the place (x, y) of its left end.
    """
    body = []
    columns = 2 if len(names) > 1 and all(len(name) <= 20 for name in names) else 1
    for number, name in enumerate(names):
        x = 14 + (number % columns) * 176
        y = top + (number // columns) * _LEGEND_LINE
        body.append(f'<g class="{series_class(number)}">{sample(number, x, y)}</g>')
        room = 20 if columns == 2 else 44
        body.append(text(x + 34, y + 4, shortened(name, room), "plot-legend", "start", 12))
    return body, top + -(-len(names) // columns) * _LEGEND_LINE
