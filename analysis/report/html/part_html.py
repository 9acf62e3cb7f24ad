"""A part of a report as HTML: its answer in words, warnings, figures and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from markupsafe import Markup

from analysis.formatting import counted, interval_text, number, p_value, whole_number
from analysis.report.content import Column, Content, Figure, Table, content_from
from analysis.report.emphasis import Emphasised
from analysis.report.figures import figure_svg
from analysis.report.figures.all_figures import named_files
from analysis.report.figures.figure_table import figure_table
from analysis.report.figures.svg import is_wide
from analysis.report.html.environment import join, render
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


def part_html(part: PartRecord, link: Link = no_link) -> Markup:
    """The part's HTML; all text is escaped here.

    ``link`` says where the files of its figures and tables are, such as ``tiers-means.csv``;
    without it, nothing is linked.
    """
    if part["problem"]:
        return Markup('<p class="muted">{}</p>').format(part["problem"])
    shown = content_from(part)
    tables = named_files(part["key"], shown.tables)
    return content_html(part, shown, link, tables=join(table_html(t, k, link) for k, t in tables))


def content_html(
    part: PartRecord, shown: Content, link: Link, *, tables: str, first_tables: str = ""
) -> Markup:
    """A part's sentences, warnings and figures, with tables before and after the figures."""
    drawn = named_files(part["key"], shown.figures)
    return render(
        "part",
        sentences=shown.sentences,
        warnings=shown.warnings,
        first_tables=first_tables,
        figures=join(figure_html(figure, key, link) for key, figure in drawn),
        tables=tables,
    )


def figure_html(figure: Figure, key: str, link: Link = no_link) -> Markup:
    """The figure with its title, its note, links to its files, and its numbers as a folded table.

    ``key`` is the name of its files and begins its ids.
    """
    svg = Markup(figure_svg(figure, key))
    behind = table_html(figure_table(figure), key, most=MOST_BEHIND)
    files = _links([f"{key}.{kind}" for kind in FILE_KINDS], link)
    return render(
        "figure",
        figure=figure,
        title=figure.title,
        svg=svg,
        wide=is_wide(svg),
        numbers=fold("Numbers in this figure", counted(len(figure.rows), "row"), behind + files),
    )


def table_html(shown: Table, key: str = "", link: Link = no_link, most: int = MOST_ROWS) -> Markup:
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
    below = join(Markup('<p class="muted small">{}</p>').format(x) for x in (shown.note, more) if x)
    below += _links([name], link) if key else ""
    heading = (lambda row: str(row.get(shown.group) or "")) if shown.group else None
    title = "" if shown.folded else shown.title
    html = table(rows, columns, title, len(rows) > 60, heading) + below
    return fold(shown.title, counted(len(shown.rows), "row"), html) if shown.folded else html


def cell(column: Column, row: Mapping[str, Any]) -> str:
    """A value as people read it, with the mark that the row has for it (`emphasis.with_best`)."""
    mark = "" if column.kind == "interval" else str(row.get(f"{column.key}_mark") or "")
    return Emphasised.with_mark(_text(column, row), mark)


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
        return whole_number(value)
    return str(value)


def _links(names: Iterable[str], link: Link) -> Markup:
    anchor = Markup('<a href="{}">{}</a>')
    linked = [anchor.format(where, name) for name in names if (where := link(name))]
    line = Markup('<p class="small">{}</p>')
    return line.format(Markup(" · ").join(linked)) if linked else join([])
