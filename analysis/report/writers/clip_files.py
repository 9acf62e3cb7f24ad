"""Scores of individual clips as CSV and JSON, with where they are from."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from analysis.ratings.cells import unescape_cells
from analysis.report.report_schema import PartRecord, Report

KEY = "clip_scores"  # of the part
COLUMNS = {
    "n_ratings": "number of ratings",
    "n_raters": "number of raters",
    "mean": "mean of the ratings (MOS and the like)",
    "sd": "standard deviation of the ratings (n - 1)",
    "se": "standard error of the mean, clustered by rater (SD / sqrt(n) if each rated it once)",
    "low": "lower end of the mean's interval, t with n_raters - 1 degrees of freedom",
    "high": "upper end of the mean's interval",
    "recovered": "recovered score of ITU-T P.910 (subject model as published)",
    "recovered_se": "its standard error, as published",
    "recovered_low": "lower end of its interval (normal)",
    "recovered_high": "upper end of its interval",
    "recovered_unbiased": "recovered score with the unbiased step",
    "recovered_unbiased_se": "its standard error",
    "recovered_unbiased_low": "lower end of its interval (normal)",
    "recovered_unbiased_high": "upper end of its interval",
    "bt500_n": "number of ratings by raters whom ITU-R BT.500 does not reject",
    "bt500_mean": "their mean",
    "bt500_sd": "their standard deviation (n - 1)",
    "bt500_low": "lower end of their mean's interval, made as that of all",
    "bt500_high": "upper end of their mean's interval",
    "note": "why the mean has no interval",
}
_TOLD = ("level", "table_hash", "code")
_COUNTS = frozenset({"n_ratings", "n_raters", "bt500_n"})


def clip_files(report: Report, part: PartRecord) -> dict[str, str]:
    """The part's files by name: each CSV with its provenance in every line, and the same as JSON.

    JSON has ``provenance``, ``columns`` (what each number is) and ``rows``, one mapping a line; a
    number that does not exist is null there and empty in CSV.
    """
    files = {}
    for name, text in part["files"].items():
        header, *lines = csv.reader(io.StringIO(text))
        stem = name.removesuffix(".csv")
        files[name] = _csv(header, lines, report["provenance"])
        files[f"{stem}.json"] = _json(header, lines, report["provenance"])
    return files


def _csv(header: list[str], lines: list[list[str]], origin: Mapping[str, Any]) -> str:
    last = [origin[name] for name in _TOLD]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*header, *_TOLD])
    writer.writerows([*line, *last] for line in lines)
    return buffer.getvalue()


def _json(header: list[str], lines: list[list[str]], origin: Mapping[str, Any]) -> str:
    columns = [_typed_cells(name, [line[i] for line in lines]) for i, name in enumerate(header)]
    rows = [dict(zip(header, values, strict=True)) for values in zip(*columns, strict=True)]
    metadata = {"provenance": dict(origin), "columns": COLUMNS}
    head = json.dumps(metadata, ensure_ascii=False, allow_nan=False)[:-1]
    each = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
    return f'{head}, "rows": [\n' + ",\n".join(each) + "\n]}\n"


def _typed_cells(name: str, cells: list[str]) -> list[Any]:
    if name not in COLUMNS or name == "note":
        return unescape_cells(cells, "condition")
    kind: type[int] | type[float] = int if name in _COUNTS else float
    return [kind(cell) if cell else None for cell in cells]


TEXTGRIDS = "marking-textgrids.zip"


def has_textgrids(report: Report) -> bool:
    """Whether waveforms were marked; the report may lack its files."""
    return any(
        table["key"].startswith("marked_places")
        for part in report.get("parts", ())
        if not part["problem"]
        for table in part["tables"]
    )


def mark_textgrids(report: Report) -> dict[str, str]:
    """Return TextGrids of clips whose waveforms were marked, by their names."""
    from analysis.report.writers.marks_textgrid import textgrids

    files: dict[str, str] = {}
    for name, text in part_files(report).items():
        if name.startswith("marking-marks") and name.endswith(".json"):
            task = name.removeprefix("marking-marks").removesuffix(".json").strip("-_")
            folder = f"{task}/" if task else ""
            files |= {f"{folder}{each}": grid for each, grid in textgrids(text).items()}
    return files


def part_files(report: Report) -> dict[str, str]:
    """Return the further files of single analyses, such as marking-marks.json, by their names."""
    return {
        f"{part['key']}-{PurePosixPath(file).name}": text
        for part in report.get("parts", ())
        if not part["problem"] and part["key"] != KEY
        for file, text in part["files"].items()
    }
