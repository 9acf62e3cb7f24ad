"""The answer where labels were chosen that have no score: which was chosen most, per condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.formatting import interval_text, listed
from analysis.name_spans import condition_span, family_span
from analysis.ratings.breakdowns import Family
from analysis.ratings.estimands import family_title
from analysis.report.content import Figure
from analysis.report.ranking import key_of

SHARE_OF = "share of "
MOST_TOLD = 6
_DUST = 1e-9


def shares_of(family: Family, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The report's rows of label shares that are about this family, clustered intervals only."""
    about = family_title({**family.group, "estimand": ""})
    return [
        row
        for row in rows
        if family_title({**row, "estimand": "", "versus_condition": ""}) == about
        and not row["interval"].startswith("naive")
    ]


def answer(rows: Sequence[Mapping[str, Any]]) -> str:
    """What was chosen most often, of each condition."""
    if not rows:
        return "The answers have no score and too many different words to be counted."
    sentences = [_most(name, mine) for name, mine in _by_condition(rows)]
    return f"The answers have no score; chosen most often: {listed(sentences, MOST_TOLD)}."


def figure(place: int, about: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[Figure]:
    """Bars of shares, where every answer held one label (shares add up to 1)."""
    bars = [
        {
            **{"name": row["condition"], "label": label_of(row), "value": row["value"]},
            **{"low": row["low"], "high": row["high"]},
            **{"n": row["n_ratings"], "n_raters": row["n_raters"], "n_items": row["n_items"]},
        }
        for row in rows
    ]
    sums: dict[str, float] = {}
    for bar in bars:
        sums[bar["name"]] = sums.get(bar["name"], 0.0) + bar["value"]
    if bars and max(sums.values()) <= 1 + _DUST:
        key = key_of("answer", place, about)
        made_by = next((row["interval"] for row in rows if row["low"] is not None), "")
        x = "share of the answers"
        yield Figure(key, family_span(about), "shares", bars, x=x, about=about, made_by=made_by)


def _by_condition(
    rows: Sequence[Mapping[str, Any]],
) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    for name in dict.fromkeys(row["condition"] for row in rows):
        yield name, [row for row in rows if row["condition"] == name]


def _most(name: str, rows: Sequence[Mapping[str, Any]]) -> str:
    row = max(rows, key=lambda row: row["value"])
    sentence = f"{label_of(row)} for {condition_span(name)} ({row['value'] * 100:.0f} %"
    if row["low"] is not None:
        sentence += f" {interval_text(row['low'] * 100, row['high'] * 100, (0, 100), 0)}"
    return f"{sentence})"


def label_of(row: Mapping[str, Any]) -> str:
    """The label that a row of shares is about."""
    return str(row["estimand"]).removeprefix(SHARE_OF)
