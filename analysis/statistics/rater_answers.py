"""Scores by what raters answered about themselves: means of groups, and slopes on numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy import special

from analysis.arrays import Codes, Floats
from analysis.ratings.breakdowns import Family, coded_column, items_of
from analysis.statistics.clustered_variance import limits_of
from analysis.statistics.group_effects import GroupEffect, group_effects
from analysis.statistics.intervals import clustered
from listening.common.covariate_levels import levels_of

LEAST = 5  # raters of a group, and of a slope
ANSWER = "answer"  # the column that a family gets


@dataclass(frozen=True)
class AnswerMean:
    """The mean score of the raters with one answer, over conditions that all groups rated.

    ``low`` and ``high`` are two-way clustered over raters and items; None where there are less than
    two of either, or no variance. ``effect`` compares with the most frequent answer; None of that
    one itself, and where both share no condition.
    """

    answer: str
    raters: int
    ratings: int
    value: float
    low: float | None
    high: float | None
    effect: GroupEffect | None


@dataclass(frozen=True)
class Slope:
    """By how much scores change per unit of a number that raters gave.

    ``sd`` is the standard deviation of the number over ``raters``. ``p`` is two-sided.
    """

    value: float
    low: float
    high: float
    p: float
    raters: int
    sd: float


def answered_family(family: Family, answers: Mapping[str, str]) -> Family:
    """The ratings of raters with an answer, which becomes the column ``answer``."""
    given = family.table["rater"].astype(str).map(dict(answers)).fillna("")
    table = family.table.assign(**{ANSWER: given.to_numpy()})
    return replace(family, table=table[table[ANSWER] != ""])


def answer_means(
    family: Family, answers: Mapping[str, str], *, level: float = 0.95, seed: int = 0
) -> list[AnswerMean]:
    """Means by answer, the most frequent answer first; none with less than two groups.

    Groups of less than `LEAST` raters are left out, so that no single person shows. Each condition
    weighs the same in a mean. Families of pairs have none, whose scores have a direction.
    """
    table = answered_family(family, answers).table
    of_raters = table.groupby("rater", observed=True)[ANSWER].first()
    counts = Counter(of_raters)
    groups = [each for each in levels_of(of_raters) if counts[each] >= LEAST]
    table = table[table[ANSWER].isin(groups)]
    rated = table.groupby("condition", observed=True)[ANSWER].transform("nunique")
    shared = table[rated == len(groups)]
    if len(groups) < 2 or shared.empty or family.in_pairs:
        return []
    bounds = _bounds(shared, groups, family.ends, level)
    means = shared.groupby([ANSWER, "condition"], observed=True)["score"].mean()
    sizes = shared[ANSWER].value_counts()
    both = replace(family, table=table)
    pairs = [(groups[0], other) for other in groups[1:]]
    effects = {e.later: e for e in group_effects(both, ANSWER, pairs, level=level, seed=seed)}
    return [
        AnswerMean(
            answer=group,
            raters=counts[group],
            ratings=int(sizes[group]),
            value=float(means[group].mean()),
            low=low,
            high=high,
            effect=effects.get(group),
        )
        for group, (low, high) in zip(groups, bounds, strict=True)
    ]


def _bounds(
    table: pd.DataFrame, groups: list[str], ends: tuple[float, float] | None, level: float
) -> list[tuple[float | None, float | None]]:
    """The interval of each group's mean over conditions."""
    condition, names = coded_column(table["condition"])
    place = table[ANSWER].map({group: n for n, group in enumerate(groups)}).to_numpy(np.int64)
    rater, _ = coded_column(table["rater"])
    item, _ = coded_column(items_of(table))
    y = table["score"].to_numpy(dtype=np.float64)
    k = len(names)
    means = clustered(y, place * k + condition, rater, item, len(groups) * k, ends=ends)
    rows = np.kron(np.eye(len(groups)), np.full((1, k), 1.0 / k))
    low, high = limits_of(rows, means).bounds(1 - level)
    few = np.minimum(means.n_raters, means.n_items).reshape(len(groups), k).min(axis=1) < 2
    unknown = few | ~np.isfinite(low) | ~np.isfinite(high)
    return [
        (None, None) if no else (float(a), float(b))
        for no, a, b in zip(unknown, low, high, strict=True)
    ]


def answer_slope(
    family: Family, answers: Mapping[str, str], *, level: float = 0.95
) -> Slope | None:
    """The slope of scores on a number; None with less than `LEAST` raters or different numbers.

    Least squares with an intercept for each clip, so that which clips a rater heard is no
    difference between raters. The variance is the jackknife over raters, with t of raters - 1
    degrees of freedom (MacKinnon, Nielsen and Webb 2023). Families of pairs have none.
    """
    table = answered_family(family, answers).table
    x = table[ANSWER].to_numpy(dtype=np.float64)
    rater, names = coded_column(table["rater"])
    if len(names) < LEAST or family.in_pairs:
        return None
    clip, _ = coded_column(table["stimulus"])
    y = table["score"].to_numpy(dtype=np.float64)
    value, without = _slopes(x - x.mean(), y - y.mean(), clip, rater)
    if not np.isfinite(without).all():
        return None
    n = len(names)
    se = float(np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2)))
    if se == 0:
        return None
    half = -float(special.stdtrit(n - 1, (1 - level) / 2)) * se
    own = np.bincount(rater, weights=x) / np.bincount(rater)
    return Slope(
        value=value,
        low=value - half,
        high=value + half,
        p=2 * float(special.stdtr(n - 1, -abs(value) / se)),
        raters=n,
        sd=float(own.std(ddof=1)),
    )


def _sums(code: Codes, values: Floats) -> Floats:
    return np.asarray(np.bincount(code, weights=values), dtype=np.float64)


def _slopes(x: Floats, y: Floats, clip: Codes, rater: Codes) -> tuple[float, Floats]:
    """The slope within clips, and those without each rater (r,); NaN where x does not vary.

    From sums alone: leaving a rater out changes the sums of the clips that the rater heard.
    """
    n_raters, n_clips = int(rater.max()) + 1, int(clip.max()) + 1
    pair, joint = np.unique(rater * n_clips + clip, return_inverse=True)
    of_rater, of_clip = pair // n_clips, pair % n_clips
    k, sx, sy = (_sums(joint, each) for each in (np.ones_like(x), x, y))
    n_c, x_c, y_c = (_sums(of_clip, each) for each in (k, sx, sy))

    def within(
        product: Floats, a_c: Floats, a: Floats, b_c: Floats, b: Floats
    ) -> tuple[float, Floats]:
        whole = float(product.sum() - (a_c * b_c / n_c).sum())
        left = n_c[of_clip] - k
        rest = (a_c[of_clip] - a) * (b_c[of_clip] - b)
        rest = np.divide(rest, left, out=np.zeros_like(rest), where=left > 0)
        change = rest - (a_c * b_c / n_c)[of_clip]
        return whole, whole - _sums(rater, product) - _sums(of_rater, change)

    xx, xx_without = within(x * x, x_c, sx, x_c, sx)
    xy, xy_without = within(x * y, x_c, sx, y_c, sy)
    tiny = 1e-9 * max(float((x * x).sum()), 1e-300)
    slope = xy / xx if xx > tiny else np.nan
    known = xx_without > tiny
    without = np.divide(xy_without, xx_without, out=np.full(n_raters, np.nan), where=known)
    return slope, without
