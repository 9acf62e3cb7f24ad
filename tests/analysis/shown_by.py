"""A part made of a table, as a report would make it: what it is given, and what it shows."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analysis.name_spans import resolve
from analysis.report.build import report_of
from analysis.report.content import Content, Figure, Headline, Table, content_from
from analysis.report.part import Part, PartInput
from analysis.report.pipeline import plain_of
from analysis.statistics.options import Options
from analysis.statistics.screening.screened import screen


def given_of(table: pd.DataFrame, options: Options | None = None, **report: Any) -> PartInput:
    """What parts are given; ``report`` is empty unless named, so numbers are made anew."""
    options = options or Options()
    screened = screen(table, options.rules)
    return PartInput(screened.kept(options.rules), screened, options, None, report)


def made(part: type[Part], table: pd.DataFrame, options: Options | None = None) -> Content:
    """What the part shows, after a way through plain values."""
    return content_from(in_keys(plain_of(part().make(given_of(table, options)).plain())))


def in_report(key: str, table: pd.DataFrame, options: Options) -> tuple[Content, dict[str, Any]]:
    """What the part shows in a whole report, and the report."""
    report = report_of(table, options=options, made_at="2026-01-01T00:00:00Z")
    (part,) = (part for part in report["parts"] if part["key"] == key)
    assert part["problem"] == ""
    return content_from(in_keys(part)), report


def in_keys(value: Any) -> Any:
    """A value, such as a part's content, with every name in its texts as its key."""
    if isinstance(value, str):
        return resolve(value)
    if isinstance(value, dict):
        return {name: in_keys(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([in_keys(each) for each in value])
    if isinstance(value, Content | Table | Figure | Headline):
        return type(value)(**{name: in_keys(each) for name, each in vars(value).items()})
    return value


def table_named(shown: Content, key: str) -> Table:
    """The table whose key begins so."""
    (found,) = (table for table in shown.tables if table.key.startswith(key))
    return found
