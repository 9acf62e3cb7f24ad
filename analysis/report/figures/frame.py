"""The frame of drawings with two axes: grid, ticks, words, hair lines; and the legend of series."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from analysis.report.figures import scene
from analysis.report.figures.axis import Axis, tick_text

_LEFT_OF_PLOT = 54
_LEGEND_LINE = 18
_LEGEND_WIDTH = 176  # px of each of its columns, at least


def left_of_plot(sheet: scene.Sheet, up: Axis) -> float:
    """Where the plot begins, right of the ticks of y."""
    if not sheet.paper:
        return _LEFT_OF_PLOT
    return sheet.left + 6 * max(sheet.columns(tick_text(tick)) for tick in up.ticks) + 6


def frame(
    sheet: scene.Sheet,
    across: Axis,
    up: Axis,
    words: tuple[str, str],
    at: Sequence[float],
    names: Sequence[str] = (),
) -> Iterator[scene.Mark]:
    """Grid and ticks; ``names`` stand below the ticks of x instead of numbers; ``at`` is of y."""
    x, y = words
    top, bottom, left = up.end - 12, up.start + 12, left_of_plot(sheet, up)
    every = max(1, -(-len(names) // 8))
    for place, tick in enumerate(across.ticks):
        shown = tick_text(tick) if not names else ""
        if names and place < len(names):
            room = sheet.line(44) // min(len(names), 8) + 2
            shown = sheet.shortened(names[place], room)
        px = across.place(tick)
        yield scene.grid(f"M{px:g} {top:g}V{bottom:g}")
        if not place % every:
            yield scene.Text(px, bottom + 16, shown, "plot-tick", "middle", 12)
    for tick in up.ticks:
        py = up.place(tick)
        yield scene.grid(f"M{left:g} {py:g}H{sheet.right:g}")
        yield scene.Text(left - 6, py + 4, tick_text(tick), "plot-tick", "end", 12)
    for value in at:
        if up.holds(value):
            yield scene.hair(f"M{left:g} {up.place(value):g}H{sheet.right:g}")
    y, x = (sheet.shortened(each, sheet.line(54)) for each in (y and f"↑ {y}", x and f"{x} →"))
    yield scene.Text(sheet.left, top - 12, y, "plot-axis", "start", 12.5)
    yield scene.Text(sheet.right, bottom + 38, x, "plot-axis", "end", 12.5)


def upright_bar(
    x: float, up: Axis, low: float | None, high: float | None, width: float
) -> Iterator[scene.Mark]:
    """A thin bar from low to high; none where one of them is not known."""
    if low is not None and high is not None:
        data = f"M{x:g} {up.place(low):g}V{up.place(high):g}"
        yield scene.Path(data, "plot-bar", width)


def legend(
    sheet: scene.Sheet,
    names: Sequence[str],
    sample: Callable[[int, float, float], scene.Mark],
    top: float,
    indent: float = 34,
) -> tuple[list[scene.Mark], float]:
    """One line per series, its sample and its name; and where they end (px).

    ``sample`` draws the sample of a series at the place (x, y) of its left end.
    """
    marks: list[scene.Mark] = []
    short = all(sheet.columns(name) <= 20 for name in names)
    most = int(sheet.inner // _LEGEND_WIDTH) or 1
    columns = min(most, len(names)) if short else 1
    room = 20 if columns > 1 else sheet.line(44 if indent > 22 else 48)
    for number, name in enumerate(names):
        x = sheet.left + (number % columns) * sheet.inner / most
        y = top + (number // columns) * _LEGEND_LINE
        marks += [
            sample(number, x, y),
            scene.Text(x + indent, y + 4, sheet.shortened(name, room), "plot-legend", "start", 12),
        ]
    return marks, top + -(-len(names) // columns) * _LEGEND_LINE
