"""A report as HTML: sections for the site's page, and one self-contained page to keep or send."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from analysis.report.pivot import Line, lines_of
from analysis.report.plots import Plot, family_title, plots
from analysis.report.tables import Column, bounds, number, percent, probability, table

MOST_OPEN = 60
_EXPLAINED = (
    "The interval lets raters and items both vary (two-way clustered). The naive one beside it "
    "takes every rating as independent, as many papers do; it is usually too narrow."
)
_STYLE = """
:root{color-scheme:light dark;--line:#dcd9d2;--muted:#575d65}
@media (prefers-color-scheme:dark){:root{--line:#34393e;--muted:#a8adb3}}
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:0 auto;padding:1rem;
background:Canvas;color:CanvasText}
h1,h2,h3{line-height:1.25}section{margin-block:2rem}figure{margin:1rem 0;max-width:34rem}
.table-wrap{overflow-x:auto}.table-scroll{max-height:70vh;overflow:auto}
table{border-collapse:collapse;font-size:.9rem}caption{text-align:left;color:var(--muted)}
th,td{padding:.3rem .75rem .3rem 0;text-align:left;vertical-align:top;
border-bottom:1px solid var(--line)}
th[scope=row]{font-weight:500}.number{text-align:right;font-variant-numeric:tabular-nums;
white-space:nowrap}.muted,figcaption{color:var(--muted)}.small{font-size:.875rem}
.facts{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;gap:.3rem 1.5rem}
dd{margin:0;overflow-wrap:anywhere}pre{white-space:pre-wrap;overflow-wrap:anywhere}
.plot-row{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20rem,100%),1fr));gap:1rem}
"""


@dataclass(frozen=True)
class Section:
    """One part of a report: an id for links, a heading, and its HTML."""

    id: str
    title: str
    html: str


def sections(report: Mapping[str, Any]) -> list[Section]:
    """The report's parts in order; parts without content are left out."""
    drawn = plots(report)
    metric = [plot for plot in drawn if plot.key.startswith("metric-")]
    found = [
        Section("warnings", "Please note", _warnings(report)),
        Section("estimates", "Estimates", _estimates(report, drawn)),
        Section("breakdowns", "Broken down", _breakdowns(report)),
        Section("contrasts", "Differences between conditions", _contrasts(report)),
        Section("shares", "Labels given", _shares(report)),
        Section("exclusions", "What was left out, and what that changes", _exclusions(report)),
        Section("correlations", "Metrics and human scores", _correlations(report, metric)),
        Section("provenance", "How these numbers were made", _provenance(report)),
    ]
    return [section for section in found if section.html]


def page_html(report: Mapping[str, Any]) -> str:
    """A whole page that needs no other file, no network and no script."""
    studies = ", ".join(report["provenance"]["studies"]) or "ratings"
    title = escape(f"Results of {studies}")
    parts = "".join(
        f'<section aria-labelledby="{s.id}"><h2 id="{s.id}">{escape(s.title)}</h2>'
        f"{s.html}</section>"
        for s in sections(report)
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1>"
        f'<p class="muted">Made at <time>{escape(report["made_at"])}</time>.</p>{parts}'
        "</body></html>\n"
    )


def _warnings(report: Mapping[str, Any]) -> str:
    told = "".join(f"<li>{escape(text)}</li>" for text in report["warnings"])
    return f'<div class="notice notice-warn"><ul>{told}</ul></div>' if told else ""


def _estimates(report: Mapping[str, Any], drawn: Iterable[Plot]) -> str:
    overall = [row for row in report["estimates"] if row["breakdown"] == "condition:"]
    if not overall:
        return "<p>There is nothing to estimate yet.</p>"
    figures = {plot.title: _figure(plot) for plot in drawn}
    parts = [f'<p class="muted">{_EXPLAINED}</p>']
    for title, lines in _by_family(lines_of(overall)).items():
        ratings = [line for line in lines if line.weighting == "ratings"]
        raters = [line for line in lines if line.weighting == "raters"]
        parts += [f"<h3>{escape(title)}</h3>", figures.get(title, "")]
        parts.append(_estimate_table(ratings, "Every rating weighs the same"))
        if raters:
            parts.append(_fold("Every rater weighs the same", _estimate_table(raters, "")))
    return "".join(parts)


def _estimate_table(lines: Sequence[Line], caption: str) -> str:
    columns = [
        *_group_columns(lines),
        Column("Condition", lambda line: line.row["condition"]),
        Column("Mean", lambda line: number(line.row["value"]), numeric=True),
        Column(_level(lines, "interval"), lambda line: bounds(line.main), numeric=True),
    ]
    if any(line.others for line in lines):
        columns.append(
            Column("Bootstrap (wide)", lambda line: bounds(_first(line.others)), numeric=True)
        )
    columns += [
        Column("Naive", lambda line: bounds(line.naive), numeric=True),
        *_count_columns(),
    ]
    return _noted(lines, columns, caption)


