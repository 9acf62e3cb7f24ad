"""Every figure of a report: estimates per condition, and those of its parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from analysis.name_spans import resolve
from analysis.ratings.estimands import ends_of, estimand_of
from analysis.report.content import Figure, Table, content_from, pick_cells
from analysis.report.figures import figure_svg
from analysis.report.pivot import Line, by_family, lines_of
from analysis.report.report_schema import Report

Shown = TypeVar("Shown", Figure, Table)

CLUSTERED = "raters and items crossed"
MOST_LINES = 200
ANSWER = "answer"  # the part that draws the overall means with their tiers


@dataclass(frozen=True)
class Plot:
    """One figure: a key that fits a file name, what it is, and what it is about."""

    key: str
    figure: Figure
    about: tuple[str, ...]  # the family's title; of a part its key and the figure's

    @property
    def title(self) -> str:
        return self.figure.title

    @property
    def svg(self) -> str:
        """The figure as SVG for a page."""
        return figure_svg(self.figure, self.key)

    @property
    def standalone(self) -> str:
        """The figure as an SVG file of its own."""
        return figure_svg(self.figure, self.key, standalone=True)


def plots(report: Report) -> list[Plot]:
    """All figures of a report: overall estimates that the answer does not draw, those of parts."""
    of_parts = list(part_plots(report))
    answered = {plot.figure.about for plot in of_parts if plot.about[0] == ANSWER}
    rest = [plot for plot in estimate_plots(report) if plot.figure.about not in answered]
    return [*rest, *of_parts]


def estimate_plots(report: Report) -> list[Plot]:
    """The overall estimates of each task and criterion, the best first."""
    overall = [row for row in report["estimates"] if row["breakdown"] == "condition:"]
    drawn = []
    for number, (title, lines) in enumerate(by_family(lines_of(overall)).items(), start=1):
        key = f"estimates-{number}-{slug(title)}"
        estimand = estimand_of(lines[0].row["estimand"])
        ends = ends_of(report, lines[0].row)
        figure = Figure(
            key=key,
            title=title,
            drawing="intervals",
            rows=[_interval_row(line) for line in falling(lines)[:MOST_LINES]],
            x=estimand.axis,
            decimals=estimand.decimals,
            ends=(ends[0], ends[1]) if ends else None,
            at=() if estimand.neutral is None else (estimand.neutral,),
            about=title,
            interval=CLUSTERED,
            made_by=next((x.main["interval"] for x in lines if x.main), ""),
        )
        drawn.append(Plot(key, figure, (title,)))
    return drawn


def part_plots(report: Report) -> Iterator[Plot]:
    """The figures of the parts, under the names that `named_files` gives them."""
    for part in report.get("parts", ()):
        if part["problem"]:
            continue
        for key, figure in named_files(part["key"], content_from(part).figures):
            title, note = resolve(figure.title), resolve(figure.note)
            yield Plot(key, replace(figure, title=title, note=note), (part["key"], figure.key))


def named_files(part: str, shown: Iterable[Shown]) -> list[tuple[str, Shown]]:
    """A part's figures or tables with the names of their files: part, key, no name twice."""
    named: dict[str, Shown] = {}
    for each in shown:
        name = slug(each.key if each.key.startswith(part) else f"{part}-{each.key}")
        alike, number = name, 2
        while alike in named:
            alike, number = f"{name}-{number}", number + 1
        named[alike] = each
    return list(named.items())


def falling(lines: Iterable[Line]) -> list[Line]:
    """Lines by their value, the best first: the highest, of ranks the lowest."""

    def place(line: Line) -> tuple[float, str]:
        sign = 1 if estimand_of(line.row["estimand"]).lowest_is_best else -1
        return sign * line.row["value"], line.row["condition"]

    return sorted(lines, key=place)


def _interval_row(line: Line) -> dict[str, Any]:
    main, naive = line.main, line.naive
    return {
        "name": line.row["condition"],
        "value": line.row["value"],
        **pick_cells(main, "low", "high"),
        "naive_low": naive["low"] if naive else None,
        "naive_high": naive["high"] if naive else None,
        "n": line.row["n_ratings"],
        **pick_cells(line.row, "n_raters", "n_items"),
    }


def slug(text: str) -> str:
    """A text as part of a file's name: small letters, digits and hyphens, at most 60."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "plot"
