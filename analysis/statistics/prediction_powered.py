"""Means and differences helped by a metric that scored every clip, of which raters heard a part.

With L the clips that raters heard and U the others, all with a metric value x,

    mean(lambda) = sum over ratings of w (y - lambda x) + lambda * mean of x over U

has the same expectation for every lambda if L is a random draw: a poor metric costs width, never
the mean. This is double sampling for regression (Cochran 1977, chapter 12) and, for independent
ratings, PPI++ (Angelopoulos, Duchi and Zrnic 2023). Here ratings are crossed: the variance is that
of `clustered_variance` for the residuals y - lambda x, plus lambda² var(x over U) / |U|.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from analysis.arrays import Floats
from analysis.ratings.breakdowns import Family, coded_column
from analysis.ratings.estimands import estimands
from analysis.statistics.clustered_variance import (
    clustered_parts,
    limits_of,
    variances_and_df,
)
from analysis.statistics.intervals import Clustered, clustered
from analysis.statistics.planning.precision import FEWEST_CLIPS


@dataclass(frozen=True)
class Assisted:
    """A mean, or condition minus ``versus``, with and without the metric's help.

    ``weight`` is lambda of the condition (and of ``versus``), 0 where the metric does not help;
    ``saved`` the share of the variance that it replaces, and the interval is the classical one
    where that is 0. ``rated`` and ``others`` count clips, of the side that has fewer.
    """

    condition: str
    versus: str
    value: float
    low: float
    high: float
    classical: float
    classical_low: float
    classical_high: float
    weight: tuple[float, ...]
    saved: float
    rated: int
    others: int


@dataclass(frozen=True)
class _Slope:
    """What the metric says of one condition's clips."""

    weight: float = 0.0
    rated: int = 0
    others: int = 0
    far_mean: float = 0.0
    far_variance: float = 0.0  # of the mean over the others, for a weight of 1


def prediction_powered(
    family: Family, values: Mapping[str, float], others: Mapping[str, Floats], level: float = 0.95
) -> Iterator[Assisted]:
    """The means of a family's conditions, then all their differences.

    Args:
        family: ratings of one condition each; clips are told apart by ``stimulus``.
        values: the metric's value of each rated clip, by stimulus; any scale.
        others: by condition, the metric's values (M,) of its clips that nobody rated.
        level: of the intervals.

    Rated clips must be a random draw of all clips, and the metric must not have been fitted to
    these ratings. A condition is not helped with fewer than `FEWEST_CLIPS` rated clips or two
    others, where a rated clip has no value, or where the slope's adjusted R² is not above 0. The
    slope of clip means on the metric costs one degree of freedom: the clips' part of the variance
    is multiplied by (n - 1) / (n - 2). Never wider than the classical interval, which is then
    given instead. Nothing for families of pairs.
    """
    if family.in_pairs:
        return
    table = family.table
    condition, names = coded_column(table["condition"])
    y = table["score"].to_numpy(dtype=np.float64)
    x = table["stimulus"].map(values).to_numpy(dtype=np.float64)
    clip, _ = coded_column(table["stimulus"])
    slopes = [
        _slope(y[mine], x[mine], clip[mine], others.get(name, np.zeros(0)))
        for code, name in enumerate(names)
        for mine in [condition == code]
    ]
    weight = np.array([each.weight for each in slopes])
    helped = y - weight[condition] * np.nan_to_num(x)  # weight 0 where a value is missing
    plain, residual = (
        clustered(each, condition, family.rater, family.item, len(names), ends=ends)
        for each, ends in ((y, family.ends), (helped, None))
    )
    rows: list[tuple[str, str, tuple[int, ...]]] = [
        (name, "", (code,)) for code, name in enumerate(names)
    ]
    rows += [(names[a], names[b], (a, b)) for a, b in combinations(range(len(names)), 2)]
    for name, versus, codes in rows:
        yield _assisted(
            name, versus, [slopes[code] for code in codes], codes, plain, residual, level
        )


