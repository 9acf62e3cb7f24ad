"""A table of shaded cells, each with its number; wider than a page where it has many columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.figures.axis import decimals_for, known, number_text
from analysis.figures.palette import ink_on, shade
from analysis.figures.svg import (
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
from analysis.parts.shown import Figure

_CELL_HEIGHT = 24
_NAME_ROOM, _HEAD_ROOM = 24, 22  # columns of text of the longest names
_LETTER = 6.4  # px of one column of text at 12 px


def heatmap(figure: Figure) -> Canvas:
    """The drawing; colours run over the values, from low to high or around zero."""
    cells = {(str(row["row"]), str(row["column"])): row for row in figure.rows}
    down, across = _ordered(figure.rows, "row"), _ordered(figure.rows, "column")
    values = [known(row.get("value")) for row in figure.rows]
    if not any(value is not None for value in values):
        return nothing()
    decimals = min(decimals_for(values), 2)
    words = {place: _words(row, decimals) for place, row in cells.items()}
    left = LEFT + min(max(map(columns_of, down)), _NAME_ROOM) * _LETTER + 8
    needed = max(max(columns_of(each) for each in words.values()) * 6.3 + 6, 20)
    width = max((RIGHT - left) / len(across), needed)
    upright = all(columns_of(name) * _LETTER <= width - 2 for name in across)
    aside = 0 if upright else 30  # px that the last, slanting name needs on the right
    width = max((RIGHT - aside - left) / len(across), needed)
    top = 24 if upright else 16 + min(max(map(columns_of, across)), _HEAD_ROOM) * 5.6
    top += 18 if figure.x else 0
    ends, signed = _span(figure, [value for value in values if value is not None])
    body = [*_heads(across, left, top, width, upright), *_axes(figure, left)]
    for place, row in enumerate(down):
        y = top + place * _CELL_HEIGHT
        body.append(text(left - 6, y + 16, shortened(row, _NAME_ROOM), "plot-name", "end", 12))
        for number, column in enumerate(across):
            value = known(cells.get((row, column), {}).get("value"))
            told = words.get((row, column), "")
            ground = None if value is None else _colour(value, ends, signed)
            named = f"{row}, {column}: {told or 'no value'}"
            body += _cell(left + number * width, y, width, ground, told, named)
    bottom = top + len(down) * _CELL_HEIGHT
    body += _scale(ends, signed, decimals, bottom + 14)
    spoken_cells = (
        f"{row}, {column}: {words[row, column]}" for row, column in cells if words[row, column]
    )
    told = spoken(spoken_cells, f"{figure.y or 'rows'} by {figure.x or 'columns'}")
    return Canvas(
        body, bottom + 46, told, max(WIDTH, round(left + width * len(across) + aside + 6, 1))
    )


def _ordered(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(str(row[key]) for row in rows))


def _words(row: Mapping[str, Any], decimals: int) -> str:
    value = known(row.get("value"))
    return str(row.get("text") or "") or ("" if value is None else number_text(value, decimals))


def _span(figure: Figure, values: Sequence[float]) -> tuple[tuple[float, float], bool]:
    """The values of the first and the last colour; signed ones lie around zero."""
    low, high = figure.ends or (min(values), max(values))
    if 0.0 in figure.at or low < 0 < high:
        reach = max(abs(low), abs(high)) or 1.0
        return (-reach, reach), True
    return (low, high) if low < high else (low - 0.5, high + 0.5), False


def _colour(value: float, ends: tuple[float, float], signed: bool) -> str:
    return shade((value - ends[0]) / (ends[1] - ends[0]), signed)


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


def _cell(
    x: float, y: float, width: float, ground: str | None, told: str, named: str
) -> Iterator[str]:
    fill = (
        f'fill="{ground}"' if ground else 'fill="none" stroke="currentColor" stroke-opacity="0.2"'
    )
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


def _scale(ends: tuple[float, float], signed: bool, decimals: int, y: float) -> Iterator[str]:
    """The colours from the lowest to the highest value."""
    for step in range(10):
        fill = shade((step + 0.5) / 10, signed)
        yield f'<rect x="{LEFT + 60 + step * 16}" y="{y:g}" width="16" height="10" fill="{fill}"/>'
    yield text(LEFT + 54, y + 10, number_text(ends[0], decimals), "plot-tick", "end", 12)
    yield text(LEFT + 226, y + 10, number_text(ends[1], decimals), "plot-tick", "start", 12)
