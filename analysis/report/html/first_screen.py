"""The first screen of a family: its answer in a sentence, the plot, and what makes it weak."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from analysis.report.content import Figure, Headline, content_from
from analysis.report.figures import figure_svg, scene
from analysis.report.figures.all_figures import part_keys
from analysis.report.html.part_html import Link
from analysis.report.html.section import Section
from analysis.report.interim_answer import LOOKING
from analysis.report.report_schema import Counts, PartRecord, Report

FEWEST_RATERS = 3
FEWEST_RATINGS = 20
MOST_CAVEATS = 3
METHODS, PAPER = "methods.txt", "paper.zip"
MOST_ABOVE = 5  # rows of a plot with names above their data, which a phone's screen has room for


def first_screen(
    report: Report, answer: PartRecord | None, about: str, place: int, link: Link
) -> Section:
    """One family's answer: at most 30 words, the ordered plot, and the three worst caveats.

    ``place`` numbers the family on the page; the rest of its caveats are in `in_full`.
    """
    number, title = f"answer-{place}", "The answer"
    if "within" in report:
        name = report["within"].partition(":")[2].replace("=", ": ") or report["within"].strip(":")
        said = f'<p class="notice">This is about {escape(name)} only. The answer, its caveats and '
        return Section(number, title, f"{said}the parts below are about all ratings.</p>")
    headline = next(iter(headlines(answer, about)), Headline(about, ""))
    figure, name = _figure(answer, about)
    warned = caveats(report, headline)
    plot = _plot(figure, name, report["provenance"]["level"]) if figure else ""
    body = _grid(plot, _caveats(warned, place), _actions(place, name, link))
    return Section(number, title, body, headline=headline.sentence or _nothing(report))


def caveats(report: Report, headline: Headline) -> list[str]:
    """Everything that makes the answer weak, the worst first."""
    every = [*too_small(report["data"]), *report["warnings"], *headline.caveats]
    return list(dict.fromkeys(every))


def too_small(data: Counts) -> Iterator[str]:
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


def headlines(answer: PartRecord | None, about: str = "") -> list[Headline]:
    """The headline of the family that is called so, or of every one."""
    if answer is None or answer["problem"]:
        return []
    shown = content_from(answer).headlines
    return [each for each in shown if about in ("", each.about)]


def _nothing(report: Report) -> str:
    if not report["data"]["ratings_kept"]:
        return "No rating is left to answer with: see which rules leave ratings out."
    return "There is no answer in one sentence; the estimates are below."


def _figure(answer: PartRecord | None, about: str) -> tuple[Figure | None, str]:
    """The family's figure and the name of its files; of several the first, the rest is below."""
    if answer is None or answer["problem"]:
        return None, ""
    figures = content_from(answer).figures
    names = part_keys(answer["key"], [figure.key for figure in figures])
    mine = (
        (figure, name)
        for figure, name in zip(figures, names, strict=True)
        if figure.about.partition(" · versus ")[0] == about
    )
    return next(mine, (None, ""))


def _plot(figure: Figure, name: str, level: float) -> str:
    """Twice: with names beside the data where the screen is wide, and for a phone."""
    plain = replace(figure, rows=[_without_naive(row) for row in figure.rows], interval="")
    wait = "" if figure.rows else "There are no bounds yet."
    if wait:
        return f'<p class="muted">{wait}</p>'
    caption = f'<figcaption class="muted small">{escape(_caption(figure, level))}</figcaption>'
    if figure.drawing != "intervals":
        return f'<figure class="chart">{figure_svg(plain, name)}{caption}</figure>'
    narrow = scene.PAGE if len(figure.rows) <= MOST_ABOVE else scene.CLOSE
    wide = figure_svg(plain, f"{name}-wide", sheet=scene.WIDE)
    phone = figure_svg(plain, f"{name}-phone", sheet=narrow)
    return (
        f'<figure class="chart chart-first"><div class="on-wide">{wide}</div>'
        f'<div class="on-phone">{phone}</div>{caption}</figure>'
    )


def _without_naive(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, "naive_low": None, "naive_high": None}


def _caption(figure: Figure, level: float) -> str:
    """What is drawn, in a line or two; the note of the table says the rest."""
    if figure.drawing != "intervals":
        return figure.note
    if figure.interval == LOOKING:
        return figure.note
    at_once = " simultaneous" if "simultaneous" in figure.made_by else ""
    texts = [f"Means and{at_once} {level * 100:g} % intervals; raters and items both vary."]
    if any(row.get("mark") for row in figure.rows) and any(row.get("tier") for row in figure.rows):
        texts.append("Systems that share a letter are not significantly different.")
    elif figure.note:
        texts.append(figure.note)
    if len({row.get("tier") for row in figure.rows if row.get("tier")}) > 1:
        texts.append("Dashed line: next tier.")
    return " ".join(texts)


def _caveats(warned: Sequence[str], place: int) -> str:
    if not warned:
        return '<p class="muted small">Nothing was found that makes this answer weak.</p>'
    lines = "".join(f"<li>{escape(_first(text))}</li>" for text in warned[:MOST_CAVEATS])
    more = len(warned) - MOST_CAVEATS
    words = f"and {more} more" if more > 0 else "More about it"
    rest = f'<p class="small"><a href="#in-full-{place}">{words}</a></p>'
    return f'<div class="caveats"><h3>Before you rely on it</h3><ul>{lines}</ul>{rest}</div>'


def _first(text: str) -> str:
    """The first sentence; all of it stands in the family's full part."""
    head, stop, _ = text.partition(". ")
    return head + stop.strip()


def _actions(place: int, figure: str, link: Link) -> str:
    """What is taken along: nothing of it on a page that stands alone."""
    drawn = link(f"{figure}.svg") if figure else ""
    if not link(METHODS):
        return ""
    copy = f'<button class="button" type="button" data-copy="#in-full-{place} table" hidden>'
    shown = f'<a class="button" href="{escape(drawn, quote=True)}">Figure</a>' if drawn else ""
    return (
        f'<div class="row actions">{copy}Copy table</button>{shown}'
        '<a class="button" href="#methods">Methods paragraph</a>'
        f'<a class="button" href="{escape(link(PAPER), quote=True)}">Paper files</a></div>'
    )


def _grid(plots: str, caveats_: str, actions: str) -> str:
    return (
        f'<div class="first-grid"><div class="first-plot">{plots}</div>'
        f'<div class="first-side">{caveats_}</div>{actions}</div>'
    )
