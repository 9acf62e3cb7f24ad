"""A part of a report as HTML: its answer in words, warnings, figures and tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from html import escape
from typing import Any

from analysis.parts.shown import Column, Shown, Table, shown_from
from analysis.report.tables import Column as Shaped
from analysis.report.tables import fold, number, probability, table
from analysis.scales import bounds_text

MOST_ROWS = 400


def part_html(part: Mapping[str, Any]) -> str:
    """The part's HTML; all text is escaped here."""
    if part["problem"]:
        return f'<p class="muted">{escape(part["problem"])}</p>'
    shown = shown_from(part)
    words = "".join(f"<p>{escape(sentence)}</p>" for sentence in shown.sentences)
    return words + _warned(shown) + "".join(table_html(each) for each in shown.tables)


def table_html(shown: Table) -> str:
    """One table, folded where it says so, cut where it is too long to read."""
    columns = [
        Shaped(column.heading, partial(cell, column), column.kind not in ("text", "mark"))
        for column in shown.columns
    ]
    rows = list(shown.rows)[:MOST_ROWS]
    cut = len(shown.rows) - len(rows)
    more = f"{cut} more rows are in the file {shown.key}.csv." if cut else ""
    below = "".join(
        f'<p class="muted small">{escape(text)}</p>' for text in (shown.note, more) if text
    )
    made = table(rows, columns, "" if shown.folded else shown.title, len(rows) > 60) + below
    return fold(shown.title, f"{len(shown.rows)} rows", made) if shown.folded else made


def cell(column: Column, row: Mapping[str, Any]) -> str:
    """A value as people read it."""
    value = row.get(column.key)
    if column.kind == "interval":
        ends = ("low", "high")
        if column.key != "interval":
            ends = (f"{column.key}_low", f"{column.key}_high")
        low, high = (row.get(end) for end in ends)
        return "–" if low is None or high is None else bounds_text(low, high, None, column.decimals)
    if value is None:
        return "–"
    if column.kind == "number":
        return number(value, column.sign, column.decimals)
    if column.kind == "percent":
        return f"{value * 100:.{max(column.decimals - 2, 0)}f} %"
    if column.kind == "p":
        return probability({"p": value}, "p")
    if column.kind == "count":
        return f"{value:,.0f}".replace(",", "\u202f")
    return str(value)


def _warned(shown: Shown) -> str:
    notes = "".join(f"<li>{escape(text)}</li>" for text in shown.warnings)
    return f'<div class="notice notice-warn"><ul>{notes}</ul></div>' if notes else ""
