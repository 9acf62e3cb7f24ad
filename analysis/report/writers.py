"""A report as files: CSV tables, JSON, SVG figures and the HTML page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from analysis.cells import csv_cell
from analysis.report.page import page_html
from analysis.report.plots import plots

FIRST_COLUMNS = (
    "screening",
    "breakdown",
    "estimand",
    "study",
    "task",
    "criterion",
    "condition",
    "versus",
    "versus_condition",
)
ESTIMATES = "estimates"
TABLES = ("estimates", "contrasts", "shares", "exclusions", "screening", "correlations")


def report_json(report: Mapping[str, Any]) -> str:
    """The report as JSON; two reports of the same table differ in ``made_at`` only."""
    return json.dumps(report, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def report_from_json(text: str) -> dict[str, Any]:
    """A report read back from its JSON."""
    report: dict[str, Any] = json.loads(text)
    return report


def table_csv(report: Mapping[str, Any], name: str) -> str:
    """One of a report's tables as CSV, each line with the report's provenance.

    No interval is an empty cell; the column ``note`` says why.
    """
    origin = report["provenance"]
    rows: list[Mapping[str, Any]] = report[name]
    columns = _columns(rows)
    told = {
        "estimator": f"{origin['estimator']} {origin['estimator_version']}",
        "seed": origin["seed"],
        "table_hash": origin["table_hash"],
        "code": origin["code"],
    }
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*columns, *told])
    for row in rows:
        cells = [row.get(column) for column in columns]
        writer.writerow([csv_cell(cell) for cell in (*cells, *told.values())])
    return buffer.getvalue()


def estimates_json(report: Mapping[str, Any]) -> str:
    """Estimates, contrasts and shares with exclusions, warnings and provenance, as JSON."""
    left_out = ("correlations", "points")
    return report_json({k: v for k, v in report.items() if k not in left_out})


def scores_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Metric scores (ScoreRow) as CSV, as `analyse --scores` reads them."""
    columns = ("sha256", "stimulus", "metric", "version", "value")
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([csv_cell(row[name]) for name in columns] for row in rows)
    return buffer.getvalue()


def write_report(report: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write every file of a report into the folder, which is made when absent; what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "report.html": page_html(report),
        "report.json": report_json(report),
        "estimates.json": estimates_json(report),
    }
    for name in TABLES:
        if report[name] or name == ESTIMATES:
            texts[f"{name}.csv"] = table_csv(report, name)
    for plot in plots(report):
        texts[f"{plot.key}.svg"] = plot.standalone
    written = []
    for name, text in texts.items():
        path = folder / name
        path.write_text(text, encoding="utf-8", newline="")
        written.append(path)
    return written


def _columns(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    present = dict.fromkeys(column for row in rows for column in row)
    first = [column for column in FIRST_COLUMNS if column in present]
    last = [column for column in ("note",) if column in present]
    middle = [column for column in present if column not in (*first, *last)]
    groups = [column for column in middle if column not in _NUMBERS]
    numbers = [column for column in middle if column in _NUMBERS]
    return [*first, *groups, *numbers, *last]


_NUMBERS = frozenset(
    {
        "weighting",
        "value",
        "low",
        "high",
        "level",
        "interval",
        "p",
        "p_holm",
        "n",
        "n_ratings",
        "n_raters",
        "n_items",
    }
)
