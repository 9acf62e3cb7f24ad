"""A report as Markdown: its sentences, figures by their files, and its tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from analysis.citations import works_in
from analysis.formatting import counted
from analysis.name_spans import resolve
from analysis.report.condition_labels import label_report
from analysis.report.content import Table, content_from
from analysis.report.emphasis import BEST, Emphasised
from analysis.report.figures.all_figures import Plot, plots
from analysis.report.interim_answer import interim_report, interim_words
from analysis.report.report_schema import PartRecord, Report
from analysis.report.writers.exports import stored_json
from analysis.report.writers.methods_text import methods_in_full
from analysis.report.writers.paper_tables import NamedTable, cells_of, is_number, paper_tables

MOST_ROWS = 200
FIGURES = "figures"
FIRST = "answer"  # the part that stands before the estimates
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~])")


def report_markdown(report: Report, figures: bool = True) -> str:
    """The whole report; figures are linked to the PNG files of the bundle, if it has some."""
    return "\n".join(_lines(report, figures)) + "\n"


def table_markdown(table: Table, most: int | None = None) -> str:
    """One table as Markdown (pipes), with its title before and its note below."""
    heads = [escape_markdown(column.heading) or " " for column in table.columns]
    rules = ["---:" if is_number(column) else ":---" for column in table.columns]
    rows = list(table.rows if most is None else table.rows[:most])
    lines = [f"**{escape_markdown(table.title)}**", "", _row(heads), _row(rules)]
    for heading, some in replace(table, rows=rows).grouped():
        lines += [_row([f"**{escape_markdown(heading)}**", *[" "] * (len(heads) - 1)])] * bool(
            heading
        )
        lines += [_row(list(map(_mark_cell, row))) for row in cells_of(replace(table, rows=some))]
    if len(table.rows) > len(rows):
        lines += ["", f"{len(table.rows) - len(rows)} more rows are in the CSV."]
    if table.note:
        lines += ["", escape_markdown(table.note)]
    return "\n".join(lines) + "\n"


def _lines(whole: Report, figures: bool) -> Iterator[str]:
    whole = interim_report(whole)
    report = label_report(whole)
    origin = report["provenance"]
    yield f"# Results of {escape_markdown(', '.join(origin['studies']) or 'ratings')}\n"
    if report["made_at"]:
        yield f"Ratings up to {escape_markdown(report['made_at'])}.\n"
    if words := interim_words(report):
        yield f"**{escape_markdown(words)}**\n"
    data = report["data"]
    yield (
        f"{data['ratings_kept']:,} of {counted(data['ratings'], 'rating')} by "
        f"{counted(data['raters_kept'], 'rater')} of {counted(data['items_kept'], 'item')} in "
        f"{counted(data['conditions_kept'], 'condition')}.\n"
    )
    yield from (f"- {escape_markdown(text)}" for text in report["warnings"])
    tables, drawn = paper_tables(whole), plots(report) if figures else []
    parts = report.get("parts", ())
    for part in parts:
        if part["key"] == FIRST:
            yield from _part(part, tables, drawn)
    yield "\n## Estimates\n"
    yield from (_figure(plot) for plot in drawn if plot.key.startswith("estimates-"))
    yield from (table_markdown(n.table, MOST_ROWS) for n in tables if n.part is None)
    for part in parts:
        if part["key"] != FIRST:
            yield from _part(part, tables, drawn)
    yield "## Methods\n"
    yield from (f"{escape_markdown(resolve(text))}\n" for text in methods_in_full(report))
    if works := works_in([*methods_in_full(whole), stored_json(whole)]):
        yield "### References\n"
        yield from (f"- {escape_markdown(work.reference)}" for work in works)
        yield ""
    unused = report.get("input", {}).get("columns_not_used", ())
    if unused:
        names = ", ".join(name or "(without a name)" for name in unused)
        yield f"## Input\n\nColumns of the file that are not used: {escape_markdown(names)}.\n"
    yield "## Made with\n"
    for name, value in origin.items():
        if value not in ("", [], {}):
            yield f"- {name.replace('_', ' ')}: {escape_markdown(_plain(value))}"


def _part(part: PartRecord, tables: list[NamedTable], drawn: list[Plot]) -> Iterator[str]:
    if part["problem"]:
        yield f"## {escape_markdown(part['title'])}\n\n{escape_markdown(part['problem'])}\n"
        return
    shown = content_from(part)
    if not (shown.sentences or shown.figures or shown.tables or shown.warnings):
        return
    yield f"## {escape_markdown(part['title'])}\n"
    yield from (f"{escape_markdown(sentence)}\n" for sentence in shown.sentences)
    yield from (f"- Note: {escape_markdown(warning)}" for warning in shown.warnings)
    yield ""
    for plot in drawn:
        if plot.about[0] == part["key"]:
            yield _figure(plot)
    for named in tables:
        if named.part is not None and named.part["key"] == part["key"]:
            yield table_markdown(named.table, MOST_ROWS)


def _figure(plot: Plot) -> str:
    note = f"\n{escape_markdown(plot.figure.note)}\n" if plot.figure.note else ""
    return f"![{escape_markdown(plot.title)}]({FIGURES}/{plot.key}.png)\n{note}"


def _mark_cell(cell: str) -> str:
    """A cell, escaped; the best in bold, the second best underlined."""
    text = escape_markdown(cell)
    if not isinstance(cell, Emphasised):
        return text
    return f"**{text}**" if cell.mark == BEST else f"<u>{text}</u>"


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def escape_markdown(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split(" ")).replace("\n", " "))


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {version}" for name, version in value.items())
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return str(value)
