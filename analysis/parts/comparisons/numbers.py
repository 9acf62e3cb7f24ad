"""The numbers of each pair: difference, every adjusted p, effect sizes, ROPE, within raters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from analysis.comparisons.adjust import benjamini_hochberg, holm
from analysis.comparisons.all_effects import AllEffects, all_effects, delta_size
from analysis.comparisons.by_name import means_table
from analysis.comparisons.families import Comparison, compare
from analysis.comparisons.result import Undefined
from analysis.comparisons.rope import HALF_WIDTHS, rope_decision
from analysis.comparisons.standing import Difference, Standing
from analysis.intervals import Floats, t_interval
from analysis.options import Options
from analysis.scales import ENDS

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

    standing: Standing
    options: Options

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every pair of tested conditions, the higher mean first (of ranks, the lower)."""
        names = self.standing.tested
        return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]

    @cached_property
    def p_bh(self) -> dict[Pair, float | None]:
        """Benjamini and Hochberg's p over all pairs."""
        p = [self.standing.between(*pair).p for pair in self.pairs]
        return dict(zip(self.pairs, benjamini_hochberg(p), strict=True))

    @cached_property
    def effects(self) -> AllEffects:
        """Effect sizes of all pairs, in the order of the cell's names."""
        cell = self.standing.cell
        return all_effects(cell.y, cell.condition, len(cell.names))

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
        if s.estimand in HALF_WIDTHS and (s.ends or s.estimand not in ENDS):
            return Rope(
                HALF_WIDTHS[s.estimand], f"the default for {s.name}; the option rope sets another"
            )
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
        s, found = self.standing, self.standing.between(*pair)
        delta = _known(self.effects.delta[a, b])
        back = (pair[1], pair[0])
        return {
            **_plain(found),
            "p_bh": self.p_bh.get(pair, self.p_bh.get(back)),
            "d": _known(self.effects.d[a, b]),
            "delta": delta,
            "higher": None if delta is None else (delta + 1) / 2,
            "size": None if delta is None else delta_size(delta),
            "rope": self._verdict(found),
            "shared_raters": int(s.clustered.shared_raters[a, b]),
            "shared_items": int(s.clustered.shared_items[a, b]),
        }

    def within(self, pair: Pair) -> dict[str, Any]:
        """The mean difference inside raters, and inside items, who have both conditions."""
        found = self.standing.between(*pair)
        row: dict[str, Any] = {"condition": pair[0], "versus": pair[1], "difference": found.value}
        for unit in UNITS:
            columns = [self._tables[unit][:, self.place[name]] for name in pair]
            d = columns[0] - columns[1]
            row |= _matched(d[np.isfinite(d)], unit, self.standing.level)
        return row

    def against(self, reference: str) -> list[dict[str, Any]]:
        """Every other condition minus the reference, with Dunnett's p and interval for all."""
        names = [name for name in self.standing.tested if name != reference]
        rows = [self.row((name, reference)) for name in names]
        told = self._dunnett(names, reference)
        for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
            mine = told.get(row["condition"])
            row |= {
                "p_holm_family": p,
                "p_dunnett": mine.p_adjusted if mine else None,
                "dunnett_low": mine.low_all if mine else None,
                "dunnett_high": mine.high_all if mine else None,
            }
        return rows

    @cached_property
    def _tables(self) -> Mapping[str, Floats]:
        return {unit: means_table(self.standing.cell, unit) for unit in UNITS}

    def _verdict(self, found: Difference) -> str | None:
        if self.rope is None or found.low is None or found.high is None:
            return None
        return rope_decision(found.low, found.high, self.rope.half)

    def _dunnett(self, names: Sequence[str], reference: str) -> dict[str, Comparison]:
        """Max-t over the clustered covariance, with the variances of the report's own tests."""
        s = self.standing
        names = [name for name in names if s.between(name, reference).p is not None]
        if not names:
            return {}
        codes = [self.place[name] for name in (*names, reference)]
        rater, item, both = (
            matrix[np.ix_(codes, codes)]
            for matrix in (s.clustered.by_rater, s.clustered.by_item, s.clustered.by_both)
        )
        try:
            found = compare(
                [*names, reference],
                s.clustered.value[codes],
                rater + item - both,
                [(i, len(names)) for i in range(len(names))],
                df=[s.clustered.degrees(code, codes[-1]) for code in codes[:-1]],
                adjustment="dunnett",
                level=s.level,
                floors=(rater, item),
                seed=self.options.seed,
            )
        except Undefined:
            return {}
        return {each.condition: each for each in found}


def _plain(found: Difference) -> dict[str, Any]:
    return {
        "condition": found.condition,
        "versus": found.versus,
        "difference": found.value,
        "difference_low": found.low,
        "difference_high": found.high,
        "p": found.p,
        "p_holm": found.p_holm,
        "naive_low": found.naive_low,
        "naive_high": found.naive_high,
        "naive_p": found.naive_p,
        "note": found.note,
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
