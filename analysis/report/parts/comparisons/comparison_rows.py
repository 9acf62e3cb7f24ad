"""The numbers of each pair: difference, every adjusted p, effect sizes, ROPE, within raters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.report.ranking import Difference, Ranking
from analysis.statistics.comparisons.effect_sizes import (
    AllEffects,
    all_effects,
    clustered_d,
    clustered_delta,
    delta_size,
)
from analysis.statistics.comparisons.simultaneous import rope_decision
from analysis.statistics.comparisons.tests_by_name import means_table
from analysis.statistics.intervals import t_interval
from analysis.statistics.options import Options

SCALED = 0.025  # of the range of scores, as .1 is of a scale from 1 to 5
UNITS = ("raters", "items")
Pair = tuple[str, str]


@dataclass(frozen=True)
class Rope:
    """Differences up to ``half`` do not matter; ``why`` says who says so."""

    half: float
    why: str


@dataclass(frozen=True)
class Numbers:
    """All about the pairs of one standing; ``pairs`` are (better, worse) by their means."""

    standing: Ranking
    options: Options

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every pair of tested conditions, the higher mean first (of ranks, the lower)."""
        names = self.standing.tested
        return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]

    @cached_property
    def effects(self) -> AllEffects:
        """Effect sizes of all pairs, in the order of the cell's names."""
        cell = self.standing.cell
        return all_effects(cell.y, cell.condition, len(cell.names))

    @cached_property
    def _ratings(self) -> list[Codes]:
        """The places of each condition's ratings."""
        cell = self.standing.cell
        return [np.flatnonzero(cell.condition == code) for code in range(len(cell.names))]

    def _sizes(self, a: int, b: int) -> dict[str, float | None]:
        """The clustered bounds of both effect sizes; of the delta also as percent higher."""
        cell, level = self.standing.cell, self.standing.level
        rows = np.concatenate([self._ratings[a], self._ratings[b]])
        first = np.arange(len(rows)) < len(self._ratings[a])
        four = (cell.y[rows], first, cell.rater[rows], cell.item[rows])
        d, delta = clustered_d(*four, level), clustered_delta(*four, level)
        low, high = (None if end is None else 50 * (end + 1) for end in (delta.low, delta.high))
        sizes = {"d_low": d.low, "d_high": d.high}
        sizes |= {"delta_low": delta.low, "delta_high": delta.high}
        return sizes | {"higher_pct_low": low, "higher_pct_high": high}

    @cached_property
    def place(self) -> dict[str, int]:
        """The code of each condition."""
        return {name: code for code, name in enumerate(self.standing.cell.names)}

    @cached_property
    def rope(self) -> Rope | None:
        """The region of practical equivalence: as asked, usual for the estimand, or scaled."""
        s = self.standing
        if self.options.rope is not None:
            return Rope(self.options.rope, "as asked for")
        half = s.what.equivalence
        if half is not None and (s.ends or s.what.ends is None):
            return Rope(half, f"the default for {s.name}; the option rope sets another")
        spread = float(np.ptp(s.cell.y)) if len(s.cell.y) else 0.0
        if not spread:
            return None
        return Rope(
            float(f"{SCALED * spread:.2g}"),
            f"{SCALED * 100:g} % of the range of the scores; the option rope sets another",
        )

    def row(self, pair: Pair) -> dict[str, Any]:
        """The first minus the second, in every number there is."""
        a, b = (self.place[name] for name in pair)
        s, difference = self.standing, self.standing.between(*pair)
        delta = _known(self.effects.delta[a, b])
        return {
            **_plain(difference),
            "d": _known(self.effects.d[a, b]),
            "delta": delta,
            "higher": None if delta is None else (delta + 1) / 2,
            "size": None if delta is None else delta_size(delta),
            **self._sizes(a, b),
            "rope": self._verdict(difference),
            "shared_raters": int(s.clustered.shared_raters[a, b]),
            "shared_items": int(s.clustered.shared_items[a, b]),
        }

    def within(self, pair: Pair) -> dict[str, Any]:
        """The mean difference inside raters, and inside items, who have both conditions."""
        difference = self.standing.between(*pair)
        row: dict[str, Any] = {
            "condition": pair[0],
            "versus": pair[1],
            "difference": difference.value,
        }
        for unit in UNITS:
            columns = [self._tables[unit][:, self.place[name]] for name in pair]
            d = columns[0] - columns[1]
            row |= _matched(d[np.isfinite(d)], unit, self.standing.level)
        return row

    def against(self, reference: str) -> list[dict[str, Any]]:
        """Every other condition minus the reference."""
        names = [name for name in self.standing.tested if name != reference]
        return [self.row((name, reference)) for name in names]

    @cached_property
    def _tables(self) -> Mapping[str, Floats]:
        return {unit: means_table(self.standing.cell, unit) for unit in UNITS}

    def _verdict(self, difference: Difference) -> str | None:
        if self.rope is None or difference.low_all is None or difference.high_all is None:
            return None
        return rope_decision(difference.low_all, difference.high_all, self.rope.half)


def _plain(difference: Difference) -> dict[str, Any]:
    return {
        "condition": difference.condition,
        "versus": difference.versus,
        "difference": difference.value,
        "difference_low": difference.low_all,
        "difference_high": difference.high_all,
        "p_adjusted": difference.p_adjusted,
        "family": difference.family or None,
        "claimed": difference.claimed,
        "alone_low": difference.low,
        "alone_high": difference.high,
        "p": difference.p,
        "naive_low": difference.naive_low,
        "naive_high": difference.naive_high,
        "naive_p": difference.naive_p,
        "note": difference.note,
    }


def _matched(d: Floats, unit: str, level: float) -> dict[str, Any]:
    """Mean of the differences (n,) of n units with its t interval (as `matched.paired_t`)."""
    n = len(d)
    row: dict[str, Any] = {f"n_{unit}": n, unit: float(d.mean()) if n else None}
    low = high = None
    if n > 1:
        se = float(np.std(d, ddof=1)) / n**0.5
        low, high = t_interval(float(d.mean()), se, n - 1, level)
    return row | {f"{unit}_low": low, f"{unit}_high": high}


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