def _breakdowns(report: Mapping[str, Any]) -> str:
    parts = []
    for breakdown in report["provenance"]["breakdowns"]:
        if breakdown == "condition:":
            continue
        rows = [row for row in report["estimates"] if row["breakdown"] == breakdown]
        lines = [line for line in lines_of(rows) if line.weighting == "ratings"]
        for title, mine in _by_family(lines).items():
            compare, _, by = breakdown.partition(":")
            name = f"By {by.replace(',', ' and ')}" if by else f"By {compare}"
            name += f", per {compare}" if by and compare != "condition" else ""
            parts.append(_fold(f"{name}: {title}", _estimate_table(mine, "")))
    return "".join(parts)


def _contrasts(report: Mapping[str, Any]) -> str:
    overall = [row for row in report["contrasts"] if row["breakdown"] == "condition:"]
    lines = [line for line in lines_of(overall) if line.weighting == "ratings"]
    parts = []
    for title, mine in _by_family(lines).items():
        columns = [
            Column("Difference", lambda line: f"{line.row['condition']} − {line.row['versus']}"),
            Column("Value", lambda line: number(line.row["value"], sign=True), numeric=True),
            Column(_level(mine, "interval"), lambda line: bounds(line.main), numeric=True),
            Column("p", lambda line: probability(line.main, "p"), numeric=True),
            Column("p (Holm)", lambda line: probability(line.main, "p_holm"), numeric=True),
            Column("Naive (Welch)", lambda line: bounds(line.naive), numeric=True),
            Column("Naive p", lambda line: probability(line.naive, "p"), numeric=True),
        ]
        parts += [f"<h3>{escape(title)}</h3>", _noted(mine, columns)]
    if parts:
        told = "Whether intervals overlap says little: raters are shared, so look at differences."
        parts.insert(0, f'<p class="muted">{told}</p>')
    return "".join(parts)


def _shares(report: Mapping[str, Any]) -> str:
    parts = []
    for title, lines in _by_family(lines_of(report["shares"]), plain=True).items():
        labels = list(dict.fromkeys(line.row["estimand"] for line in lines))
        cells = {(_place(line), line.row["estimand"]): line for line in lines}
        places = list(dict.fromkeys(_place(line) for line in lines))
        columns = [Column("Condition", " versus ".join)]
        for label in labels:
            columns.append(_looked_up(label.removeprefix("share of "), label, cells, percent))
        parts += [f"<h3>{escape(title)}</h3>", table(places, columns, "", len(places) > MOST_OPEN)]
    return _fold("Share of each label, with its interval", "".join(parts)) if parts else ""


def _exclusions(report: Mapping[str, Any]) -> str:
    data = report["data"]
    told = f"{data['ratings_kept']} of {data['ratings']} ratings are in the estimates"
    told += f" ({data['raters_kept']} of {data['raters']} raters);"
    told += f" the {data['trap_ratings']} answers to traps are never."
    columns = [
        Column("Rule", lambda row: row["what"]),
        Column("Version", lambda row: f"{row['rule']} {row['version']}"),
        Column("Ratings", lambda row: str(row["ratings"]), numeric=True),
        Column("Not by a rule above", lambda row: str(row["ratings_told"]), numeric=True),
        Column("By this rule alone", lambda row: str(row["ratings_only_here"]), numeric=True),
        Column("Raters", lambda row: str(row["raters"]), numeric=True),
        Column("Blocks", lambda row: str(row["blocks"]), numeric=True),
    ]
    counts = table(report["exclusions"], columns, "Ratings that each rule leaves out")
    return f"<p>{escape(told)}</p>{counts}{_sensitivity(report)}"


def _sensitivity(report: Mapping[str, Any]) -> str:
    parts = []
    names = list(dict.fromkeys(row["screening"] for row in report["screening"]))
    for title, lines in _by_family(lines_of(report["screening"])).items():
        cells = {(_place(line), line.row["screening"]): line for line in lines}
        places = list(dict.fromkeys(_place(line) for line in lines))
        columns = [Column("Condition", " versus ".join)]
        columns += [_looked_up(name, name, cells, _valued) for name in names]
        parts.append(table(places, columns, f"Estimates under each rule alone: {title}"))
    return "".join(parts)


