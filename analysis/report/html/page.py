"""A report as HTML: sections for the site's page, and one self-contained page to keep or send."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from analysis.report.condition_labels import labelled
from analysis.report.content import content_from
from analysis.report.figures import PAGE_STYLE
from analysis.report.figures.all_figures import part_keys
from analysis.report.html.brief import brief_of
from analysis.report.html.estimand_section import Shape, estimands
from analysis.report.html.first_section import first_section
from analysis.report.html.html_tables import fold
from analysis.report.html.part_html import Link, no_link, part_html, table_html
from analysis.report.html.section import ANSWER, Section
from analysis.report.html.view import View, viewed
from analysis.report.report_schema import InputNotes, PartRecord, Report

COMPARED = "comparisons"  # the key of the part that holds all differences
CHECKS = frozenset({"agreement", "raters", "screening"})
MOST_KEPT = 400  # rows per table on the page to keep

_STYLE = """
:root{color-scheme:light dark;--line:#dcd9d2;--muted:#575d65}
@media (prefers-color-scheme:dark){:root{--line:#34393e;--muted:#a8adb3}}
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:0 auto;padding:1rem;
background:Canvas;color:CanvasText}
h1,h2{line-height:1.25}section{margin-block:2.5rem}figure{margin:0;max-width:30rem}
.figures{display:flex;flex-wrap:wrap;gap:.5rem 2.5rem}.figures dd{font-size:1.6rem}
.notice{border-left:4px solid #b3541e;padding-left:1rem}.notice ul{padding-left:1rem;margin:0}
.estimand{display:grid;grid-template-columns:minmax(0,1fr);gap:1.5rem;align-items:start}
.plot{height:auto}.plot:not(.plot-wide){width:100%}
.answer{display:grid;grid-template-columns:minmax(0,1fr);gap:1.5rem}
.answer .figures{gap:.25rem 1.5rem}.answer .figures dd{font-size:1.2rem}
.contents{columns:16rem;padding-left:1rem}.contents li{break-inside:avoid}
h3{font-size:1rem;margin:0 0 .25rem}.rules ul{padding-left:1rem;margin:0}
@media (min-width:64rem){.estimand{grid-template-columns:22rem minmax(0,1fr)}
.answer{grid-template-columns:minmax(0,1fr) 19rem}}
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


def sections(
    report: Report, view: View | None = None, link: Link = no_link, most: int = 400
) -> list[Section]:
    """The report in order: the answer, estimates, parts, checks of the ratings, where it is from.

    ``view`` chooses what is shown, ``link`` says where files are, ``most`` rows stand in a table.
    What has no content is left out.
    """
    report = viewed(labelled(report), view or View())
    parts = [part for part in report.get("parts", ()) if _shown(part)]
    whole = "within" not in report
    answer = next((p for p in parts if p["key"] == ANSWER and whole), None)
    noted: set[str] = set()
    shape = _shape(answer, parts if whole else (), most)
    asked = list(estimands(report, noted, shape)) or [
        ("Estimates", "<p>There is nothing to estimate yet.</p>")
    ]
    others = _other_tables(answer, {title for title, _ in asked}, link)
    plain = [part for part in parts if not part["problem"] and part["key"] != ANSWER]
    every = [
        first_section(report, answer, others),
        *(Section(f"estimates-{n}", *part) for n, part in enumerate(asked, start=1)),
        *(_section(part, link) for part in plain if part["key"] not in CHECKS),
        Section("checks", "Checks of the ratings", _checks(plain, link)),
        Section("not-made", "What could not be made", _not_made(parts)),
        Section(
            "behind", "Behind the numbers", _methods(parts) + _input(report) + _provenance(report)
        ),
    ]
    return [section for section in every if section.html]


def page_html(report: Report, link: Link = no_link) -> str:
    """A whole page that needs no other file, no network and no script.

    ``link`` says where files are that lie beside it, as in a bundle.
    """
    studies = ", ".join(report["provenance"]["studies"]) or "ratings"
    title = escape(f"Results of {studies}")
    every = sections(brief_of(report, MOST_KEPT), link=link, most=MOST_KEPT)
    parts = "".join(
        f'<section aria-labelledby="{s.id}"><h2 id="{s.id}">{escape(s.title)}</h2>'
        f"{s.html}</section>"
        for s in every
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}{PAGE_STYLE}</style></head><body><h1>{title}</h1>"
        f"{_dated(report)}"
        f"{_contents(every)}{parts}</body></html>\n"
    )


def _dated(report: Report) -> str:
    """When it was made; in a bundle, which has no date of its own, that of the newest rating."""
    made_at = report["made_at"]
    if not made_at:
        return ""
    until = made_at == report["provenance"].get("ratings_until")
    words = "Ratings up to" if until else "Made at"
    return f'<p class="muted">{words} <time>{escape(made_at)}</time>.</p>'


def _contents(every: Sequence[Section]) -> str:
    links = "".join(f'<li><a href="#{s.id}">{escape(s.title)}</a></li>' for s in every)
    return f'<nav aria-label="On this page"><ul class="contents">{links}</ul></nav>'


def _shown(part: PartRecord) -> bool:
    return any(part.get(name) for name in ("problem", "sentences", "figures", "tables", "warnings"))


def _shape(answer: PartRecord | None, parts: Iterable[PartRecord], most: int) -> Shape:
    """What the answer and the comparisons say already, so that nothing stands twice."""
    compared = next((p for p in parts if p["key"] == COMPARED and not p["problem"]), None)
    differences = frozenset(str(each["about"]) for each in compared["tables"]) if compared else ()
    if answer is None or answer["problem"]:
        return Shape(compared=frozenset(differences), most=most)
    drawn = [each["about"] for each in answer["figures"] if each["drawing"] == "intervals"]
    tables = [each for each in answer["tables"] if _has_tiers(each)]
    return Shape(
        drawn=frozenset(drawn),
        tiers={t["about"]: {row["condition"]: row for row in t["rows"]} for t in tables},
        notes={t["about"]: t["note"] for t in tables},
        compared=frozenset(differences),
        most=most,
    )


def _has_tiers(table: Mapping[str, Any]) -> bool:
    return {"condition", "letters", "tier"} <= {column["key"] for column in table["columns"]}


def _other_tables(answer: PartRecord | None, placed: set[str], link: Link) -> str:
    """The answer's tables whose letters and tiers do not stand with the estimates."""
    if answer is None or answer["problem"]:
        return ""
    shown = content_from(answer).tables
    names = part_keys(ANSWER, [table.key for table in shown])
    return "".join(
        table_html(table, name, link)
        for table, name, plain in zip(shown, names, answer["tables"], strict=True)
        if table.about not in placed or not _has_tiers(plain)
    )


def _section(part: PartRecord, link: Link) -> Section:
    return Section(f"part-{part['key']}", part["title"], part_html(part, link))


def _checks(parts: Iterable[PartRecord], link: Link) -> str:
    """Agreement, raters and screening, each folded, with what it says first beside its name."""
    folds = []
    for part in parts:
        if part["key"] in CHECKS:
            first = part["sentences"][0] if part["sentences"] else ""
            body = f'<div class="report-part" id="part-{part["key"]}">{part_html(part, link)}</div>'
            folds.append(fold(part["title"], _cut(first), body))
    return "".join(folds)


def _cut(text: str, most: int = 95) -> str:
    if len(text) <= most:
        return text
    return text[: text.rfind(" ", 0, most)].rstrip(",;: ") + " …"


def _not_made(parts: Iterable[PartRecord]) -> str:
    """Which parts these ratings do not allow, each with its reason and what would help."""
    reasons = "".join(
        f"<dt>{escape(part['title'])}</dt><dd>{escape(part['problem'])}</dd>"
        for part in parts
        if part["problem"]
    )
    why = "<p>These parts need something that the ratings do not have. All others are complete.</p>"
    return f'{why}<dl class="facts">{reasons}</dl>' if reasons else ""


def _methods(parts: Iterable[PartRecord]) -> str:
    """The methods section in words, as the parts tell it."""
    said = list(dict.fromkeys(text for part in parts for text in part.get("methods", ())))
    if not said:
        return ""
    words = "".join(f"<p>{escape(text)}</p>" for text in said)
    return fold("Methods in words", "for the methods section of a paper", words)


def _input(report: Report) -> str:
    """What was guessed of a file of ratings, and the columns of it that were not used."""
    read: InputNotes = report.get("input", {"notes": [], "columns_not_used": []})
    lines = "".join(f"<li>{escape(note)}</li>" for note in read["notes"])
    unused = ", ".join(name or "(without a name)" for name in read["columns_not_used"])
    if unused:
        lines += f"<li>Columns of the file that are not used: {escape(unused)}.</li>"
    return fold("Input", "how the file of ratings was read", f"<ul>{lines}</ul>") if lines else ""


def _provenance(report: Report) -> str:
    origin = report["provenance"]
    facts = {"made_at": report["made_at"], **origin}
    listing = "".join(
        f"<dt>{escape(name.replace('_', ' ').capitalize())}</dt><dd>{escape(_plain(value))}</dd>"
        for name, value in facts.items()
        if name != "again" and value not in ("", [], {})
    )
    command = "<p>The same numbers from the exported ratings:</p>"
    command += f"<pre>{escape(origin['again'])}</pre>"
    line = f"{origin['estimator']} {origin['estimator_version']}, seed {origin['seed']}"
    line += f", {origin['level'] * 100:g} %, ratings {origin['table_hash'][:12]}…"
    return fold("Made with", line, f'<dl class="facts">{listing}</dl>{command}')


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {version}" for name, version in value.items())
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return value if isinstance(value, str) else json.dumps(value)
