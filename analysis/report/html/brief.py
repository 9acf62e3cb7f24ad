"""A report cut to what a page shows: long tables end early, and say where the rest is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from analysis.ratings.estimands import estimand_of, family_title
from analysis.report.html.view import slice_of, slices, titles
from analysis.report.pivot import PER_INTERVAL, Line, lines_of
from analysis.report.report_schema import EstimateRow, PartRecord, Report, TableRecord

MOST_ROWS = 100
OVERALL = "condition:"
Pair = tuple[str, str, tuple[Any, ...]]


def brief_of(report: Report, most: int = MOST_ROWS) -> Report:
    """The report with at most that many rows per table; estimates and shares are kept whole.

    ``counted`` tells how many differences there were per slice and family, and how many are clear.
    """
    return {
        **report,
        "contrasts": list(_fewer_contrasts(report, most)),
        "counted": count_differences(report),
        "titles": titles(report),
        "slices": [[each.key, each.group, each.name] for each in slices(report)],
        "screening": [],  # its part has them
        "left_out": {},  # for files of ratings
        "parts": [brief_part(part, most) for part in report.get("parts", [])],
    }


def count_differences(report: Report) -> dict[str, list[int]]:
    """For each slice and family: differences (of ratings), those tested, those claimed."""
    if "counted" in report:
        counts: dict[str, list[int]] = report["counted"]
        return counts
    groups: dict[str, list[Line]] = {}
    for line in lines_of(report["contrasts"]):
        if line.weighting == "ratings":
            groups.setdefault(slice_of(line.row) + family_title(line.row), []).append(line)
    return {key: _count_lines(lines) for key, lines in groups.items()}


def _count_lines(lines: Sequence[Line]) -> list[int]:
    decided = [line.main.get("claimed") for line in lines if line.main]
    tested = [claimed for claimed in decided if claimed is not None]
    return [len(lines), len(tested), sum(tested)]


def _fewer_contrasts(report: Report, most: int) -> Iterator[EstimateRow]:
    """The rows of at most that many pairs per table: those among the best conditions."""
    places = _places(report["estimates"])
    groups: dict[tuple[str, str, str], dict[Pair, list[EstimateRow]]] = {}
    for row in report["contrasts"]:
        title = family_title(row)
        pairs = groups.setdefault((slice_of(row), title, row.get("weighting", "")), {})
        own = tuple(v for k, v in row.items() if k not in PER_INTERVAL)
        pairs.setdefault((row["condition"], row["versus"], own), []).append(row)
    for (_, title, _), pairs in groups.items():
        place = places.get(title, {})
        chosen = sorted(pairs, key=lambda pair: _worst_first_last(pair, place))[:most]
        shown = set(chosen)
        for pair, rows in pairs.items():
            if pair in shown:
                yield from rows


def _worst_first_last(pair: Pair, place: Mapping[str, int]) -> tuple[int, int]:
    both = [place.get(name, len(place)) for name in pair[:2]]
    return max(both), min(both)


def _places(estimates: Iterable[EstimateRow]) -> dict[str, dict[str, int]]:
    """The place of each condition in its family, the best first."""
    values: dict[str, dict[str, float]] = {}
    for row in estimates:
        if row["breakdown"] == OVERALL and row.get("weighting", "ratings") == "ratings":
            sign = 1 if estimand_of(row["estimand"]).lowest_is_best else -1
            values.setdefault(family_title(row), {})[row["condition"]] = sign * row["value"]
    return {
        title: {
            name: n for n, name in enumerate(sorted(means, key=lambda name: (means[name], name)))
        }
        for title, means in values.items()
    }


def brief_part(part: PartRecord, most: int) -> PartRecord:
    """The part with the first rows of its tables, and of these what a page shows."""
    if part.get("problem") or not part.get("tables"):
        return part
    files = dict.fromkeys(part["files"], "")  # their names; the whole report has the texts
    tables = [_brief_table(each, most) for each in part["tables"]]
    return {**part, "files": files, "tables": tables}


def _brief_table(table: TableRecord, most: int) -> TableRecord:
    rows = table["rows"]
    shown = {column["key"] for column in table["columns"]} | {table.get("group", "")}
    shown |= {f"{key}_{end}" for key in shown for end in ("low", "high", "mark")} | {"low", "high"}
    brief_rows = [{k: v for k, v in row.items() if k in shown} for row in rows[:most]]
    if len(rows) <= most:
        return {**table, "rows": brief_rows}
    more = f"{len(rows) - most} more rows are in the file {table['key']}.csv."
    return {**table, "rows": brief_rows, "note": " ".join(filter(None, (table["note"], more)))}
