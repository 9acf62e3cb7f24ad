"""What a running study's comparisons say, in words for its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from analysis.formatting import interval_text, number, words_of
from analysis.ratings.estimands import estimand_of, name_of
from analysis.report.content import pick_cells
from analysis.statistics.planning.interim import (
    DECIDED,
    EARLY,
    EQUAL,
    FEWEST,
    LATER,
    NEVER,
    Interim,
    Line,
)

BADGES = {
    DECIDED: ("good", "significant"),
    EQUAL: ("good", "equivalent"),
    LATER: ("accent", "not yet"),
    NEVER: ("warn", "not expected"),
    EARLY: ("", "too early"),
}


class LineInWords(TypedDict):
    """A comparison as its page shows it; no numbers where there are none."""

    name: str
    value: str | None
    mean: str | None
    bounds: str | None
    raters: int
    verdict: str
    badge: str
    badge_kind: str
    words: str


def box(result: Interim, question: Mapping[str, Any]) -> dict[str, Any]:
    """A task and criterion as its page shows it: plain values only.

    ``question`` holds its ``title``, ``criterion``, ``estimand`` and the conditions' ``labels``.
    """
    labels = question["labels"]
    lines = [_line(result, line, labels, question["estimand"]) for line in result.lines]
    decided = sum(line.verdict in (DECIDED, EQUAL) for line in result.lines)
    return {
        "title": question["title"],
        "criterion": words_of(question["criterion"]),
        "estimand": name_of(question["estimand"]),
        **pick_cells(result, "kind", "raters", "planned"),
        "level": f"{result.level * 100:g}",
        "each": f"{result.each * 100:.4g}",
        "lines": lines,
        "decided": decided,
        "comparisons": 0 if result.kind == "means" else len(lines),
        "shows": bool(result.raters),
        "early": result.raters < FEWEST,
        "neutral": f"{result.neutral:g}",
    }


def _line(result: Interim, line: Line, labels: Mapping[str, str], estimand: str) -> LineInWords:
    one = labels.get(line.condition, line.condition)
    other = labels.get(line.versus, line.versus)
    kind, badge = BADGES[line.verdict]
    if result.kind == "means" and line.verdict != EARLY:
        kind, badge = "", "no verdict"
    name = f"{one} − {other}" if result.kind == "pairs" else one
    if result.kind == "versus":
        name = f"{one} against {other}"
    return {
        "name": name,
        "value": None if line.value is None else number(line.value, True, 2),
        "mean": None if line.value is None else f"{number(line.value, False, 2)}",
        "bounds": None if line.low is None else interval_text(line.low, line.high or 0.0, None, 2),
        "raters": line.raters,
        "verdict": line.verdict,
        "badge": badge,
        "badge_kind": kind,
        "words": _words(result, line, one, other, estimand),
    }


def _words(result: Interim, line: Line, one: str, other: str, estimand: str) -> str:
    if line.verdict == EARLY:
        return "Too few raters have finished."
    if result.kind == "means":
        return ""
    if line.verdict == DECIDED:
        value = line.value or 0.0
        better, worse = (one, other) if value > result.neutral else (other, one)
        if estimand_of(estimand).discriminates:
            if value > result.neutral:
                return f"Raters can tell {one} and {other} apart."
            return f"Raters are wrong about {one} and {other} more often than by guessing."
        return f"{better} scores higher than {worse}."
    if line.verdict == EQUAL:
        return "They differ by less than the smallest relevant difference."
    if line.verdict == LATER:
        raters = f"about {line.needed} raters" if line.needed else "more raters"
        return f"At this rate, significant after {raters}."
    planned = f"about {result.planned}" if result.planned else "all planned"
    return f"At this rate, not significant even after {planned} raters."
