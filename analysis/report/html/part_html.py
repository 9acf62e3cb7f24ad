"""A part of a report as HTML: its answer in words, warnings, figures and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from html import escape
from typing import Any

from analysis.formatting import counted, interval_text, number, p_value
from analysis.report.content import Column, Content, Figure, Table, content_from
from analysis.report.emphasis import Emphasised
from analysis.report.figures import figure_svg
from analysis.report.figures.all_figures import part_keys
from analysis.report.figures.figure_table import figure_table
from analysis.report.figures.svg import is_wide
from analysis.report.html.html_tables import Column as Shaped
from analysis.report.html.html_tables import fold, table
from analysis.report.report_schema import PartRecord

MOST_ROWS = 400
MOST_BEHIND = 100  # of the numbers behind a figure
FILE_KINDS = ("svg", "csv", "pdf", "png")  # a bundle has all, the site the first two

STIMULUS, CLIP = "stimulus", "clip:"  # a column of clips, and how a link asks for one
Link = Callable[[str], str]  # a file's name to where it is; empty where there is none


def no_link(name: str) -> str:
    """Of a page that stands alone: there are no files beside it."""
    return ""


def part_html(part: PartRecord, link: Link = no_link) -> str:
    """The part's HTML; all text is escaped here.

    ``link`` says where the files of its figures and tables are, such as ``tiers-means.csv``
    (`analysis.report.files` has them by these names); without it, nothing is linked.
    """
    if part["problem"]:
        return f'<p class="muted">{escape(part["problem"])}</p>'
    shown = content_from(part)
    words = "".join(f"<p>{escape(sentence)}</p>" for sentence in shown.sentences)
    drawn = part_keys(part["key"], [figure.key for figure in shown.figures])
    named = part_keys(part["key"], [each.key for each in shown.tables])
    figures = "".join(
        figure_html(figure, key, link) for key, figure in zip(drawn, shown.figures, strict=True)
    )
    figures = f'<div class="plots">{figures}</div>' if figures else ""
    tables = "".join(
        table_html(each, key, link) for key, each in zip(named, shown.tables, strict=True)
    )
    return words + warned(shown) + figures + tables


def figure_html(figure: Figure, key: str, link: Link = no_link, named: bool = True) -> str:
    """The figure with its title, its note, links to its files, and its numbers as a folded table.

    ``key`` is the name of its files and begins its ids; ``named`` False leaves the title out.
    """
    svg = figure_svg(figure, key)
    wide = " chart-wide" if is_wide(svg) else ""
    if wide:
        label = escape(figure.title, quote=True)
        svg = (
            f'<div class="plot-scroll" tabindex="0" role="region" aria-label="{label}">{svg}</div>'
        )
    title = f"<figcaption>{escape(figure.title)}</figcaption>" if named else ""
    note = f'<p class="muted small">{escape(figure.note)}</p>' if figure.note else ""
    files = _links([f"{key}.{kind}" for kind in FILE_KINDS], link)
    numbers = fold(
        "Numbers in this figure",
        counted(len(figure.rows), "row"),
        table_html(figure_table(figure), key, most=MOST_BEHIND) + files,
    )
    return f'<figure class="chart{wide}">{title}{svg}{note}{numbers}</figure>'


def table_html(shown: Table, key: str = "", link: Link = no_link, most: int = MOST_ROWS) -> str:
    """One table, folded where it says so, cut where it is too long to read."""
    columns = [
        Shaped(
            column.heading,
            partial(cell, column),
            column.kind not in ("text", "mark"),
            (lambda row: link(f"{CLIP}{row[STIMULUS]}")) if column.key == STIMULUS else None,
        )
        for column in shown.columns
    ]
    rows = list(shown.rows)[:most]
    cut = len(shown.rows) - len(rows)
    name = f"{key or shown.key}.csv"
    more = f"{counted(cut, 'further row')} in the file {name}." if cut else ""
    below = "".join(
        f'<p class="muted small">{escape(text)}</p>' for text in (shown.note, more) if text
    )
    below += _links([name], link) if key else ""
    heading = (lambda row: str(row.get(shown.group) or "")) if shown.group else None
    title = "" if shown.folded else shown.title
    made = table(rows, columns, title, len(rows) > 60, heading) + below
    return fold(shown.title, counted(len(shown.rows), "row"), made) if shown.folded else made


def cell(column: Column, row: Mapping[str, Any]) -> str:
    """A value as people read it, with the mark that the row has for it (`emphasis.with_best`)."""
    mark = "" if column.kind == "interval" else str(row.get(f"{column.key}_mark") or "")
    return Emphasised.of(_text(column, row), mark)


def _text(column: Column, row: Mapping[str, Any]) -> str:
    value = row.get(column.key)
    if column.kind == "interval":
        ends = ("low", "high")
        if column.key != "interval":
            ends = (f"{column.key}_low", f"{column.key}_high")
        low, high = (row.get(end) for end in ends)
        return (
            "–" if low is None or high is None else interval_text(low, high, None, column.decimals)
        )
    if value is None:
        return "–"
    if column.kind == "number":
        return number(value, column.sign, column.decimals)
    if column.kind == "percent":
        return f"{value * 100:.{max(column.decimals - 2, 0)}f} %"
    if column.kind == "p":
        return p_value(value)
    if column.kind == "count":
        return f"{value:,.0f}".replace(",", "\u202f")
    return str(value)


def _links(names: Iterable[str], link: Link) -> str:
    places = [(name, link(name)) for name in names]
    linked = [
        f'<a href="{escape(where, quote=True)}">{escape(name)}</a>'
        for name, where in places
        if where
    ]
    return f'<p class="small">{" · ".join(linked)}</p>' if linked else ""


def warned(shown: Content) -> str:
    """The warnings of a part, as a notice."""
    notes = "".join(f"<li>{escape(text)}</li>" for text in shown.warnings)
    return f'<div class="notice notice-warn"><ul>{notes}</ul></div>' if notes else ""
