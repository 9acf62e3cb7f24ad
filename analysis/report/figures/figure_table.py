"""The data behind a figure as a table, for those who cannot see it and for its CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.report.content import Column, Figure, Table
from analysis.report.figures.axis import decimals_for, known
from analysis.report.report_schema import Kind

_HEADINGS = {  # of keys that are not called by their own name
    "title": "Name",
    "x_low": "Low across",
    "x_high": "High across",
    "naive_low": "Naive low",
    "naive_high": "Naive high",
    "mark": "Tier",
    "q1": "Lower quartile",
    "median": "Median",
    "q3": "Upper quartile",
    "text": "Content",
    "mean": "Mean",
}
_KEYS: dict[str, tuple[str, ...]] = {
    "intervals": ("group", "name", "mark", "value", "low", "high", "naive_low", "naive_high"),
    "scatter": ("group", "name", "title", "x", "x_low", "x_high", "y", "low", "high"),
    "lines": ("group", "x", "y", "low", "high"),
    "heatmap": ("row", "column", "value", "text"),
    "shares": ("name", "label", "value"),
    "radar": ("group", "name", "value"),
    "bars": ("name", "value"),
    "histogram": ("group", "low", "high", "value", "mean"),
    "boxes": ("name", "low", "q1", "median", "q3", "high", "value"),
}
_MOST_COLUMNS = 40


def figure_table(figure: Figure) -> Table:
    """The numbers of the figure; of a heatmap and of shares as a table of rows by columns."""
    if figure.drawing == "heatmap":
        return _cross_table(figure, "row", "column", figure.y or "Row")
    if figure.drawing == "shares":
        return _cross_table(figure, "name", "label", figure.y or "Name")
    columns = [_column(figure, key) for key in figure_columns(figure)]
    return Table(figure.key, figure.title, columns, figure.rows)


def figure_columns(figure: Figure) -> list[str]:
    """The keys of the figure's rows that hold something, in their order."""
    return [
        key
        for key in _KEYS[figure.drawing]
        if any(row.get(key) not in (None, "") for row in figure.rows)
    ]


def _column(figure: Figure, key: str) -> Column:
    heading = _HEADINGS.get(key) or {"x": figure.x, "y": figure.y}.get(key) or key.capitalize()
    values = [row.get(key) for row in figure.rows]
    kind: Kind = "text" if any(isinstance(value, str) for value in values) else "number"
    whole = all(value is None or known(value) == round(known(value) or 0) for value in values)
    return Column(key, heading, kind, 0 if whole and kind == "number" else _decimals(figure))


def _decimals(figure: Figure) -> int:
    keys = ("value", "low", "high", "y", "median")
    return decimals_for(known(row.get(key)) for row in figure.rows for key in keys)


def _cross_table(figure: Figure, down: str, across: str, heading: str) -> Table:
    columns = list(dict.fromkeys(str(row[across]) for row in figure.rows))[:_MOST_COLUMNS]
    rows: dict[str, dict[str, Any]] = {}
    for row in figure.rows:
        line = rows.setdefault(str(row[down]), {"": str(row[down])})
        line[str(row[across])] = row.get("value") if row.get("text") is None else row["text"]
    kind: Kind = "percent" if figure.drawing == "shares" else "number"
    if any(isinstance(value, str) for line in rows.values() for value in list(line.values())[1:]):
        kind = "text"
    decimals = min(_decimals(figure), 3)
    shaped: Sequence[Mapping[str, Any]] = list(rows.values())
    all_columns = [Column("", heading), *(Column(name, name, kind, decimals) for name in columns)]
    return Table(figure.key, figure.title, all_columns, shaped)
