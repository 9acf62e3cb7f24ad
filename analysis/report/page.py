"""A report as HTML: sections for the site's page, and one self-contained page to keep or send."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from analysis.figures import PAGE_STYLE
from analysis.report.estimands import estimands
from analysis.report.leftout import left_out
from analysis.report.metricpart import metric_part
from analysis.report.partpage import part_html
from analysis.report.tables import fold

_STYLE = """
:root{color-scheme:light dark;--line:#dcd9d2;--muted:#575d65}
@media (prefers-color-scheme:dark){:root{--line:#34393e;--muted:#a8adb3}}
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:0 auto;padding:1rem;
background:Canvas;color:CanvasText}
h1,h2{line-height:1.25}section{margin-block:2.5rem}figure{margin:0;max-width:30rem}
.figures{display:flex;flex-wrap:wrap;gap:.5rem 2.5rem}.figures dd{font-size:1.6rem}
.notice{border-left:4px solid #b3541e;padding-left:1rem}.notice ul{padding-left:1rem;margin:0}
.estimand{display:grid;grid-template-columns:minmax(0,1fr);gap:1.5rem;align-items:start}
.plot{width:100%;height:auto}
@media (min-width:64rem){.estimand{grid-template-columns:22rem minmax(0,1fr)}}
details{border-top:1px solid var(--line);padding-block:.5rem}summary{cursor:pointer}
.table-wrap{overflow-x:auto}.table-scroll{max-height:70vh;overflow:auto}
table{border-collapse:collapse;font-size:.9rem}caption{text-align:left;color:var(--muted)}
th,td{padding:.3rem .75rem .3rem 0;text-align:left;vertical-align:top;
border-bottom:1px solid var(--line)}
th[scope=row]{font-weight:500}.number{text-align:right;font-variant-numeric:tabular-nums;
white-space:nowrap}.nowrap{white-space:nowrap}.muted{color:var(--muted)}.small{font-size:.875rem}
.facts{display:grid;grid-template-columns:minmax(7rem,max-content) 1fr;gap:.3rem 1.5rem}
dd{margin:0;overflow-wrap:anywhere}pre{white-space:pre-wrap;overflow-wrap:anywhere}
"""


@dataclass(frozen=True)
class Section:
    """One part of a report: an id for links, a heading, and its HTML."""

    id: str
    title: str
    html: str


def sections(report: Mapping[str, Any]) -> list[Section]:
    """The report's parts in order; parts without content are left out."""
    told: set[str] = set()
    asked = list(estimands(report, told)) or [
        ("Estimates", "<p>There is nothing to estimate yet.</p>")
    ]
    behind = left_out(report) + _provenance(report)
    found = [
        Section("summary", "In short", _summary(report)),
        *(Section(f"estimates-{n}", *part) for n, part in enumerate(asked, start=1)),
        *(
            Section(f"part-{part['key']}", part["title"], part_html(part))
            for part in report["parts"]
        ),
        Section("correlations", "Metrics and human scores", metric_part(report, told)),
        Section("behind", "Behind the numbers", behind),
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
        f"<style>{_STYLE}{PAGE_STYLE}</style></head><body><h1>{title}</h1>"
        f'<p class="muted">Made at <time>{escape(report["made_at"])}</time>.</p>{parts}'
        "</body></html>\n"
    )


def _summary(report: Mapping[str, Any]) -> str:
    data = report["data"]
    figures = {
        "Ratings in the estimates": data["ratings_kept"],
        "Left out": data["ratings"] - data["ratings_kept"],
        "Raters": data["raters_kept"],
        "Items": data["items_kept"],
        "Conditions": data["conditions_kept"],
    }
    shown = "".join(
        f"<div><dt>{name}</dt><dd>{count:,}</dd></div>".replace(",", "\u202f")
        for name, count in figures.items()
    )
    notes = "".join(f"<li>{escape(text)}</li>" for text in report["warnings"])
    warned = f'<div class="notice notice-warn"><ul>{notes}</ul></div>' if notes else ""
    return f'<dl class="figures">{shown}</dl>{warned}'


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
    line = f"{origin['estimator']} {origin['estimator_version']}, seed {origin['seed']}"
    line += f", {origin['level'] * 100:g} %, ratings {origin['table_hash'][:12]}…"
    return fold("Made with", line, f'<dl class="facts">{told}</dl>{command}')


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {version}" for name, version in value.items())
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return value if isinstance(value, str) else json.dumps(value)
