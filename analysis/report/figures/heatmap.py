"""A table of shaded cells, each with its number; wider than a page where it has many columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.report.content import Figure
from analysis.report.figures.axis import decimals_for, known, number_text
from analysis.report.figures.palette import ink_on, shade
from analysis.report.figures.svg import (
    LEFT,
    RIGHT,
    WIDTH,
    Canvas,
    clean,
    columns_of,
    nothing,
    shortened,
    spoken,
    text,
)

_CELL_HEIGHT = 24
_NAME_ROOM, _HEAD_ROOM = 24, 22  # columns of text of the longest names
_LETTER = 6.4  # px of one column of text at 12 px


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


def heatmap(figure: Figure) -> Canvas:
    """The drawing; colours run over the values, from low to high or around zero."""
    found = grid_of(figure)
    if found is None:
        return nothing()
    down, across = found.down, found.across
    longest = max(columns_of(figure.y) + 2, *map(columns_of, down))
    left = LEFT + min(longest, _NAME_ROOM) * _LETTER + 8
    needed = max(max(columns_of(each) for each in found.words.values()) * 6.3 + 6, 20)
    width = max((RIGHT - left) / len(across), needed)
    upright = all(columns_of(name) * _LETTER <= width - 2 for name in across)
    aside = 0 if upright else 30  # px that the last, slanting name needs on the right
    width = max((RIGHT - aside - left) / len(across), needed)
    top = 24 if upright else 16 + min(max(map(columns_of, across)), _HEAD_ROOM) * 5.6
    top += 18 if figure.x else 0
    body = [*_heads(across, left, top, width, upright), *_axes(figure, left)]
    for place, row in enumerate(down):
        y = top + place * _CELL_HEIGHT
        body.append(text(left - 6, y + 16, shortened(row, _NAME_ROOM), "plot-name", "end", 12))
        for number, column in enumerate(across):
            body += _cell(left + number * width, y, width, (row, column), found)
    bottom = top + len(down) * _CELL_HEIGHT
    body += _scale(found, bottom + 14)
    spoken_cells = (f"{row}, {column}: {told}" for (row, column), told in found.words.items())
    told = spoken(spoken_cells, f"{figure.y or 'rows'} by {figure.x or 'columns'}")
    wide = round(left + width * len(across) + aside + 6, 1)
    return Canvas(body, bottom + 46, told, max(WIDTH, wide))


def grid_of(figure: Figure) -> Grid | None:
    """The figure's cells; None where not one has a value."""
    values = [value for row in figure.rows if (value := known(row.get("value"))) is not None]
    if not values:
        return None
    decimals = min(decimals_for(values), 2)
    cells = {(str(row["row"]), str(row["column"])): row for row in figure.rows}
    words = {place: _words(row, decimals) for place, row in cells.items()}
    down, across = _ordered(figure.rows, "row"), _ordered(figure.rows, "column")
    return Grid(down, across, cells, words, decimals, *_span(figure, values))


def colour_of(value: float, grid: Grid) -> str:
    """The colour of a value."""
    return shade((value - grid.ends[0]) / (grid.ends[1] - grid.ends[0]), grid.signed)


def _ordered(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(str(row[key]) for row in rows))


def _words(row: Mapping[str, Any], decimals: int) -> str:
    value, told = known(row.get("value")), row.get("text")
    if told is None:
        return "" if value is None else number_text(value, decimals)
    return str(told)


def _span(figure: Figure, values: Sequence[float]) -> tuple[tuple[float, float], bool]:
    """The values of the first and the last colour; signed ones lie around zero."""
    low, high = figure.ends or (min(values), max(values))
    if 0.0 in figure.at or low < 0 < high:
        reach = max(abs(low), abs(high)) or 1.0
        return (-reach, reach), True
    return (low, high) if low < high else (low - 0.5, high + 0.5), False


def _heads(
    names: Sequence[str], left: float, top: float, width: float, upright: bool
) -> Iterator[str]:
    for number, name in enumerate(names):
        x = round(left + (number + 0.5) * width, 1)
        if upright:
            yield text(x, top - 7, name, "plot-name", "middle", 12)
            continue
        yield (
            f'<text class="plot-name" transform="translate({x + 3:g} {top - 5:g}) rotate(-60)"'
            f' font-size="12" fill="currentColor">{clean(shortened(name, _HEAD_ROOM))}</text>'
        )


def _axes(figure: Figure, left: float) -> Iterator[str]:
    if figure.x:
        yield text(left, 12, shortened(f"{figure.x} →", 44), "plot-axis", "start", 12)
    if figure.y:
        room = max(int((left - LEFT) / _LETTER), 8)
        yield text(
            LEFT, 28 if figure.x else 12, shortened(f"{figure.y} ↓", room), "plot-axis", size=12
        )


def _cell(x: float, y: float, width: float, place: tuple[str, str], grid: Grid) -> Iterator[str]:
    value, told = known(grid.cells.get(place, {}).get("value")), grid.words.get(place, "")
    ground = None if value is None else colour_of(value, grid)
    hollow = 'fill="none" stroke="currentColor" stroke-opacity="0.2"'
    fill = f'fill="{ground}"' if ground else hollow
    named = f"{place[0]}, {place[1]}: {told or 'no value'}"
    yield (
        f'<g class="plot-cell"><title>{clean(named)}</title>'
        f'<rect x="{x + 0.75:.5g}" y="{y + 0.75:g}" width="{width - 1.5:.4g}"'
        f' height="{_CELL_HEIGHT - 1.5:g}" rx="2" {fill}/>'
    )
    ink = ink_on(ground) if ground else "currentColor"
    yield (
        f'<text x="{x + width / 2:.5g}" y="{y + 16:g}" font-size="11.5" text-anchor="middle"'
        f' fill="{ink}">{clean(told)}</text></g>'
    )


def _scale(grid: Grid, y: float) -> Iterator[str]:
    """The colours from the lowest to the highest value."""
    for step in range(10):
        fill = shade((step + 0.5) / 10, grid.signed)
        yield f'<rect x="{LEFT + 60 + step * 16}" y="{y:g}" width="16" height="10" fill="{fill}"/>'
    low, high = (number_text(end, grid.decimals) for end in grid.ends)
    yield text(LEFT + 54, y + 10, low, "plot-tick", "end", 12)
    yield text(LEFT + 226, y + 10, high, "plot-tick", "start", 12)
