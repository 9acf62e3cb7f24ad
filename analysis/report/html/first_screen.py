"""The first screen of a family: its answer in a sentence, the plot, and what makes it weak."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from markupsafe import Markup

from analysis.report.content import Figure, Headline, content_from
from analysis.report.figures import figure_svg, scene
from analysis.report.figures.all_figures import named_files
from analysis.report.html.environment import render
from analysis.report.html.part_html import Link
from analysis.report.html.section import Section
from analysis.report.interim_answer import LOOKING
from analysis.report.report_schema import Counts, PartRecord, Report
from listening.common.counted import counted

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
    number, title = f"answer-{place}", "Main result"
    if "within" in report:
        name = report["within"].partition(":")[2].replace("=", ": ") or report["within"].strip(":")
        notice = Markup(
            '<p class="notice">This is about {} only. The answer, its caveats and the parts below '
            "are about all ratings.</p>"
        )
        return Section(number, title, notice.format(name))
    headline = next(iter(headlines(answer, about)), Headline(about, ""))
    figure, name = _figure(answer, about)
    warned = caveats(report, headline)
    wide, phone = _draw_figure(figure, name) if figure and figure.rows else ("", "")
    html = render(
        "first_screen",
        place=place,
        figure=figure,
        plot=Markup(wide),
        phone=Markup(phone),
        caption=_caption(figure, report["provenance"]["level"]) if figure else "",
        caveats=[_first(text) for text in warned[:MOST_CAVEATS]],
        more=len(warned) - MOST_CAVEATS,
        paper=link(METHODS) and link(PAPER),
        drawing=link(f"{name}.svg") if name else "",
    )
    return Section(number, title, html, headline=headline.sentence or _nothing(report))


def caveats(report: Report, headline: Headline) -> list[str]:
    """Everything that makes the answer weak, the worst first."""
    every = [*too_small(report["data"]), *report["warnings"], *headline.caveats]
    return list(dict.fromkeys(every))


def too_small(data: Counts) -> Iterator[str]:
    """In words, where there is too little to compare anything."""
    ratings, raters = data["ratings_kept"], data["raters_kept"]
    if not ratings:
        return
    few = [counted(ratings, "rating")] if ratings < FEWEST_RATINGS else []
    few += [counted(raters, "rater")] if raters < FEWEST_RATERS else []
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
    mine = (
        (figure, name)
        for name, figure in named_files(answer["key"], content_from(answer).figures)
        if figure.about.partition(" · versus ")[0] == about
    )
    return next(mine, (None, ""))


def _draw_figure(figure: Figure, name: str) -> tuple[str, str]:
    """The plot as SVG; intervals twice, with names beside the data and for a phone."""
    rows = [{**row, "naive_low": None, "naive_high": None} for row in figure.rows]
    plain = replace(figure, rows=rows, interval="")
    if figure.drawing != "intervals":
        return figure_svg(plain, name), ""
    narrow = scene.PAGE if len(figure.rows) <= MOST_ABOVE else scene.CLOSE
    wide = figure_svg(plain, f"{name}-wide", sheet=scene.WIDE)
    return wide, figure_svg(plain, f"{name}-phone", sheet=narrow)


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


def _first(text: str) -> str:
    """The first sentence; all of it stands in the family's full part."""
    head, stop, _ = text.partition(". ")
    return head + stop.strip()