def _correlations(report: Mapping[str, Any], drawn: Iterable[Plot]) -> str:
    if not report["correlations"]:
        return ""
    columns = [
        Column("Metric", lambda line: f"{line.row['metric']} {line.row['version']}"),
        Column("Per", lambda line: line.row["unit"]),
        Column("Coefficient", lambda line: line.row["statistic"].replace("kendall", "kendall τ-b")),
        Column("Value", lambda line: number(line.row["value"], sign=True), numeric=True),
        Column("Bootstrap", lambda line: bounds(_nth(line, 0)), numeric=True),
        Column("Fisher z", lambda line: bounds(_nth(line, 1)), numeric=True),
        Column("Units", lambda line: str(line.row["n"]), numeric=True),
        Column("Ratings", lambda line: str(line.row["n_ratings"]), numeric=True),
    ]
    parts = ['<div class="plot-row">', *(_figure(plot) for plot in drawn), "</div>"]
    for title, lines in _by_family(lines_of(report["correlations"])).items():
        parts += [f"<h3>{escape(title)}</h3>", _noted(lines, columns)]
    return "".join(parts)


def _provenance(report: Mapping[str, Any]) -> str:
    origin = dict(report["provenance"])
    again = origin.pop("again")
    facts = {"made_at": report["made_at"], **origin}
    told = "".join(
        f"<dt>{escape(name.replace('_', ' ').capitalize())}</dt><dd>{escape(_plain(value))}</dd>"
        for name, value in facts.items()
        if value not in ("", [], {})
    )
    command = f"<p>The same numbers from the exported ratings:</p><pre>{escape(again)}</pre>"
    return f'<dl class="facts">{told}</dl>{command}'


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {version}" for name, version in value.items())
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return value if isinstance(value, str) else json.dumps(value)


def _by_family(lines: Iterable[Line], plain: bool = False) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for line in lines:
        row = {**line.row, "estimand": "labels", "versus_condition": ""} if plain else line.row
        found.setdefault(family_title(row), []).append(line)
    return found


_KNOWN = frozenset(
    {
        "breakdown",
        "estimand",
        "study",
        "task",
        "criterion",
        "condition",
        "versus",
        "versus_condition",
        "weighting",
        "value",
        "level",
        "n_ratings",
        "n_raters",
        "n_items",
        "screening",
    }
)


def _group_columns(lines: Sequence[Line]) -> list[Column]:
    names = dict.fromkeys(name for line in lines for name in line.row if name not in _KNOWN)
    return [_group_column(name) for name in names]


def _group_column(name: str) -> Column:
    return Column(name.capitalize(), lambda line: line.row.get(name) or "(none)")


def _looked_up(
    heading: str,
    key: str,
    cells: Mapping[tuple[tuple[str, ...], str], Line],
    shown: Callable[[Line | None], str],
) -> Column:
    return Column(heading, lambda place: shown(cells.get((place, key))), numeric=True)


def _count_columns() -> list[Column]:
    return [
        Column("Ratings", lambda line: str(line.row["n_ratings"]), numeric=True),
        Column("Raters", lambda line: str(line.row["n_raters"]), numeric=True),
        Column("Items", lambda line: str(line.row["n_items"]), numeric=True),
    ]


def _note(line: Line) -> str:
    return "; ".join(dict.fromkeys(v["note"] for v in line.intervals.values() if v["note"]))


def _noted(lines: Sequence[Line], columns: Sequence[Column], caption: str = "") -> str:
    """The table, with its lines' notes: once below when they are all the same, else a column."""
    notes = {_note(line) for line in lines}
    scroll = len(lines) > MOST_OPEN
    if len(notes) > 1:
        return table(lines, [*columns, Column("Note", _note)], caption, scroll)
    below = "".join(f'<p class="muted small">Note: {escape(n)}.</p>' for n in notes if n)
    return table(lines, columns, caption, scroll) + below


def _place(line: Line) -> tuple[str, ...]:
    place = (line.row["condition"], line.row.get("versus_condition", ""))
    return tuple(part for part in place if part)


def _valued(line: Line | None) -> str:
    return f"{number(line.row['value'])} {bounds(line.main)}" if line else "–"


def _level(lines: Sequence[Line], word: str) -> str:
    return f"{lines[0].row['level'] * 100:g} % {word}" if lines else word


def _first(found: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    return found[0] if found else None


def _nth(line: Line, n: int) -> Mapping[str, Any] | None:
    found = list(line.intervals.values())
    return found[n] if n < len(found) else None


def _figure(plot: Plot) -> str:
    return f'<figure class="chart">{plot.svg}<figcaption>{escape(plot.title)}</figcaption></figure>'


def _fold(title: str, html: str) -> str:
    return f'<details class="fold"><summary>{escape(title)}</summary>{html}</details>'