def _slope(y: Floats, x: Floats, clip: np.ndarray, others: Floats) -> _Slope:
    """Lambda of a condition: the slope of clip means on the metric, times M / (M + n)."""
    clips, place = np.unique(clip, return_inverse=True)
    n, m = len(clips), int(np.isfinite(others).sum())
    far = others[np.isfinite(others)]
    none = _Slope(rated=n, others=m)
    if n < FEWEST_CLIPS or m < 2 or not np.isfinite(x).all():
        return none
    heard = np.bincount(place, y) / np.bincount(place)
    predicted = np.bincount(place, x) / np.bincount(place)
    apart = predicted - predicted.mean()
    spread = float(apart @ apart)
    if spread <= 0 or np.ptp(heard) == 0:
        return none
    slope = float(apart @ heard) / spread
    squared = slope**2 * spread / float(np.sum((heard - heard.mean()) ** 2))
    if 1 - (1 - squared) * (n - 1) / (n - 2) <= 0:
        return none
    return _Slope(
        slope * m / (m + n),
        n,
        m,
        float(far.mean()),
        float(far.var(ddof=1)) / m,
    )


def _assisted(
    name: str,
    versus: str,
    slopes: list[_Slope],
    codes: tuple[int, ...],
    plain: Clustered,
    residual: Clustered,
    level: float,
) -> Assisted:
    signs = np.array([1.0, -1.0])[: len(codes)]
    row = np.zeros((1, len(plain.value)))
    row[0, list(codes)] = signs
    limits = limits_of(row, plain)
    low, high = (float(end[0]) for end in limits.bounds(1 - level))
    value, saved = float(limits.value[0]), 0.0
    classical = (value, low, high)
    weights = np.array([each.weight for each in slopes])
    if weights.any():
        far = float(np.sum(weights**2 * np.array([each.far_variance for each in slopes])))
        variance, df = _variance(row, residual, min(each.rated for each in slopes))
        total = variance + far
        far_df = min(each.others for each in slopes if each.weight) - 1
        df = total**2 / (variance**2 / df + far**2 / far_df)
        before = float(limits.variance[0])
        half = float(-special.stdtrit(df, (1 - level) / 2)) * total**0.5
        if total < before and not 2 * half >= high - low:
            means = np.array([each.far_mean for each in slopes])
            value = float(row[0] @ residual.value) + float(signs @ (weights * means))
            low, high, saved = value - half, value + half, 1 - total / before
    if not saved:
        weights = np.zeros(len(codes))
    return Assisted(
        name,
        versus,
        value,
        low,
        high,
        *classical,
        tuple(weights.tolist()),
        saved,
        min(each.rated for each in slopes),
        min(each.others for each in slopes),
    )


def _variance(row: Floats, residual: Clustered, n: int) -> tuple[float, float]:
    """Of a contrast of residual means, one degree of freedom of n clips spent on the slope."""
    variance, df = variances_and_df(row, residual)
    _, by_item, _ = clustered_parts(row, residual)
    more = (n - 1) ** 2 / (n * (n - 2)) - 1  # (n - 1) / (n - 2) in the place of n / (n - 1)
    return float(variance[0] + more * by_item[0]), float(min(df[0], n - 2))


def ppi(ratings: Any, scores: Any, level: float = 0.95) -> list[Assisted]:
    """Means and differences of conditions, helped by a metric that scored every clip.

    Args:
        ratings: a data frame or rows with condition, stimulus, rater and score, and item (what is
            spoken; the stimulus where there is no such column). One criterion, no traps. The
            column estimand says what scores are (without it, mos: 1 to 5, or more points).
        scores: the same with condition, stimulus and value, of rated and of other clips. Leave the
            value empty where the metric failed. Conditions and stimuli are compared as text.
        level: of the intervals, above 0 and below 1.

    Returns the means, then all differences: see `prediction_powered`, whose conditions hold. A
    condition of which scores has no clip gets the classical interval, with a UserWarning.
    Raises ValueError where a column, a name, a score or a rated clip is missing, a number is not
    finite, a clip is there twice or has two conditions, or ratings have two estimands or criteria.
    """
    if not 0 < level < 1:
        raise ValueError(f"level {level} is not between 0 and 1. Give 0.95 for 95 % intervals.")
    table = _frame(ratings, "ratings", ("condition", "stimulus", "rater", "score"))
    known = _frame(scores, "scores", ("condition", "stimulus", "value"))
    if (empty := table["score"].isna()).any():
        row = int(empty.argmax()) + 1
        raise ValueError(f"ratings, row {row}: no score. Leave such rows out.")
    _check_clips(table, known)
    item = table["item"] if "item" in table else table["stimulus"]
    rater, raters = coded_column(table["rater"])
    items, item_names = coded_column(item)
    _only_value(table, "criterion")
    estimand = _only_value(table, "estimand") or "mos"
    if estimand not in estimands():
        raise ValueError(f"ratings: no estimand {estimand}. Known are {', '.join(estimands())}.")
    named = table.assign(versus_condition="")
    family = Family(named, {}, estimand, rater, items, len(raters), len(item_names))
    values = dict(zip(known["stimulus"], known["value"].tolist(), strict=True))
    far = known[~known["stimulus"].isin(table["stimulus"])]
    others = {
        str(name): own["value"].to_numpy(dtype=np.float64) for name, own in far.groupby("condition")
    }
    return list(prediction_powered(family, values, others, level))


