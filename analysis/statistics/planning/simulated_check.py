"""A plan checked by simulation: power and coverage of the default two-way clustered interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.arrays import Codes, Floats
from analysis.statistics.clustered_variance import limits_of
from analysis.statistics.comparisons.pairwise_contrasts import all_pairs
from analysis.statistics.comparisons.simultaneous import decide_pairs
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.intervals import Clustered, clustered
from analysis.statistics.planning.precision import DIFFERENCE, shared_level
from analysis.statistics.planning.study_design import BETWEEN, RANDOM, Design, PlanningError
from analysis.statistics.planning.variance_components import Components


@dataclass(frozen=True)
class SimulatedCheck(FlatRow):
    """How often the planned interval did its work, in ``runs`` studies of new raters and items.

    ``power``: the difference of the first two conditions was told from 0 (where ``of`` is mean:
    the first condition's own mean was); ``coverage``: its interval held the truth; each a share
    with its Wilson interval. ``half_width`` is the mean half width. ``coverage_of_mean`` and
    ``half_width_of_mean`` are those of the last condition's own mean.
    """

    power: float
    power_low: float
    power_high: float
    coverage: float
    coverage_low: float
    coverage_high: float
    coverage_of_mean: float
    half_width: float
    half_width_of_mean: float
    sd_of_difference: float
    runs: int
    level: float
    of: str = DIFFERENCE


def simulate_ratings(
    design: Design,
    components: Components,
    means: Sequence[float],
    rng: np.random.Generator,
) -> tuple[Floats, Codes, Codes, Codes]:
    """Scores, condition, rater and item (n,) of one study of the design.

    ``means`` (C,) are the conditions' true means. Effects and noise are normal.
    """
    if len(means) != design.conditions:
        raise PlanningError(f"{len(means)} means for {design.conditions} conditions: give one each")
    t, c, per_clip = design.items, design.conditions, design.ratings_per_stimulus
    condition = np.repeat(np.arange(c), t * per_clip)
    item = np.tile(np.repeat(np.arange(t), per_clip), c)
    rater = _assign_raters(design, condition, rng)
    n_raters = design.raters_in_all
    y = np.asarray(means, dtype=np.float64)[condition]
    y = y + rng.normal(0, 1, n_raters)[rater] * components.rater
    y += rng.normal(0, 1, (n_raters, c))[rater, condition] * components.rater_condition
    y += rng.normal(0, 1, t)[item] * components.item
    y += rng.normal(0, 1, (t, c))[item, condition] * components.stimulus
    y += rng.normal(0, 1, len(y)) * components.residual
    return y, condition, rater, item


def simulated_check(
    design: Design,
    components: Components,
    difference: float,
    *,
    of: str = DIFFERENCE,
    runs: int = 1000,
    level: float = 0.95,
    comparisons: int = 1,
    seed: int = 0,
) -> SimulatedCheck:
    """Power and coverage of the two-way clustered interval over ``runs`` simulated studies.

    The first condition is ``difference`` (score units) better than the second, or than 0 where
    ``of`` is mean; raters, items and clips are new in each run. Raises PlanningError for fewer
    than two raters, items or runs, or two conditions for a difference. Interval: as
    `analysis.statistics.clustered_variance.limits_of` has it, for so many
    ``comparisons`` at once; of all pairs by their joint distribution in the first study.
    """
    fewest = 2 if of == DIFFERENCE else 1
    if design.conditions < fewest or min(design.raters, design.items) < 2 or runs < 2:
        raise PlanningError("the check needs two conditions, raters, items and runs, or more")
    rng = np.random.default_rng(seed)
    means = np.zeros(design.conditions)
    means[0] = difference
    intervals, last = np.empty((runs, 5)), design.conditions - 1
    alpha = 1 - shared_level(level, comparisons)
    for run in range(runs):
        y, condition, rater, item = simulate_ratings(design, components, list(means), rng)
        fitted = clustered(y, condition, rater, item, design.conditions)
        if not run and of == DIFFERENCE and comparisons == last * (last + 1) // 2 > 1:
            alpha = _local_alpha(fitted, level) or alpha
        low, high = _interval(fitted, 0, 1 if fewest == 2 else None, alpha)
        own_low, own_high = _interval(fitted, last, None, 1 - level)
        value = fitted.value[0] - (fitted.value[1] if fewest == 2 else 0.0)
        intervals[run] = low, high, own_low, own_high, value
    lows, highs = intervals[:, 0], intervals[:, 1]
    detected = int(((lows > 0) | (highs < 0)).sum())
    held = int(((lows <= difference) & (difference <= highs)).sum())
    own_truth = means[last]
    own = (intervals[:, 2] <= own_truth) & (intervals[:, 3] >= own_truth)
    return SimulatedCheck(
        detected / runs,
        *_wilson(detected, runs),
        held / runs,
        *_wilson(held, runs),
        coverage_of_mean=float(own.mean()),
        half_width=float((highs - lows).mean() / 2),
        half_width_of_mean=float((intervals[:, 3] - intervals[:, 2]).mean() / 2),
        sd_of_difference=float(np.std(intervals[:, 4], ddof=1)),
        runs=runs,
        level=level,
        of=of,
    )


def _assign_raters(design: Design, condition: Codes, rng: np.random.Generator) -> Codes:
    """Who gives each rating (n,): raters dealt out in turn, no clip twice to one rater."""
    t, per_clip, raters = design.items, design.ratings_per_stimulus, design.raters
    rater = np.empty(len(condition), dtype=np.int64)
    if design.assignment == RANDOM:
        clips = rng.permutation(t * design.conditions)
        place = np.empty(len(clips), dtype=np.int64)
        place[clips] = np.arange(len(clips))
        turn = np.repeat(place, per_clip) * per_clip + np.tile(np.arange(per_clip), len(clips))
        return np.asarray(rng.permutation(raters)[turn % raters], dtype=np.int64)
    for c in range(design.conditions):
        place = np.repeat(rng.permutation(t), per_clip) * per_clip
        turn = place + np.tile(np.arange(per_clip), t)
        own = rng.permutation(raters)[turn % raters]
        rater[condition == c] = own + (c * raters if design.assignment == BETWEEN else 0)
    return rater


def _local_alpha(fitted: Clustered, level: float) -> float | None:
    """The level of each pair when all pairs of the conditions hold at once, as in a report."""
    names = [str(code) for code in range(len(fitted.value))]
    return decide_pairs(all_pairs(len(names)), names, fitted, level=level)[0].alpha


def _interval(fitted: Clustered, a: int, b: int | None, alpha: float) -> tuple[float, float]:
    row = np.zeros((1, len(fitted.value)))
    row[0, a] = 1.0
    if b is not None:
        row[0, b] = -1.0
    low, high = limits_of(row, fitted).bounds(alpha)
    return float(low[0]), float(high[0])


def _wilson(count: int, runs: int) -> tuple[float, float]:
    interval = stats.binomtest(count, runs).proportion_ci(0.95, method="wilson")
    return float(interval.low), float(interval.high)
