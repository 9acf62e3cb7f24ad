"""Plots of one row per name, values from left to right: where names stand, and the axis below.

On a page a name stands above its data, so that a phone has room for both; on paper beside them,
as height costs pages: in two lines where it is long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from analysis.report.content import Figure
from analysis.report.figures import scene
from analysis.report.figures.axis import Axis, tick_text

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
            room = _NAME_COLUMNS - sheet.columns(value) - (sheet.columns(mark) + 1 if mark else 0)
            shown_name = sheet.shortened(name, max(room, 12))
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
    room = int(_BESIDE * sheet.inner / 6)
    first = sheet.shortened(name, room)
    if first == name:
        return [name]
    first = first[:-1].rpartition(" ")[0] or first[:-1]
    return [first, sheet.shortened(name[len(first) :].strip(), room)]
