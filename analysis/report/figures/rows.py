"""Plots of one row per name, values from left to right: where names stand, and the axis below.

On a page a name stands above its data, so that a phone has room for both. On paper it stands
beside them, as height costs more there, unless names are too long for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analysis.report.content import Figure
from analysis.report.figures.axis import Axis, tick_text
from analysis.report.figures.scene import Mark, Sheet, Text, grid, hair

MIDDLE = 15  # px from the base line of a name to the middle of its data
_NAME_COLUMNS = 46  # of name and value together
_TIGHT, _BESIDE, _HEADING = 38, 23, 22  # px of a row; of a heading beside which nothing stands
_MOST_BESIDE = 0.42  # of the sheet's width for names


@dataclass(frozen=True)
class Rows:
    """The left and right end of the data, and the height of a row, px."""

    sheet: Sheet
    left: float
    right: float
    height: float
    beside: bool

    def first(self, top: float, above: float) -> float:
        """The first row's place below the top of the plot: ``above`` is what its name needs."""
        return top - 3 if self.beside else top + above

    def bottom(self, end: float) -> float:
        """Where the plot ends if another row would stand at ``end``."""
        return end + 5 if self.beside else end

    def heading(self, y: float, words: str) -> Iterator[Mark]:
        """The heading of a group above its first row, which stands at y."""
        shown = self.sheet.shortened(words, self.sheet.line(50))
        yield Text(self.sheet.left, y - (1 if self.beside else 26), shown, "plot-group", size=13)

    def heading_height(self, above: float) -> float:
        """The height of a heading: ``above`` where names stand above their data."""
        return _HEADING if self.beside else above

    def name(self, y: float, name: str, value: str = "", mark: str = "") -> Iterator[Mark]:
        """The name with its mark and, where it stands above, its numbers on the right."""
        sheet = self.sheet
        if self.beside:
            yield Text(self.left - 10, y + MIDDLE + 4, name, "plot-name", "end", 12)
            yield Text(self.right + 10, y + MIDDLE + 4, mark, "plot-mark", "start", 12)
        elif not value:
            yield Text(sheet.left, y, sheet.shortened(name, sheet.line(50)), "plot-name")
        else:
            room = sheet.line(_NAME_COLUMNS) - sheet.columns(value)
            room -= sheet.columns(mark) + 1 if mark else 0
            shown = sheet.shortened(name, max(room, 12))
            yield Text(sheet.left, y, shown, "plot-name", "", mark=mark)
            yield Text(sheet.right, y, value, "plot-value", "end", 13)

    def axis_below(self, axis: Axis, figure: Figure, top: float, bottom: float) -> Iterator[Mark]:
        """Grid, ticks, hair lines and the words below the data."""
        for tick in axis.ticks:
            x = axis.place(tick)
            yield grid(f"M{x:g} {top:g}V{bottom:g}")
            first, last = tick == axis.ticks[0], tick == axis.ticks[-1]
            anchor = "start" if first else "end" if last else "middle"
            yield Text(x, bottom + 16, tick_text(tick), "plot-tick", anchor, 12)
        for value in figure.at:
            if axis.holds(value):
                yield hair(f"M{axis.place(value):g} {top:g}V{bottom:g}")
        words = self.sheet.shortened(figure.x or figure.y, self.sheet.line(56))
        yield Text((self.left + self.right) / 2, bottom + 36, words, "plot-axis", "middle", 12.5)


def rows_on(sheet: Sheet, names: Iterable[str], height: float, marks: Iterable[str] = ()) -> Rows:
    """Rows of these names on the sheet; ``height`` is a row's on a page."""
    if not sheet.paper:
        return Rows(sheet, sheet.left, sheet.right, height, False)
    names_width = 6 * max(map(sheet.columns, names), default=0)
    marks_width = 7 * max(map(sheet.columns, marks), default=0)
    if names_width > _MOST_BESIDE * sheet.inner:
        return Rows(sheet, sheet.left, sheet.right, min(height, _TIGHT), False)
    right = sheet.right - (marks_width + 8 if marks_width else 0)
    return Rows(sheet, sheet.left + names_width + 14, right, _BESIDE, True)
