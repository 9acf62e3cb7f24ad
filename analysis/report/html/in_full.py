"""A family in full: the answer in all its words, every caveat, the rules, and every estimate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from analysis.report.content import content_from
from analysis.report.figures.all_figures import part_keys
from analysis.report.html.estimand_section import Shape, estimands
from analysis.report.html.first_screen import caveats, headlines
from analysis.report.html.part_html import Link, table_html
from analysis.report.html.section import ANSWER
from analysis.report.report_schema import Counts, PartRecord, Report


def in_full(
    report: Report, parts: Sequence[PartRecord], about: str, said: set[str], link: Link, most: int
) -> str:
    """HTML of one family; ``report`` and ``parts`` are about it alone. Notes are added to ``said``.

    Its means stand first: they are the table that is copied.
    """
    answer = next((p for p in parts if p["key"] == ANSWER and "within" not in report), None)
    shape = _shape(answer, parts if "within" not in report else (), most)
    found = list(estimands(report, said, shape))
    estimated = "".join(html for _, html in found) or "<p>There is nothing to estimate yet.</p>"
    others = _other_tables(answer, {title for title, _ in found}, link)
    return estimated + others + _words(report, answer, about) + _basis(report)


def _words(report: Report, answer: PartRecord | None, about: str) -> str:
    if answer is None or answer["problem"]:
        return ""
    said = "".join(f"<p>{escape(text)}</p>" for text in answer["sentences"])
    lines = [text for each in headlines(answer, about) for text in caveats(report, each)]
    warned = "".join(f"<li>{escape(text)}</li>" for text in lines)
    title = "<h3>Before you rely on it</h3>"
    notice = f'<div class="notice notice-warn">{title}<ul>{warned}</ul></div>' if warned else ""
    return f"<h3>In words</h3>{said}{notice}"


def _basis(report: Report) -> str:
    return f'<div class="answer-basis stack-s">{_counts(report["data"])}{_rules(report)}</div>'


def _counts(data: Counts) -> str:
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
    return f'<dl class="figures">{shown}</dl>'


def _rules(report: Report) -> str:
    """Which rules are in force and how many ratings each leaves out; always open."""
    structural = set(report["provenance"].get("structural_rules", ()))
    rows = [(row, row.get("ratings_told", row["ratings"])) for row in report["exclusions"]]
    rows = [(row, n) for row, n in rows if n or row["rule"] not in structural]
    chosen = [row for row, _ in rows if row["rule"] not in structural]
    lines = "".join(f"<li>{escape(row['what'])}: {_gone(n)}</li>" for row, n in rows)
    several = len(report.get("design", ())) > 1 and bool(lines)
    of_all = "<p>Counts are those of all questions together.</p>" * several
    if chosen:
        return f'<div class="rules"><h3>Rules in force</h3>{of_all}<ul>{lines}</ul></div>'
    none = "<p>No rule is in force: no rater and no session was left out.</p>"
    return (
        f'<div class="rules"><h3>Rules in force</h3>{none}{of_all}'
        f"{f'<ul>{lines}</ul>' * bool(lines)}</div>"
    )


def _gone(count: int) -> str:
    if not count:
        return "left out nothing"
    return f"left out {count:,} rating{'s' * (count != 1)}".replace(",", "\u202f")


def _shape(answer: PartRecord | None, parts: Iterable[PartRecord], most: int) -> Shape:
    """What the answer and the comparisons say already, so that nothing stands twice."""
    compared = next((p for p in parts if p["key"] == "comparisons" and not p["problem"]), None)
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
