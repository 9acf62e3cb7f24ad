"""Metrics and human scores: every correlation in one short table, the rest folded behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from analysis.report.estimands import short_titles
from analysis.report.pivot import Line, lines_of
from analysis.report.plots import metric_plots
from analysis.report.tables import Column, bounds, fold, noted, number, table
from analysis.scales import family_title

SHORT_UNITS = ("condition", "stimulus")
Key = tuple[str, str, str]  # family's title, metric, version


def metric_part(report: Mapping[str, Any], told: set[str]) -> str:
    """The HTML; empty without metric scores."""
    lines = lines_of(report["correlations"])
    if not lines:
        return ""
    families: dict[Key, list[Line]] = {}
    for line in lines:
        row = line.row
        families.setdefault((family_title(row), row["metric"], row["version"]), []).append(line)
    drawn = {plot.about: plot.svg for plot in metric_plots(report)}
    short = short_titles(key[0] for key in families)
    folds = [
        _fold(key, f"{key[1]} and {short[key[0]]}", own, drawn.get(key, ""), told)
        for key, own in families.items()
    ]
    return _short(families, short) + "".join(folds)


def _short(families: Mapping[Key, Sequence[Line]], short: Mapping[str, str]) -> str:
    cells = {
        (key, line.row["unit"], line.row["statistic"]): line
        for key, lines in families.items()
        for line in lines
    }
    rows = [(key, unit) for key in families for unit in SHORT_UNITS]
    rows = [row for row in rows if (*row, "spearman") in cells]
    level = next(iter(cells.values())).row["level"]
    versions = {key[1]: {other[2] for other in families if other[1] == key[1]} for key in families}
    columns = [
        Column("Metric", lambda row: _metric(row[0], versions)),
        Column("Human score", lambda row: short[row[0][0]]),
        Column("Per", lambda row: str(row[1])),
        Column("Spearman", lambda row: _valued(cells[*row, "spearman"]), numeric=True),
        Column("Pearson", lambda row: _valued(cells[*row, "pearson"]), numeric=True),
        Column("n", lambda row: str(cells[*row, "spearman"].row["n"]), numeric=True),
    ]
    caption = f"{level * 100:g} % bootstrap intervals over the n conditions or stimuli"
    return table(rows, columns, caption)


def _metric(key: Key, versions: Mapping[str, set[str]]) -> str:
    return f"{key[1]} {key[2]}" if len(versions[key[1]]) > 1 else key[1]


def _valued(line: Line) -> str:
    first = next(iter(line.intervals.values()))
    if line.row["value"] is None:
        return "undefined"
    return f"{number(line.row['value'], sign=True)} {bounds(first)}"


def _fold(key: Key, name: str, lines: Sequence[Line], svg: str, told: set[str]) -> str:
    title, metric, version = key
    columns = [
        Column("Per", lambda line: line.row["unit"].replace("stimulus within", "within")),
        Column("Coefficient", lambda line: line.row["statistic"].replace("kendall", "kendall τ-b")),
        Column("n", lambda line: str(line.row["n"]), numeric=True),
        Column("Value", lambda line: number(line.row["value"], sign=True), numeric=True),
        Column("Bootstrap", lambda line: bounds(_nth(line, 0)), numeric=True),
        Column("Fisher z", lambda line: bounds(_nth(line, 1)), numeric=True),
        Column("Ratings", lambda line: str(line.row["n_ratings"]), numeric=True),
    ]
    figure = f'<figure class="chart">{svg}</figure>' if svg else ""
    body = f'<div class="estimand">{figure}<div>{noted(lines, columns, told)}</div></div>'
    about = f"{metric}, version {version}, and {title}"
    body = f'<p class="muted small">{escape(about)}</p>{body}'
    return fold(name, _summary(lines), body)


def _summary(lines: Sequence[Line]) -> str:
    """The Spearman coefficient over conditions in one line."""
    for line in lines:
        if (line.row["unit"], line.row["statistic"]) == ("condition", "spearman"):
            if line.row["value"] is None:
                return f"undefined over {line.row['n']} conditions"
            first = next(iter(line.intervals.values()))
            value = number(line.row["value"], decimals=2)
            shown = f"Spearman {value} {bounds(first, None, 2)}"
            return f"{shown}, {line.row['n']} conditions"
    return ""


def _nth(line: Line, n: int) -> Mapping[str, Any] | None:
    found = list(line.intervals.values())
    return found[n] if n < len(found) else None
