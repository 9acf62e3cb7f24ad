"""A report's numbers as text: CSV tables, those of its parts and figures, and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.name_spans import resolve
from analysis.ratings.cells import FACTS, csv_text
from analysis.report.content import Column, Figure, Table
from analysis.report.report_schema import FIRST_COLUMNS, PartRecord, Report, RowsName
from analysis.statistics.estimator import NUMBERS, OF_CONTRASTS

ESTIMATES = "estimates"
OF_METRICS = frozenset({"against_people", "trap_detection"})  # parts about metric scores
SCORES = (
    *("sha256", "stimulus", "metric", "version", "value"),
    *("higher_is_better", "reason", "low", "high", "title"),
    *FACTS,
)


def report_json(report: Report) -> str:
    """The report as JSON; two reports of the same table differ in ``made_at`` only.

    Its sentences name conditions and families by their keys.
    """
    return resolve(stored_json(report))


def stored_json(report: Report) -> str:
    """The report as JSON that keeps the spans of its sentences, for pages to come."""
    return json.dumps(report, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def report_from_json(text: str) -> Report:
    """A report read back from its JSON."""
    report: Report = json.loads(text)
    return report


def table_csv(report: Report, name: RowsName) -> str:
    """One of a report's tables as CSV, each line with the report's provenance.

    No interval is an empty cell; the column ``note`` says why.
    """
    origin = report["provenance"]
    rows: Sequence[Mapping[str, Any]] = report[name]
    estimator = f"{origin['estimator']} {origin['estimator_version']}"
    return _csv(_columns(rows), rows, {"estimator": estimator, **_origin(report)})


def part_table_csv(report: Report, part: PartRecord, table: Table) -> str:
    """A table of a part as CSV: all that its rows hold, the columns it shows first, provenance."""
    last = {"part": f"{part['key']} {part['version']}", **_origin(report)}
    return bare_table_csv(table, last)


def bare_table_csv(table: Table, last: Mapping[str, Any]) -> str:
    """A table as CSV: all that its rows hold, the columns it shows first, ``last`` in each line."""
    shown = [table.group] * bool(table.group)
    shown += [key for column in table.columns for key in _keys(column)]
    present = dict.fromkeys(key for row in table.rows for key in row)
    columns = [*[key for key in shown if key in present], *[k for k in present if k not in shown]]
    return _csv(columns, table.rows, last)


def figure_csv(report: Report, figure: Figure) -> str:
    """The data behind a figure as CSV, with provenance."""
    present = dict.fromkeys(key for row in figure.rows for key in row)
    return _csv(list(present), figure.rows, _origin(report))


def estimates_json(report: Report) -> str:
    """Estimates, contrasts and shares with exclusions, warnings and provenance, as JSON."""
    parts = [part for part in report["parts"] if part["key"] not in OF_METRICS]
    return report_json({**report, "parts": parts})


def scores_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Metric scores (ScoreRow, or with fewer columns) as CSV, as `analyse --scores` reads it."""
    rows = list(rows)
    present = {name for row in rows for name in row} if rows else set(SCORES[:5])
    return _csv([name for name in SCORES if name in present], rows, {})


def _origin(report: Report) -> dict[str, Any]:
    """Where the numbers come from, in every line of every CSV."""
    origin = report["provenance"]
    return {"seed": origin["seed"], "table_hash": origin["table_hash"], "code": origin["code"]}


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], last: Mapping[str, Any]) -> str:
    cells = ([*(row.get(column) for column in columns), *last.values()] for row in rows)
    return csv_text([[*columns, *last], *(map(_flat, row) for row in cells)])


def _flat(value: Any) -> Any:
    """What a cell can hold: lists and mappings become JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value


def _keys(column: Column) -> tuple[str, ...]:
    """The keys of the rows that a column reads."""
    if column.kind != "interval":
        return (column.key,)
    start = "" if column.key == "interval" else f"{column.key}_"
    return f"{start}low", f"{start}high"


def _columns(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    present = dict.fromkeys(column for row in rows for column in row)
    first = [column for column in FIRST_COLUMNS if column in present]
    last = [column for column in ("note",) if column in present]
    middle = [column for column in present if column not in (*first, *last)]
    groups = [column for column in middle if column not in _NUMBERS]
    numbers = [column for column in middle if column in _NUMBERS]
    return [*first, *groups, *numbers, *last]


_NUMBERS = frozenset({*NUMBERS, *OF_CONTRASTS, "n"})
