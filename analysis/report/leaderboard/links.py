"""Which studies may be compared, through which systems, and whether these stand alike in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from analysis.formatting import counted, enumerated, listed, number, p_value
from analysis.report.leaderboard.standings import Standing
from analysis.statistics.intervals import t_interval
from analysis.statistics.linking.linked_studies import Component

ALPHA = 0.05  # of the test that shared systems stand alike
Row = dict[str, Any]


def link_rows(standings: Sequence[Standing]) -> Iterator[Row]:
    """Every two studies: linked by shared systems, by others between them, or not at all."""
    homes = {unit: each for each in standings for unit in each.component.units}
    for one, other in combinations(homes, 2):
        same = homes[one] is homes[other]
        yield {
            "one": one,
            "other": other,
            "may": "through other studies" if same else "no: no clip in common",
            **(_shared(homes[one].component, one, other, homes[one].level) if same else {}),
        }


def _shared(made: Component, one: str, other: str, level: float) -> Row:
    a, b = made.units.index(one), made.units.index(other)
    shared = made.shared(a, b)
    if not shared:
        return {}
    shifts = [made.shift(a, b, system) for system in shared]
    row = np.mean([made.shift_row(a, b, system)[0] for system in shared], axis=0)
    variance, df = made.influence.spread(row)
    value = float(row @ made.mean)
    low, high = t_interval(value, variance**0.5, df, level) if variance > 0 else (None, None)
    return {
        "may": "yes",
        "systems": listed([made.systems[system] for system in shared], 4),
        "clips": sum(clips for _, clips in shifts),
        "shift": value,
        "shift_low": low,
        "shift_high": high,
    }


def shift_rows(standings: Sequence[Standing]) -> Iterator[Row]:
    """Every shared system of every two studies, and how much higher it stands in the later one."""
    for standing in standings:
        made = standing.component
        for a, b in combinations(range(len(made.units)), 2):
            for system in made.shared(a, b):
                linked, clips = made.shift(a, b, system)
                spread = linked.variance**0.5
                ends = t_interval(linked.value, spread, linked.df, standing.level)
                low, high = ends if spread > 0 else (None, None)
                yield {
                    "pair": f"{made.units[b]} − {made.units[a]}",
                    "system": made.systems[system],
                    "shift": linked.value,
                    "shift_low": low,
                    "shift_high": high,
                    "clips": clips,
                }


def said_of(standing: Standing) -> str:
    """How differently shared systems stand, in a sentence; empty of a study alone."""
    found = standing.component.found
    if found is None:
        return ""
    spread = f"SD {number(found.median)} (95 % of what is believed: below {number(found.at(0.95))})"
    if found.p is None:
        return f"{_units(standing)}: the difference between studies is taken to have {spread}."
    return (
        f"{_units(standing)}: shared systems differ between studies beyond their common shift by "
        f"{spread}; test that they do not: F = {number(found.statistic)}, p = {p_value(found.p)}, "
        f"{counted(found.contrasts, 'contrast')}."
    )


def warnings_of(standings: Sequence[Standing]) -> Iterator[str]:
    """Why a comparison across studies is weak, or may not be made at all."""
    if len(standings) > 1:
        groups = "; ".join(enumerated(each.component.units) for each in standings)
        yield (
            f"These may not be compared with one another: {groups}. No clip is the same audio in "
            "both, so ranks and marks hold within each group only. To link them, rate clips of one "
            "system again in the other study."
        )
    for each in standings:
        found = each.component.found
        if found is None:
            continue
        if found.p is None:
            yield (
                f"{_units(each)} hang together by single systems: whether these stand alike in "
                "both studies cannot be tested, and the error of linking is an assumption "
                f"(half-t, scale {number(found.scale)}). Share two systems or more."
            )
        elif found.p < ALPHA:
            yield (
                f"{_units(each)}: shared systems do not stand alike in these studies "
                f"(p = {p_value(found.p)}). Differences across studies carry this; those within a "
                "study do not."
            )


def _units(standing: Standing) -> str:
    return enumerated(standing.component.units)
