"""The plots of a report: estimates per condition, and each metric against the human score."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.figures import IntervalLine, Point, interval_plot, scatter_plot
from analysis.report.pivot import Line, lines_of
from analysis.scales import LOW_IS_BEST, NAMES, ends_of, family_title

AXES = {
    "hls": "HLS: taken for a human (1), unclear (0.5), machine (0)",
    "mos": "MOS: mean opinion score",
    "context_mos": "Context MOS: mean opinion score as a continuation",
    "cmos": "CMOS: above 0 beats the other",
    "preference": "Preference: above 0 is preferred",
    "ccr": "CCR: above 0 beats the reference",
    "dmos": "DMOS: 5 where no degradation is heard",
    "ab": "AB: share that chose it, a tie counts half",
    "abx": "ABX: share that is right, 0.5 by guessing",
    "mushra": "MUSHRA: 0 bad to 100 excellent",
    "p835": "P.835: mean opinion score",
    "rank": "Rank: mean place, 1 is the best",
    "choice": "Mean of the choices",
}
MOST_LINES = 200


@dataclass(frozen=True)
class Plot:
    """One figure: a key that fits a file name, a title, the SVG, and what it is about."""

    key: str
    title: str
    svg: str
    about: tuple[str, ...]  # the family's title; of a metric, its key and version too


def plots(report: Mapping[str, Any], standalone: bool = False) -> list[Plot]:
    """All figures of a report, the overall estimates of each task and criterion first."""
    return [*_estimate_plots(report, standalone), *_metric_plots(report, standalone)]


def _estimate_plots(report: Mapping[str, Any], standalone: bool) -> list[Plot]:
    overall = [row for row in report["estimates"] if row["breakdown"] == "condition:"]
    families: dict[str, list[Line]] = {}
    for line in lines_of(overall):
        if line.weighting == "ratings":
            families.setdefault(family_title(line.row), []).append(line)
    made = []
    for number, (title, lines) in enumerate(families.items(), start=1):
        key = f"estimates-{number}-{_slug(title)}"
        axis = AXES.get(lines[0].row["estimand"], lines[0].row["estimand"])
        drawn = [_interval_line(line) for line in falling(lines)[:MOST_LINES]]
        ends = ends_of(report, lines[0].row)
        svg = interval_plot(title, drawn, axis=axis, key=key, standalone=standalone, ends=ends)
        made.append(Plot(key, title, svg, (title,)))
    return made


def _metric_plots(report: Mapping[str, Any], standalone: bool) -> list[Plot]:
    families: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in report["points"]:
        families.setdefault((family_title(row), row["metric"], row["version"]), []).append(row)
    made = []
    for number, ((title, metric, version), rows) in enumerate(families.items(), start=1):
        key = f"metric-{number}-{_slug(f'{metric}-{title}')}"
        drawn = [Point(row["condition"], row["metric_mean"], row["human_mean"]) for row in rows]
        heading = f"{metric} (version {version}) and {title}"
        svg = scatter_plot(
            heading,
            drawn,
            x=f"{metric}, mean of the condition",
            y=NAMES.get(rows[0]["estimand"], str(rows[0]["estimand"]).upper()),
            key=key,
            standalone=standalone,
        )
        made.append(Plot(key, heading, svg, (title, metric, version)))
    return made


def falling(lines: Iterable[Line]) -> list[Line]:
    """Lines by their value, the best first: the highest, of ranks the lowest."""

    def place(line: Line) -> tuple[float, str]:
        value = line.row["value"]
        return value if line.row["estimand"] in LOW_IS_BEST else -value, line.row["condition"]

    return sorted(lines, key=place)


def _interval_line(line: Line) -> IntervalLine:
    main, naive = line.main, line.naive
    return IntervalLine(
        name=line.row["condition"],
        value=line.row["value"],
        low=main["low"] if main else None,
        high=main["high"] if main else None,
        naive_low=naive["low"] if naive else None,
        naive_high=naive["high"] if naive else None,
    )


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "plot"
