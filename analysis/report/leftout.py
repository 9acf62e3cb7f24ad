"""What was left out: how much by which rule, and the estimates under each rule alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.report.estimands import by_family, looked_up, place_of
from analysis.report.pivot import Line, lines_of
from analysis.report.tables import NOTHING, Column, bounds, fold, foot, number, table
from analysis.scales import Ends, ends_of


def left_out(report: Mapping[str, Any]) -> str:
    """The HTML of a fold; its line says how much each rule left out."""
    columns = [
        Column("Rule", lambda row: row["what"]),
        Column("Version", lambda row: f"{row['rule']} {row['version']}"),
        Column("Ratings", lambda row: str(row["ratings"]), numeric=True),
        Column("Not by a rule above", lambda row: _count(row, "ratings_told"), numeric=True),
        Column("By this rule alone", lambda row: _count(row, "ratings_only_here"), numeric=True),
        Column("Raters", lambda row: str(row["raters"]), numeric=True),
        Column("Blocks", lambda row: str(row["blocks"]), numeric=True),
    ]
    traps = report["data"]["trap_ratings"]
    caption = f"Ratings that each rule leaves out; the {traps} answers to traps are never in"
    counts = table(report["exclusions"], columns, caption)
    return fold("Left out", _line(report), counts + _sensitivity(report))


def _line(report: Mapping[str, Any]) -> str:
    data = report["data"]
    gone = data["ratings"] - data["ratings_kept"]
    if not gone:
        return f"none of {data['ratings']} ratings"
    rules = [(row["rule"], row.get("ratings_told", row["ratings"])) for row in report["exclusions"]]
    told = ", ".join(f"{count} by {rule}" for rule, count in rules if count)
    return f"{gone} of {data['ratings']} ratings ({told})"


def _count(row: Mapping[str, Any], name: str) -> str:
    return str(row.get(name, NOTHING))  # reports of earlier versions lack some


def _sensitivity(report: Mapping[str, Any]) -> str:
    parts = []
    names = list(dict.fromkeys(row["screening"] for row in report["screening"]))
    for title, lines in by_family(lines_of(report["screening"])).items():
        ends = ends_of(report, lines[0].row)
        cells = {(place_of(line), line.row["screening"]): line for line in lines}
        places = list(dict.fromkeys(place_of(line) for line in lines))
        columns = [Column("Condition", " versus ".join)]
        columns += [_estimate(name, cells, ends) for name in names]
        made = table(places, columns, f"Estimates under each rule alone: {title}")
        parts.append(made + foot(made))
    return "".join(parts)


def _estimate(name: str, cells: Mapping[tuple[tuple[str, ...], str], Line], ends: Ends) -> Column:
    def shown(line: Line | None) -> str:
        if line is None:
            return NOTHING
        return f"{number(line.row['value'])} {bounds(line.main, ends)}"

    return looked_up(name, name, cells, shown)
