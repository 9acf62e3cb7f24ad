"""Bars from zero, one below the other, each with its number."""

from __future__ import annotations

from analysis.report.content import Figure
from analysis.report.figures import scene
from analysis.report.figures.axis import MIDDLE, axis_of, decimals_for, known, number_text, rows_on

_LINE_HEIGHT = 40
_THICK = 12


def bars(figure: Figure, sheet: scene.Sheet) -> scene.Scene:
    """The drawing; bars stand as given, from zero to their value, which is zero or more."""
    values = [(str(row.get("name") or ""), known(row.get("value"))) for row in figure.rows]
    there = [value for _, value in values if value is not None]
    if not there:
        return sheet.nothing()
    whole = all(value == round(value) for value in there)
    decimals = 0 if whole else min(decimals_for(there), 2)
    shown = [number_text(value, decimals) for _, value in values]
    rows = rows_on(sheet, (name for name, _ in values), _LINE_HEIGHT, values=shown)
    axis = axis_of([0.0, *there, *figure.at], rows.left, rows.right, figure.ends)
    top = 12
    first = rows.first(top, 18)
    bottom = rows.bottom(first + rows.height * len(values))
    marks: list[scene.Mark] = rows.axis_below(axis, figure, top, bottom)
    for place, ((name, value), number) in enumerate(zip(values, shown, strict=True)):
        y = first + rows.height * place
        marks += rows.name(y, name, number)
        if value is None:
            continue
        start = axis.place(0.0)
        width = scene.digits(max(axis.place(value) - start, 0.5), 4)
        above = y + (MIDDLE - _THICK / 2 if sheet.paper else 6)
        right, below = scene.digits(start + width), scene.digits(above + _THICK)
        path = scene.Path(f"M{start:g} {above:g}H{right:g}V{below:g}H{start:g}Z", fill=0.75)
        marks.append(scene.Group([path], "plot-count", 0, f"{name}: {number}"))
    words = (f"{name}: {number}" for (name, _), number in zip(values, shown, strict=True))
    return sheet.scene(marks, bottom + 46, words, figure.x)
