"""All other analyses of one comparison: other rules, one rater or item less, other ways."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.arrays import Codes
from analysis.ratings.grouping import Breakdown
from analysis.ratings.scales import family_title
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.robustness.claims import Comparison, Found, Names, Variant
from analysis.statistics.robustness.leave_one_out import sides_turned, without_each
from analysis.statistics.robustness.ways import ways_of
from analysis.statistics.sensitivity import Scheme

if TYPE_CHECKING:
    import pandas as pd

RULES, MORE = "Other rules", "One more rule"
RATER, ITEM, WAYS = "Without one rater", "Without one item", "Other analyses"
KINDS = (RULES, MORE, RATER, ITEM, WAYS)
MOST_LEFT_OUT = 1000  # raters, and items, that are left out one by one

Told = Callable[[float], None]


def under_rules(
    kept: Iterable[tuple[Scheme, pd.DataFrame]], kind: str, reference: str, level: float
) -> dict[str, list[Variant]]:
    """By the title of its family: the comparison of the ratings that each scheme keeps."""
    made = MeanScore(
        Breakdown(), intervals=("two_way",), weightings=("ratings",), reference=reference
    )
    found: dict[str, list[Variant]] = {}
    for (name, _), table in kept:
        by_title: dict[str, dict[Names, Found]] = {}
        for one in made.contrasts(table, level=level):
            if one.interval.startswith("naive"):
                continue
            title = family_title({"estimand": one.estimand, **one.group})
            differences = by_title.setdefault(title, {})
            differences[one.condition, one.versus] = Found(
                one.value, one.low_all, one.high_all, bool(one.claimed)
            )
        for title, differences in by_title.items():
            found.setdefault(title, []).append(Variant(kind, name, differences))
    return found


def left_out(
    comparison: Comparison, names: Mapping[str, list[str]], seed: int, tell: Told
) -> Iterator[Variant]:
    """The comparison without each rater, then without each item (of many, some drawn by seed).

    ``names`` are those of the codes of ``rater`` and ``item``.
    """
    cell = comparison.cell
    sides = (RATER, "rater", cell.rater, cell.item), (ITEM, "item", cell.item, cell.rater)
    for half, (kind, column, own, other) in enumerate(sides):
        chosen = chosen_codes(own, seed)
        without = without_each(
            cell.y, cell.condition, own, other, len(cell.names), chosen, cell.ends
        )
        for done, (code, means) in enumerate(without):
            if done % 50 == 0:
                tell((half + done / len(chosen)) / 2)
            turned = means if kind == RATER else sides_turned(means)
            yield comparison.nearby(kind, names[column][code], turned)


def chosen_codes(codes: Codes, seed: int) -> list[int]:
    """Those that are left out one by one: all there are, or so many of them drawn."""
    there = np.unique(codes)
    if len(there) > MOST_LEFT_OUT:
        there = np.sort(np.random.default_rng(seed).choice(there, MOST_LEFT_OUT, replace=False))
    return [int(code) for code in there]


def in_other_ways(comparison: Comparison, models: bool = False) -> Iterator[Variant]:
    """The comparison in each other way that the ratings allow; see `ways_of`."""
    for way in ways_of(comparison.cell, models):
        variant = comparison.decided(WAYS, way.name, way.means)
        yield variant if way.same_scale else Variant(WAYS, way.name, variant.found, False)


def of_intervals(rows: Iterable[Mapping[str, Any]], title: str) -> Iterator[Variant]:
    """What the report's other intervals of the same differences say, each for itself alone."""
    found: dict[str, dict[Names, Found]] = {}
    for row in rows:
        other = not row["interval"].startswith(("naive", "two-way"))
        overall = row["breakdown"] == str(Breakdown()) and row["weighting"] == "ratings"
        if other and overall and family_title(row) == title and row["low"] is not None:
            away = row["low"] > 0 or row["high"] < 0
            one = Found(row["value"], row["low"], row["high"], away)
            found.setdefault(row["interval"], {})[row["condition"], row["versus"]] = one
    for name, differences in found.items():
        yield Variant(WAYS, f"{name.partition(',')[0]}, each difference alone", differences)
