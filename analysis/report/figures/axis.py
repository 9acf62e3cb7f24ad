"""Axes: round ticks, the frame with grid and legend, and rows of names beside values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.report.content import Figure
from analysis.report.figures import scene

_DUST = 1e-9  # relative spread below which numbers are the same but for rounding


@dataclass(frozen=True)
class Axis:
    """Ticks (rising), and the places in px of the first and the last of them."""

    ticks: Sequence[float]
    start: float
    end: float

    def place(self, value: float) -> float:
        """Where the value stands, px; what lies outside stands at the nearer end."""
        low, high = self.ticks[0], self.ticks[-1]
        share = (min(max(value, low), high) - low) / (high - low)
        return round(self.start + share * (self.end - self.start), 2)

    def holds(self, value: float) -> bool:
        """Whether the value lies between the first and the last tick."""
        return self.ticks[0] <= value <= self.ticks[-1]


def axis_of(
    values: Iterable[float | None],
    start: float,
    end: float,
    ends: Sequence[float] | None = None,
) -> Axis:
    """An axis over the values, or over the ends of a bounded scale; 0 to 1 where there are none."""
    known = [value for value in values if value is not None]
    edges = list(ends) if ends else known
    ticks = nice_ticks(min(edges), max(edges)) if edges else [0.0, 1.0]
    return Axis(ticks, start, end)


def nice_ticks(low: float, high: float, steps: int = 5) -> list[float]:
    """Round numbers that span low to high: about that many steps of 1, 2, 2.5 or 5 times 10^k."""
    if high - low <= max(_DUST * max(abs(low), abs(high)), _DUST**1.5):
        margin = max(abs(low) * 0.1, 0.1)
        low, high = low - margin, high + margin
    rough = (high - low) / steps
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * f for f in (1, 2, 2.5, 5, 10) if power * f >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = 3 - math.floor(math.log10(step))
    return [round(i * step, digits) + 0.0 for i in range(first, last + 1)]


def known(value: Any) -> float | None:
    """A finite number as float; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def decimals_for(values: Iterable[float | None]) -> int:
    """Decimals that suit numbers of this size: 3 below 10, 2 below 100, 1 below 1000, else 0."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    return 3 if largest < 10 else 2 if largest <= 100 else 1 if largest < 1000 else 0


def tick_text(value: float) -> str:
    """A tick as people read it, with a true minus sign."""
    return f"{value:g}".replace("-", "−")


def number_text(value: float | None, decimals: int = 3) -> str:
    """A number with that many decimals and a true minus sign; a dash for none."""
    return "–" if value is None else f"{value:.{decimals}f}".replace("-", "−")


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
            name_columns = sheet.line(44) // min(len(names), 8) + 2
            shown = sheet.shortened(names[place], name_columns)
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
    name_columns = 20 if columns > 1 else sheet.line(44 if indent > 22 else 48)
    for number, name in enumerate(names):
        x = sheet.left + (number % columns) * sheet.inner / most
        y = top + (number // columns) * _LEGEND_LINE
        marks += [
            sample(number, x, y),
            scene.Text(
                x + indent, y + 4, sheet.shortened(name, name_columns), "plot-legend", "start", 12
            ),
        ]
    return marks, top + -(-len(names) // columns) * _LEGEND_LINE


MIDDLE = 15  # px from the base line of a name to the middle of its data
_HEADING = 28  # px of a heading of a page, and above it
_NAME_COLUMNS = 46  # of name and value together
_ROW, _TWO_LINES, _HEADING_BESIDE = 23, 30, 24  # px on paper
_BESIDE = 0.36  # of the width for names, at most


@dataclass(frozen=True)
class Rows:
    """The left and right end of the data, and the height of a row, px."""

    sheet: scene.Sheet
    left: float
    right: float
    height: float

    def first(self, top: float, above: float) -> float:
        """The first row's place below the top of the plot: ``above`` is what its name needs."""
        return top + (self.height / 2 - MIDDLE + 1 if self.sheet.paper else above)

    def bottom(self, end: float) -> float:
        """Where the plot ends if another row would stand at ``end``."""
        return end + (MIDDLE - self.height / 2 if self.sheet.paper else 0)

    def heading(self, y: float, words: str) -> tuple[float, scene.Mark]:
        """The heading of a group whose first row would stand at y, and where it stands now."""
        y += _HEADING_BESIDE if self.sheet.paper else _HEADING
        place = self.bottom(y) - (6 if self.sheet.paper else 26)
        shown = self.sheet.shortened(words, self.sheet.line(50))
        return y, scene.Text(self.sheet.left, place, shown, "plot-group", size=13)

    def name(self, y: float, name: str, value: str = "", mark: str = "") -> Iterator[scene.Mark]:
        """The name with its mark and, where it stands above, its numbers on the right."""
        sheet = self.sheet
        if sheet.paper:
            shown = _lines(sheet, name)
            for line, words in enumerate(shown):
                place = y + MIDDLE + 4 + 12 * (line - (len(shown) - 1) / 2)
                yield scene.Text(self.left - 14, place, words, "plot-name", "end", 12)
            yield scene.Text(self.right + 14, y + MIDDLE + 4, mark, "plot-mark", size=12)
            if sheet.values:
                yield scene.Text(sheet.right, y + MIDDLE + 4, value, "plot-value", "end", 12.5)
        elif not value:
            yield scene.Text(sheet.left, y, sheet.shortened(name, 50), "plot-name")
        else:
            name_columns = (
                _NAME_COLUMNS - sheet.columns(value) - (sheet.columns(mark) + 1 if mark else 0)
            )
            shown_name = sheet.shortened(name, max(name_columns, 12))
            yield scene.Text(sheet.left, y, shown_name, "plot-name", "", mark=mark)
            yield scene.Text(sheet.right, y, value, "plot-value", "end", 13)

    def axis_below(self, axis: Axis, figure: Figure, top: float, bottom: float) -> list[scene.Mark]:
        """Grid, ticks, hair lines and the words below the data."""
        marks: list[scene.Mark] = []
        for tick in axis.ticks:
            x = axis.place(tick)
            first, last = tick == axis.ticks[0], tick == axis.ticks[-1]
            anchor = "start" if first else "end" if last else "middle"
            marks += [
                scene.grid(f"M{x:g} {top:g}V{bottom:g}"),
                scene.Text(x, bottom + 16, tick_text(tick), "plot-tick", anchor, 12),
            ]
        hairs = [axis.place(value) for value in figure.at if axis.holds(value)]
        marks += [scene.hair(f"M{x:g} {top:g}V{bottom:g}") for x in hairs]
        words = self.sheet.shortened(figure.x or figure.y, self.sheet.line(56))
        half = 3.2 * self.sheet.columns(words)  # of the words, which may be wider than the data
        left, right = self.sheet.left + half, self.sheet.right - half
        middle = max(left, min((self.left + self.right) / 2, right))
        return [*marks, scene.Text(middle, bottom + 36, words, "plot-axis", "middle", 12.5)]


