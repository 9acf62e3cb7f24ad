"""Preferences of pairs against differences of a metric: how often both take the same side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.arrays import Floats
from analysis.ratings.estimands import estimand_of
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.metric_agreement.metric_units import Units
from analysis.statistics.metric_agreement.resampled_units import (
    centred_interval,
    replicates_for,
    resample_units,
)

_DUST = 1e-9


@dataclass(frozen=True)
class PreferredShare(FlatRow):
    """The share of pairs in which a metric prefers the clip that people prefer.

    ``n`` pairs count; ``ties_human`` of the others have people undecided, ``ties_metric`` the
    metric, ``n_missing`` no value of the metric for one of both clips.
    """

    metric: str
    share: float | None
    low: float | None
    high: float | None
    n: int
    ties_human: int
    ties_metric: int
    n_missing: int
    note: str = ""


def preferred_share(
    units: Units,
    values: Mapping[str, Floats],
    *,
    lower_is_better: frozenset[str] = frozenset(),
    level: float = 0.95,
    replicates: int = 2000,
    seed: Sequence[int] = (0,),
) -> list[PreferredShare]:
    """One result per metric, ``values`` (S,) being its difference between both clips of a pair.

    Intervals: bootstrap over raters and items, centred; in each replicate people may prefer the
    other clip, or neither. ``units`` are of comparisons that prefer a side (CMOS, preference, AB).
    """
    centred = estimand_of(units.estimand).centred
    drawn = resample_units(
        units, replicates_for(len(units.own), replicates), np.random.default_rng(list(seed))
    )
    human = _side(centred(units.human))
    again = _side(centred(drawn.human))
    compared = units.other != ""
    results = []
    for name, difference in values.items():
        held = np.isfinite(difference) & compared
        own = _side(np.where(held, difference, 0.0)) * (-1 if name in lower_is_better else 1)
        decided = held & (human != 0) & (own != 0)
        ties = held & (human == 0)
        counts = {
            "n": int(decided.sum()),
            "ties_human": int(ties.sum()),
            "ties_metric": int((held & (own == 0) & (human != 0)).sum()),
            "n_missing": int((compared & ~held).sum()),
        }
        if not counts["n"]:
            why = "undefined: no pair in which both people and the metric prefer a side"
            results.append(PreferredShare(name, None, None, None, **counts, note=why))
            continue
        share = float((human == own)[decided].mean())
        weight = drawn.weight * (held & (own != 0)) * (again != 0)
        total = weight.sum(axis=1)
        agree = (weight * (again == own)).sum(axis=1)
        shares = np.divide(agree, total, out=np.full(len(total), np.nan), where=total > 0)
        bounds = centred_interval(share, shares, level, "share")
        note = "" if bounds else f"no interval: {counts['n']} pairs are too few or all alike"
        low, high = bounds or (None, None)
        results.append(PreferredShare(name, share, low, high, **counts, note=note))
    return results


def _side(values: Floats) -> Floats:
    return np.where(np.abs(values) <= _DUST, 0.0, np.sign(values))
