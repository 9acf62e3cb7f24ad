"""The differences of a family: to the reference, then among systems, as a matrix and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape

from analysis.report import interim_answer
from analysis.report.content import Content, Table, content_from
from analysis.report.figures.all_figures import part_keys
from analysis.report.html.html_tables import fold
from analysis.report.html.part_html import Link, figure_html, part_html, table_html, warned
from analysis.report.report_schema import PartRecord

COMPARED, PAIRS = "comparisons", "pairs"  # parts that hold differences, and of an open study:
SO_FAR = interim_answer.DIFFERENCES
SHORT = ("condition", "versus", "difference", "p_adjusted")  # columns that are read first


def differences(parts: Iterable[PartRecord], link: Link) -> str:
    """HTML of the parts on differences, already about one family; empty without any.

    Tables are cut to name, difference, adjusted interval and p; whole they are folded below.
    """
    by_key = {part["key"]: part for part in parts if not part["problem"]}
    shown = []
    if COMPARED in by_key:
        shown.append(_compared(by_key[COMPARED], link))
    if SO_FAR in by_key:
        shown.append(part_html(by_key[SO_FAR]))  # files hold the report of all ratings
    if PAIRS in by_key:
        shown.append(part_html(by_key[PAIRS], link))
    return "".join(shown)


def _compared(part: PartRecord, link: Link) -> str:
    shown = content_from(part)
    names = part_keys(part["key"], [table.key for table in shown.tables])
    named = list(zip(shown.tables, names, strict=True))
    against = [table for table, _ in named if "reference" in table.key.split("-")]
    reference = [_to_reference(_short(table)) for table in against]
    every = [_short(table) for table, _ in named if "all" in table.key.split("-")]
    if reference:
        every = [_without_reference(table, reference) for table in every]
    drawn = part_keys(part["key"], [figure.key for figure in shown.figures])
    figures = "".join(
        figure_html(figure, key, link) for figure, key in zip(shown.figures, drawn, strict=True)
    )
    full = "".join(table_html(table, name, link) for table, name in named)
    return (
        _said(shown)
        + "".join(table_html(table) for table in reference)
        + (f'<div class="plots">{figures}</div>' if figures else "")
        + "".join(table_html(table) for table in every if table.rows)
        + fold("Every difference in full", "effect sizes, single tests, within raters", full)
    )


def _said(shown: Content) -> str:
    return "".join(f"<p>{escape(sentence)}</p>" for sentence in shown.sentences) + warned(shown)


def _short(table: Table) -> Table:
    columns = [column for column in table.columns if column.key in SHORT]
    title = table.title.replace("All pairs", "Among all")
    return replace(table, title=title, columns=columns, note="")


def _to_reference(table: Table) -> Table:
    """Of the reference's table the title names it, not every row."""
    names = list(dict.fromkeys(str(row["versus"]) for row in table.rows))
    columns = [column for column in table.columns if column.key != "versus"]
    return replace(table, title=f"Against {', '.join(names)}, the reference", columns=columns)


def _without_reference(table: Table, reference: Sequence[Table]) -> Table:
    """The pairs that do not stand in the table of the reference."""
    there = {frozenset((row["condition"], row["versus"])) for t in reference for row in t.rows}
    rows = [row for row in table.rows if frozenset((row["condition"], row["versus"])) not in there]
    title = table.title.replace("Among all", "Among the systems")
    return replace(table, title=title, rows=rows)
