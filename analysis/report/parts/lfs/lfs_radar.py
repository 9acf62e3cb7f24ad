"""Radars of the systems, on 1 to 5 as the paper maps its measures (appendix G.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from analysis.formatting import enumerated
from analysis.report.content import Content, Figure
from analysis.report.parts.lfs.lfs_clips import Cell, Clips, cells_of
from analysis.report.parts.lfs.lfs_measures import ONE_CONTENT, PAPER, Measure

if TYPE_CHECKING:
    import pandas as pd

ENDS = (1.0, 5.0)
LEAST_AXES = 3
_NOTE = (
    "1 to 5, more is better. Judges as they are; fidelity (PESQ) + 0.5; timbre, reverb and content "
    "mapped from the least and the greatest mean of any system in any {} to 1 to 5, turned round "
    "where lower is better. Places on mapped axes are relative to what is compared here."
)


def by_challenge(clips: Clips) -> Content:
    """Figure 3, a radar of all measures per challenge; Figure 11, of scenarios per measure."""
    scenarios = clips.frame["dimension"].nunique() > 1
    unit, words = ("dimension", "scenario") if scenarios else ("challenge", "challenge")
    limits, flat = _limits(clips.frame, unit)
    told = []
    if flat:
        told.append(f"Radars leave out {enumerated(flat)}: all means are equal, nothing to map.")
    told += _not_drawn(clips.frame, limits)
    figures = [*_figure3(clips, limits, words), *_figure11(clips, limits, words)]
    return Content(told, figures)


def _not_drawn(frame: pd.DataFrame, limits: Mapping[str, Any]) -> list[str]:
    """Why there are no radars."""
    told = []
    measures = _drawn(frame, limits)
    if len(measures) < LEAST_AXES:
        which = f" ({enumerated([each.name for each in measures])})" * bool(measures)
        told.append(
            f"Figure 3 is not there: a radar needs {LEAST_AXES} measures with scores, and there "
            f"{'is' if len(measures) == 1 else 'are'} {len(measures)}{which}."
        )
    scenarios = frame["dimension"][frame["dimension"] != ""].nunique()
    if scenarios < LEAST_AXES:
        told.append(
            f"Figure 11 is not there: a radar needs {LEAST_AXES} scenarios (column dimension), and "
            f"there {'is' if scenarios == 1 else 'are'} {scenarios}."
        )
    if not (frame["challenge"] != "").any():
        told.append(
            "Figure 3 is not there: no scenario is one of the paper's, and no clip names a "
            "challenge (column challenge in stimuli.csv)."
        )
    return told


def mapped(measure: Measure, value: float, limits: Mapping[str, tuple[float, float]]) -> float:
    """A mean on the radar's 1 to 5."""
    if measure.shift is not None:
        return value + measure.shift
    low, high = limits[measure.key]
    share = (value - low) / (high - low)
    return ENDS[0] + (ENDS[1] - ENDS[0]) * (1 - share if measure.lowest else share)


def _limits(frame: pd.DataFrame, unit: str) -> tuple[dict[str, tuple[float, float]], list[str]]:
    """The least and the greatest mean of the mapped measures; and those without a range."""
    limits, flat = {}, []
    for each in ONE_CONTENT:
        if each.shift is None and frame[each.key].notna().any():
            means = frame.groupby(["condition", unit], observed=True)[each.key].mean().dropna()
            low, high = float(means.min()), float(means.max())
            if high > low:
                limits[each.key] = (low, high)
            else:
                flat.append(each.name)
    return limits, flat


def _drawn(frame: pd.DataFrame, limits: Mapping[str, Any]) -> list[Measure]:
    return [
        each
        for each in ONE_CONTENT
        if frame[each.key].notna().any() and (each.shift is not None or each.key in limits)
    ]


def _figure3(clips: Clips, limits: Mapping[str, Any], words: str) -> list[Figure]:
    figures: list[Figure] = []
    measures = _drawn(clips.frame, limits)
    challenges = clips.frame["challenge"]
    known = cells_of(clips.frame, "condition", "challenge")
    named = clips.heads("challenge", clips.frame)
    for challenge in named if len(measures) >= LEAST_AXES else ():
        own = clips.frame[challenges == challenge]
        for head, conditions in clips.panels(own):
            rows = [
                {"group": name, "name": each.name, "value": value}
                for name in conditions
                for each in measures
                if (value := _mean(known[name, challenge], each, limits)) is not None
            ]
            title = f"Figure 3 of {PAPER}: {challenge} challenge{f' · {head}' * bool(head)}"
            figures.append(_radar("figure3", len(figures), title, rows, words))
    return figures


def _figure11(clips: Clips, limits: Mapping[str, Any], words: str) -> list[Figure]:
    frame = clips.frame[clips.frame["dimension"] != ""]
    scenarios = clips.inputs.ordered("dimension", frame["dimension"].unique())
    figures: list[Figure] = []
    known = cells_of(frame, "condition", "dimension")
    for each in _drawn(frame, limits) if len(scenarios) >= LEAST_AXES else ():
        for head, conditions in clips.panels(frame):
            rows = []
            for name in conditions:
                for scenario in scenarios:
                    value = _mean(known.get((name, scenario), {}), each, limits)
                    if value is not None:
                        rows.append({"group": name, "name": scenario, "value": value})
            title = f"Figure 11 of {PAPER}: {each.name} by scenario{f' · {head}' * bool(head)}"
            figures.append(_radar("figure11", len(figures), title, rows, words))
    return figures


def _mean(own: Mapping[str, Cell], measure: Measure, limits: Mapping[str, Any]) -> float | None:
    mean = own.get(measure.key, Cell()).mean
    return None if mean is None else mapped(measure, mean, limits)


def _radar(
    key: str, place: int, title: str, rows: Sequence[Mapping[str, Any]], words: str
) -> Figure:
    return Figure(
        f"{key}-{place + 1}", title, "radar", rows, ends=ENDS, note=_NOTE.format(words), decimals=2
    )
