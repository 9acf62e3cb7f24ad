"""A table of shaded cells, each with its number; wider than a page where it has many columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from analysis.report.content import Figure
from analysis.report.figures import scene
from analysis.report.figures.axis import decimals_for, known, number_text
from analysis.report.figures.palette import ink_on, shade

_CELL_HEIGHT = 24
_NAME_ROOM, _HEAD_ROOM = 24, 22  # columns of text of the longest names
_LETTER = 6.4  # px of one column of text at 12 px
_WORDS, _LEAST = 11.5, 6.8  # px of the words in cells; below the least there are none


@dataclass(frozen=True)
class Grid:
    """The cells of a heatmap: names down and across, what each says, the ends of its colours."""

    down: Sequence[str]
    across: Sequence[str]
    cells: Mapping[tuple[str, str], Mapping[str, Any]]
    words: Mapping[tuple[str, str], str]
    decimals: int
    ends: tuple[float, float]
    signed: bool  # colours run around zero


def heatmap(figure: Figure, sheet: scene.Sheet) -> scene.Scene:
    """The drawing; colours run over the values, from low to high or around zero.

    A page's is as wide as its cells need. On paper cells are as narrow as there is room, and then
    have smaller words or none.
    """
    grid = _grid(figure)
    if grid is None:
        return sheet.nothing()
    down, across = grid.down, grid.across
    widest = max(*map(sheet.columns, grid.words.values()), 1)
    wanted = max(widest * 6.3 + 6, 20)  # px of a cell
    name_columns: float = _NAME_ROOM
    if sheet.paper:  # names have what cells leave, and at least a third
        left_over = sheet.inner - 48 - len(across) * wanted
        name_columns = min(max(left_over / _LETTER, min(sheet.line(20), 30)), 44)
    longest = max(sheet.columns(figure.y) + 2, *map(sheet.columns, down))
    left = sheet.left + min(longest, name_columns) * _LETTER + 8
    needed = 0 if sheet.paper else wanted
    width = max((sheet.right - left) / len(across), needed)
    upright = all(sheet.columns(name) * _LETTER <= width - 2 for name in across)
    heads = [min(sheet.columns(name), _HEAD_ROOM) for name in across]
    aside = 0.0 if upright else 30  # px that the last, slanting name needs on the right
    if sheet.paper and not upright:
        aside = max(0, *(3 * head - 0.7 * width * at for at, head in enumerate(heads[::-1])))
    width = max((sheet.right - aside - left) / len(across), needed)
    top = 24 if upright else 16 + max(heads) * 5.6
    top += 18 if figure.x else 0
    marks = [*_heads(sheet, across, left, top, width, upright), *_axes(sheet, figure, left)]
    for place, row in enumerate(down):
        y = top + place * _CELL_HEIGHT
        name = sheet.shortened(row, name_columns)
        marks.append(scene.Text(left - 6, y + 16, name, "plot-name", "end", 12))
        marks += (
            _cell(left + number * width, y, width, (row, column), grid, widest)
            for number, column in enumerate(across)
        )
    bottom = top + len(down) * _CELL_HEIGHT
    marks += _scale(sheet, grid, bottom + 14)
    cells = (f"{row}, {column}: {words}" for (row, column), words in grid.words.items())
    if not sheet.paper:
        wide = round(left + width * len(across) + aside + 6, 1)
        sheet = replace(sheet, width=max(sheet.width, wide))
    return sheet.scene(
        marks, bottom + 46, cells, f"{figure.y or 'rows'} by {figure.x or 'columns'}"
    )


def _grid(figure: Figure) -> Grid | None:
    """The figure's cells; None where not one has a value."""
    values = [value for row in figure.rows if (value := known(row.get("value"))) is not None]
    if not values:
        return None
    decimals = min(decimals_for(values), 2)
    cells = {(str(row["row"]), str(row["column"])): row for row in figure.rows}
    words = {place: _words(row, decimals) for place, row in cells.items()}
    down, across = _order_keys(figure.rows, "row"), _order_keys(figure.rows, "column")
    return Grid(down, across, cells, words, decimals, *_span(figure, values))


def _order_keys(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(str(row[key]) for row in rows))


def _words(row: Mapping[str, Any], decimals: int) -> str:
    value, text = known(row.get("value")), row.get("text")
    if text is None:
        return "" if value is None else number_text(value, decimals)
    return str(text)


def _span(figure: Figure, values: Sequence[float]) -> tuple[tuple[float, float], bool]:
    """The values of the first and the last colour; signed ones lie around zero."""
    low, high = figure.ends or (min(values), max(values))
    if 0.0 in figure.at or low < 0 < high:
        reach = max(abs(low), abs(high)) or 1.0
        return (-reach, reach), True
    return (low, high) if low < high else (low - 0.5, high + 0.5), False


def _heads(
    sheet: scene.Sheet, names: Sequence[str], left: float, top: float, width: float, upright: bool
) -> Iterator[scene.Mark]:
    every = 1 if upright else ceil(12 / width)  # others have no room
    for number, name in list(enumerate(names))[::every]:
        x = round(left + (number + 0.5) * width, 1)
        if upright:
            yield scene.Text(x, top - 7, name, "plot-name", "middle", 12)
            continue
        shown = sheet.shortened(name, _HEAD_ROOM)
        yield scene.Text(x + 3, top - 5, shown, "plot-name", "", 12, turn=-60)


def _axes(sheet: scene.Sheet, figure: Figure, left: float) -> Iterator[scene.Mark]:
    if figure.x:
        name_columns = 44 if not sheet.paper else (sheet.right - left) / 6
        yield scene.Text(
            left, 12, sheet.shortened(f"{figure.x} →", name_columns), "plot-axis", "start", 12
        )
    if figure.y:
        name_columns = max(int((left - sheet.left) / _LETTER), 8)
        shown = sheet.shortened(f"{figure.y} ↓", name_columns)
        yield scene.Text(sheet.left, 28 if figure.x else 12, shown, "plot-axis", size=12)


def _cell(
    x: float, y: float, width: float, place: tuple[str, str], grid: Grid, widest: float
) -> scene.Group:
    value, words = known(grid.cells.get(place, {}).get("value")), grid.words.get(place, "")
    low, high = grid.ends
    fill = "none" if value is None else shade((value - low) / (high - low), grid.signed)
    size = scene.digits(min(_WORDS, 2 * (width - 3) / widest))
    ground = scene.Rect(
        scene.digits(x + 0.75),
        y + 0.75,
        scene.digits(width - 1.5, 4),
        _CELL_HEIGHT - 1.5,
        corner=2,
        fill=fill,
        edge=0.2 if value is None else None,
    )
    ink = "" if value is None else ink_on(fill)
    text = scene.Text(scene.digits(x + width / 2), y + 16, words, "", "middle", size, ink)
    named = f"{place[0]}, {place[1]}: {words or 'no value'}"
    return scene.Group([ground, text] if size >= _LEAST else [ground], "plot-cell", title=named)


def _scale(sheet: scene.Sheet, grid: Grid, y: float) -> Iterator[scene.Mark]:
    """The colours from the lowest to the highest value."""
    for step in range(10):
        fill = shade((step + 0.5) / 10, grid.signed)
        yield scene.Rect(sheet.left + 60 + step * 16, y, 16, 10, fill=fill)
    low, high = (number_text(end, grid.decimals) for end in grid.ends)
    yield scene.Text(sheet.left + 54, y + 10, low, "plot-tick", "end", 12)
    yield scene.Text(sheet.left + 226, y + 10, high, "plot-tick", "start", 12)