def rows_on(
    sheet: scene.Sheet,
    names: Iterable[str],
    height: float,
    marks: Iterable[str] = (),
    values: Iterable[str] = (),
) -> Rows:
    """Rows of these names on the sheet; ``height`` is a row's where names stand above.

    Beside the data, room is kept for ``marks``, and for ``values`` where the sheet has them.
    """
    if not sheet.paper:
        return Rows(sheet, sheet.left, sheet.right, height)
    lines = [_lines(sheet, name) for name in names]
    widest = max((sheet.columns(each) for shown in lines for each in shown), default=0)
    of_marks = max(map(sheet.columns, marks), default=0)
    of_values = max(map(sheet.columns, values), default=0) if sheet.values else 0
    right = sheet.right - (7 * of_marks + 14 if of_marks else 0)
    right -= 6.6 * of_values + 14 if of_values else 0
    height = _TWO_LINES if any(len(shown) > 1 for shown in lines) else _ROW
    return Rows(sheet, sheet.left + 6 * widest + 14, right, height)


def _lines(sheet: scene.Sheet, name: str) -> list[str]:
    """The name in at most two lines, broken at a space where there is one."""
    name_columns = int(_BESIDE * sheet.inner / 6)
    first = sheet.shortened(name, name_columns)
    if first == name:
        return [name]
    first = first[:-1].rpartition(" ")[0] or first[:-1]
    return [first, sheet.shortened(name[len(first) :].strip(), name_columns)]
