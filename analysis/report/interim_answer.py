"""The first sentence of a study that is still open, and its one caveat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from analysis.formatting import counted, named, number
from analysis.ratings.estimands import estimand_of
from analysis.report.content import Figure
from analysis.report.report_schema import InterimPair, InterimRow

LOOKING = "bounds that allow looking"
BOUNDS = (
    "Means over {} raters so far, with bounds that hold however often one looks. Letters and tiers "
    "come when the study closes."
)
OPEN = (
    "Still open: bounds that allow looking are wider. They hold for new raters and these clips; "
    "a rater counts when finished."
)


def interim_sentence(row: InterimRow, labels: Mapping[str, str] | None = None) -> str:
    """What the bounds of a family decide so far, in 30 words at most beside the names.

    ``labels`` name conditions as a page calls them. What is not claimed is not said.
    """
    from analysis.statistics.planning.interim import FEWEST  # SciPy: not for every page

    names = labels or {}
    if row["kind"] == "none":
        return "Nothing is claimed before the study closes: no bounds allow looking at this."
    if row["raters"] < FEWEST:
        return f"Only {counted(row['raters'], 'rater')} finished: too early to compare anything."
    if row["kind"] == "pairs":
        return _of_pairs(row, names)
    return _of_systems(row, names)


def interim_figure(
    row: InterimRow, labels: Mapping[str, str], closed: Figure | None
) -> Figure | None:
    """The plot of an open study: means or pairs with bounds that hold however often one looks.

    Without letters and tiers, which belong to the closed study; ``closed`` is the figure that will
    be shown then, and stays where there are no such bounds.
    """
    if closed is None or row["kind"] == "none":
        return closed
    rows: list[dict[str, Any]] = []
    if row["kind"] == "systems":
        for mean in row["means"]:
            role = "reference" if mean["condition"] == row["reference"] else ""
            named_so = labels.get(mean["condition"], mean["condition"])
            bounds = {name: mean[name] for name in ("value", "low", "high")}
            rows.append({"name": named_so, "key": mean["condition"], "role": role, **bounds})
    else:
        for pair in row["pairs"]:
            one, other = (labels.get(pair[side], pair[side]) for side in ("condition", "versus"))
            bounds = {name: pair[name] for name in ("value", "low", "high")}
            rows.append({"name": f"{one} versus {other}", **bounds})
    rows = [each for each in rows if each["value"] is not None]
    return replace(closed, rows=rows, interval=LOOKING, note=BOUNDS.format(row["raters"]))


def _called(name: str, names: Mapping[str, str]) -> str:
    return named(names.get(name) or name)


def _of_systems(row: InterimRow, names: Mapping[str, str]) -> str:
    raters, reference = counted(row["raters"], "rater"), row["reference"]
    compared = {name for pair in row["pairs"] for name in (pair["condition"], pair["versus"])}
    systems = [m["condition"] for m in row["means"] if m["condition"] in compared - {reference}]
    if not systems:
        return f"There is nothing to compare yet, after {raters}."
    clauses = [_leader(row, systems, names)] if len(systems) > 1 else []
    clauses += [_against(row, systems, names)] if reference else []
    if not any(pair["claimed"] for pair in row["pairs"]):
        return f"Nothing is decided yet, after {raters}: no two conditions are told apart."
    return f"Decided after {raters}: {'; '.join(filter(None, clauses))}."


def _leader(row: InterimRow, systems: Sequence[str], names: Mapping[str, str]) -> str:
    best, others = systems[0], len(systems) - 1
    beaten = sum(_better(row, pair) == best for pair in _among(row, systems, best))
    value = next(mean["value"] for mean in row["means"] if mean["condition"] == best)
    estimand = estimand_of(row["estimand"])
    shown = f"{_called(best, names)} ({number(value, False, estimand.decimals)})"
    over = "ranked before" if estimand.lowest_is_best else "above"
    if not beaten:
        return f"{shown} comes first, not yet apart from any other"
    if beaten == others:
        every = "the other" if others == 1 else f"all {others} others"
        return f"{shown} is {over} {every}"
    return f"{shown} is {over} {beaten} of {others} others, not yet apart from the rest"


def _against(row: InterimRow, systems: Sequence[str], names: Mapping[str, str]) -> str:
    reference = row["reference"]
    won = [_better(row, p) for p in row["pairs"] if reference in (p["condition"], p["versus"])]
    below = sum(name == reference for name in won)
    above = sum(name in systems for name in won)
    shown, of = _called(reference, names), len(systems)
    parts = [f"{below} of {of} below {shown}"] if below else []
    parts += [f"{above} of {of} above {shown}"] if above else []
    return " and ".join(parts) or f"none is told apart from {shown}"


def _among(row: InterimRow, systems: Sequence[str], one: str) -> list[InterimPair]:
    return [
        pair
        for pair in row["pairs"]
        if one in (pair["condition"], pair["versus"])
        and {pair["condition"], pair["versus"]} <= set(systems)
    ]


def _better(row: InterimRow, pair: InterimPair) -> str:
    """Who is claimed to be ahead; empty where nobody is."""
    if not pair["claimed"] or pair["value"] is None:
        return ""
    first = pair["value"] > row["neutral"]
    if estimand_of(row["estimand"]).lowest_is_best:
        first = not first
    return pair["condition"] if first else pair["versus"]


def _of_pairs(row: InterimRow, names: Mapping[str, str]) -> str:
    raters, of = counted(row["raters"], "rater"), len(row["pairs"])
    told = [pair for pair in row["pairs"] if pair["claimed"]]
    if not told:
        return f"Nothing is decided yet, after {raters}: no pair leaves a draw out."
    clearest = max(told, key=lambda pair: abs((pair["value"] or 0.0) - row["neutral"]))
    one, other = (_called(clearest[side], names) for side in ("condition", "versus"))
    estimand = estimand_of(row["estimand"])
    value = number(clearest["value"], False, estimand.decimals)
    ahead = _better(row, clearest) == clearest["condition"]
    if estimand.discriminates:
        words = f"{one} and {other} are {'told apart' if ahead else 'confused'} ({value})"
    else:
        one, other = (one, other) if ahead else (other, one)
        words = f"{one} is preferred to {other} ({value})"
    count = "" if of == 1 else f"{len(told)} of {of} pairs; clearest, "
    return f"Decided after {raters}: {count}{words}."
