"""The first section of a report: the answer, what it rests on, and where it is weak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from analysis.report.content import Figure, content_from
from analysis.report.figures import figure_svg
from analysis.report.figures.all_figures import part_keys
from analysis.report.html.html_tables import fold
from analysis.report.html.section import Section
from analysis.report.report_schema import Counts, PartRecord, Report

FEWEST_RATERS = 3
FEWEST_RATINGS = 20
MOST_OPEN = 5


def first_section(report: Report, answer: PartRecord | None, tables: str = "") -> Section:
    """The answer in words and as plots where there is one; its basis and warnings beside it.

    Its letters and tiers stand with the estimates; ``tables`` is the HTML of its other tables.
    """
    small = list(_too_small(report["data"]))
    warnings = [*small, *report["warnings"]]
    basis = f"{_counts(report['data'])}{_rules(report)}"
    if "within" in report:
        name = report["within"].partition(":")[2].replace("=", ": ") or report["within"].strip(":")
        said = f'<p class="notice">This is about {escape(name)} only; the figures and tables of '
        said += "the parts below are about all ratings.</p>"
        return Section("summary", "In short", f"{said}{_warned(warnings)}{basis}")
    if answer is None or answer["problem"]:
        return Section("summary", "In short", f"{_warned(warnings)}{basis}")
    warned = _warned(list(dict.fromkeys([*small, *answer["warnings"], *warnings])))
    said = "".join(f"<p>{escape(text)}</p>" for text in answer["sentences"])
    drawn = "".join(_figure(figure, name) for figure, name in _figures(answer))
    html = (
        f'<div class="answer"><div class="answer-shown stack-s">{said}{drawn}{tables}</div>'
        f'<div class="answer-basis stack-s">{warned}{basis}</div></div>'
    )
    return Section("summary", answer["title"], html)


def _figures(answer: PartRecord) -> Iterator[tuple[Figure, str]]:
    figures = content_from(answer).figures
    names = part_keys(answer["key"], [figure.key for figure in figures])
    return zip(figures, names, strict=True)


def _figure(figure: Figure, name: str) -> str:
    """The figure without its numbers as a table: they stand below it among the estimates."""
    title, note = escape(figure.title), escape(figure.note)
    caption = f'<p class="muted small">{note}</p>' if note else ""
    drawn = figure_svg(figure, name)
    return f'<figure class="chart"><figcaption>{title}</figcaption>{drawn}{caption}</figure>'


def _too_small(data: Counts) -> Iterator[str]:
    """In words, where there is too little to compare anything."""
    ratings, raters = data["ratings_kept"], data["raters_kept"]
    if not ratings:
        return
    few = [f"{ratings} rating{'s' * (ratings != 1)}"] if ratings < FEWEST_RATINGS else []
    few += [f"{raters} rater{'s' * (raters != 1)}"] if raters < FEWEST_RATERS else []
    if few:
        yield (
            f"Only {' and '.join(few)} so far: too little to compare anything. What stands here "
            "shows how the page will look; wait for more ratings before you read it."
        )
    if data["conditions_kept"] == 1:
        yield "Only one condition is rated, so there is nothing to compare it with."


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
    if chosen:
        return f'<div class="rules"><h3>Rules in force</h3><ul>{lines}</ul></div>'
    none = "<p>No rule is in force: no rater and no session was left out.</p>"
    return (
        f'<div class="rules"><h3>Rules in force</h3>{none}{f"<ul>{lines}</ul>" * bool(lines)}</div>'
    )


def _gone(count: int) -> str:
    if not count:
        return "left out nothing"
    return f"left out {count:,} rating{'s' * (count != 1)}".replace(",", "\u202f")


def _warned(warnings: Sequence[str]) -> str:
    """The first warnings open, many more of them folded."""
    if not warnings:
        return ""
    lines = [f"<li>{escape(text)}</li>" for text in warnings]
    more = ""
    if len(lines) > MOST_OPEN + 1:
        rest = "".join(lines[MOST_OPEN:])
        more = fold(f"{len(lines) - MOST_OPEN} more", "", f"<ul>{rest}</ul>")
        lines = lines[:MOST_OPEN]
    title = "<h3>Before you rely on this</h3>"
    return f'<div class="notice notice-warn">{title}<ul>{"".join(lines)}</ul>{more}</div>'