def _frame(rows: Any, what: str, needed: Sequence[str]) -> pd.DataFrame:
    """The rows with names as text and, in the last needed column, finite or missing numbers."""
    frame = rows.copy() if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows))
    absent = [name for name in needed if name not in frame]
    if absent:
        raise ValueError(f"{what}: no column {', '.join(absent)}. Give {', '.join(needed)}.")
    frame = frame.reset_index(drop=True)
    *names, number = needed
    for name in (each for each in (*names, "item") if each in frame):
        empty = frame[name].isna() | (frame[name].astype("str").str.strip() == "")
        if empty.any():
            raise ValueError(f"{what}, row {int(empty.argmax()) + 1}: no {name}. Name it.")
        frame[name] = frame[name].astype("str")
    values = pd.to_numeric(frame[number], errors="coerce").astype("float64")
    wrong = np.isinf(values) | (values.isna() & frame[number].notna())
    if wrong.any():
        row = int(wrong.argmax())
        raise ValueError(
            f"{what}, row {row + 1}: the {number} {frame[number].iloc[row]} is not a finite "
            "number. Correct it, or leave it out."
        )
    return frame.assign(**{number: values})


def _check_clips(ratings: pd.DataFrame, scores: pd.DataFrame) -> None:
    """Raise ValueError where clips of both tables contradict, and warn where none can match."""
    if twice := scores["stimulus"][scores["stimulus"].duplicated()].tolist():
        raise ValueError(f"scores: the clip {twice[0]} is there twice. Give one metric's values.")
    clips = ratings[["condition", "stimulus"]].drop_duplicates()
    if twice := clips["stimulus"][clips["stimulus"].duplicated()].tolist():
        raise ValueError(
            f"ratings: the clip {twice[0]} has two conditions. Give each clip a name of its own."
        )
    theirs = clips["stimulus"].map(dict(zip(scores["stimulus"], scores["condition"], strict=True)))
    differs = theirs.notna() & (theirs != clips["condition"])
    if differs.any():
        clip, condition = clips.loc[differs, ["stimulus", "condition"]].iloc[0]
        raise ValueError(
            f"the clip {clip} is of condition {condition} in ratings and {theirs[differs].iloc[0]} "
            "in scores. Name conditions alike in both."
        )
    absent = clips[theirs.isna()]
    unnamed = absent[absent["condition"].isin(set(scores["condition"]))]
    if len(unnamed) or len(absent) == len(clips) > 0:
        clip = (unnamed if len(unnamed) else absent)["stimulus"].iloc[0]
        like = f" scores has clips like {scores['stimulus'].iloc[0]}." if len(scores) else ""
        raise ValueError(
            f"{len(absent)} of {len(clips)} rated clips are not in scores, for example {clip}."
            f"{like} Stimuli are compared as text: name them alike. Leave the value empty where "
            "the metric failed."
        )
    if len(absent):
        names = ", ".join(dict.fromkeys(absent["condition"]))
        warnings.warn(
            f"scores has no clip of {names}: {len(absent)} of {len(clips)} rated clips, for "
            f"example {absent['stimulus'].iloc[0]}. Their means are of ratings alone.",
            UserWarning,
            stacklevel=3,
        )


def _only_value(ratings: pd.DataFrame, name: str) -> str:
    """The one value of a column, empty without the column; ValueError where there are several."""
    there = ratings[name].dropna().astype("str").unique().tolist() if name in ratings else []
    if len(there) > 1:
        raise ValueError(f"ratings: more than one {name}: {', '.join(there)}. Choose one.")
    return str(there[0]) if there else ""
