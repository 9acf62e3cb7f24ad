"""What a comparison of metrics with people gives back, and what it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.statistics.flat_row import FlatRow
from analysis.statistics.metric_agreement.resampled_units import Sample

COEFFICIENTS = ("srcc", "plcc", "krcc")
ERRORS = ("mae", "rmse", "rmse_star")
FEWEST = 3
FEW_CONDITIONS = 10  # below which intervals per condition are said to be rough
AS_IS, MAPPED = "as it is", "after the mapping"
TWO_WAY = "bootstrap over raters and items, centred"
THREE_WAY = "bootstrap over conditions, raters and items, percentile"
FISHER = "Fisher's over conditions"


@dataclass(frozen=True)
class Correlated(FlatRow):
    """One number of one metric against people: a coefficient, kappa or error, and its counts.

    ``unit`` is what was counted (``n`` of them), ``mapping`` whether the metric was mapped first.
    ``low`` and ``high`` hold for other raters and items with these conditions, ``low_conditions``
    and ``high_conditions`` for other conditions too. What is undefined is None; ``note`` says why.
    """

    metric: str
    unit: str
    statistic: str
    mapping: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    n_missing: int
    n_ratings: int
    p: float | None = None
    low_conditions: float | None = None
    high_conditions: float | None = None
    note: str = ""


@dataclass(frozen=True)
class CorrelationOptions:
    """What is computed: level of intervals, replicates, seed, and what is known of the scales.

    ``same_scale`` names the metrics whose values are on the scale of the raters, ``steps`` are
    the steps of that scale (empty: no kappa), ``lower_is_better`` the metrics that fall as people
    like a clip more.
    """

    level: float = 0.95
    replicates: int = 2000
    seed: Sequence[int] = (0,)
    same_scale: frozenset[str] = frozenset()
    steps: tuple[float, ...] = ()
    lower_is_better: frozenset[str] = frozenset()
    mapped: bool = True


def metric_result(
    metric: str,
    sample: Sample,
    statistic: str,
    mapping: str,
    value: float | None,
    bounds: tuple[float, float] | None,
    p: float | None = None,
    note: str = "",
) -> Correlated:
    low, high = bounds or (None, None)
    counts = (sample.n, sample.n_missing, sample.n_ratings)
    return Correlated(
        metric, sample.unit, statistic, mapping, value, low, high, *counts, p=p, note=note
    )
