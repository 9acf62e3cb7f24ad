"""A metric as a detector of people against machines: F1 over thresholds, and the area under ROC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize, special, stats

from analysis.arrays import Floats
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.intervals import percentile_interval

REPLICATES = 1000


@dataclass(frozen=True)
class Detection(FlatRow):
    """How well values of a metric tell human clips from the others, human being what is sought.

    ``f1`` is at ``threshold`` (human where the value is at least that; at most, for a metric that
    falls), ``f1_best`` the highest of all thresholds, reached at ``best``. ``auc`` is the share of
    pairs of a human clip and another in which the human one has the better value, ties a half.
    """

    n_human: int
    n_other: int
    threshold: float | None = None
    f1: float | None = None
    f1_low: float | None = None
    f1_high: float | None = None
    precision: float | None = None
    recall: float | None = None
    best: float | None = None
    f1_best: float | None = None
    auc: float | None = None
    auc_low: float | None = None
    auc_high: float | None = None
    note: str = ""


def detection(
    human: Floats,
    other: Floats,
    *,
    threshold: float | None = None,
    falls: bool = False,
    level: float = 0.95,
    seed: Sequence[int] = (0,),
) -> Detection:
    """Values of human clips (n,) and of the others (m,) at a threshold, or only at the best one.

    The F1 interval is a bootstrap over clips of each kind; that of the area is Newcombe's (2006,
    method 5), which has width at 1 too. ``falls``: lower values are more human.
    """
    sign = -1.0 if falls else 1.0
    a, b = (sign * values[np.isfinite(values)] for values in (human, other))
    n, m = len(a), len(b)
    if not n or not m:
        kinds = " and ".join(["no human clip"] * (not n) + ["no other clip"] * (not m))
        return Detection(n, m, threshold, note=f"undefined: {kinds} with a value")
    edges, curve = _curve(a, b)
    place = int(np.argmax(curve))
    area = float((stats.rankdata(np.concatenate([a, b]))[:n].sum() - n * (n + 1) / 2) / (n * m))
    low, high = area_interval(area, n, m, level)
    result = Detection(
        n,
        m,
        threshold,
        best=sign * float(edges[place]),
        f1_best=float(curve[place]),
        auc=area,
        auc_low=low,
        auc_high=high,
        note="one value for all clips" if np.ptp(np.concatenate([a, b])) == 0 else "",
    )
    return (
        result if threshold is None else _at_threshold(result, a, b, sign * threshold, level, seed)
    )


def f1_curve(human: Floats, other: Floats, falls: bool = False) -> tuple[Floats, Floats]:
    """Each value as a threshold, rising, and F1 there."""
    sign = -1.0 if falls else 1.0
    a, b = sign * human[np.isfinite(human)], sign * other[np.isfinite(other)]
    edges, curve = _curve(a, b)
    return (edges * sign)[:: int(sign)], curve[:: int(sign)]


def area_interval(area: float, n: int, m: int, level: float) -> tuple[float, float]:
    """Newcombe's (2006) method 5 for the area under the ROC curve of n and m values.

    The areas whose distance from the one found is z of their own standard error (Hanley and McNeil
    1982, with the mean of n and m in both terms).
    """
    z = float(special.ndtri((1 + level) / 2))
    more = (n + m) / 2 - 1

    def apart(true: float) -> float:
        spread = (1 - true) / (2 - true) + true / (1 + true)
        variance = true * (1 - true) * (1 + more * spread) / (n * m)
        return float(abs(area - true) - z * variance**0.5)

    low, high = 0.0, 1.0
    below, above = min(area, 1 - 1e-9), max(area, 1e-9)  # at the ends the distance is 0 itself
    if area > 0 and apart(1e-12) > 0:
        low = float(optimize.brentq(apart, 1e-12, below))
    if area < 1 and apart(1 - 1e-12) > 0:
        high = float(optimize.brentq(apart, above, 1 - 1e-12))
    return low, high


def _curve(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    edges = np.unique(np.concatenate([a, b]))
    hits = len(a) - np.searchsorted(np.sort(a), edges, side="left")
    alarms = len(b) - np.searchsorted(np.sort(b), edges, side="left")
    return edges, np.asarray(2 * hits / (hits + alarms + len(a)), dtype=np.float64)


def _at_threshold(
    result: Detection, a: Floats, b: Floats, threshold: float, level: float, seed: Sequence[int]
) -> Detection:
    """With F1, its bounds, precision and recall where human means at least the threshold."""
    n, hits, alarms = len(a), int((a >= threshold).sum()), int((b >= threshold).sum())
    rng = np.random.default_rng(list(seed))
    drawn = rng.binomial(n, hits / n, REPLICATES)
    false = rng.binomial(len(b), alarms / len(b), REPLICATES)
    bounds = percentile_interval(2 * drawn / (drawn + false + n), level)
    low, high = bounds if bounds and bounds[1] > bounds[0] else (None, None)
    return replace(
        result,
        f1=2 * hits / (hits + alarms + n),
        f1_low=low,
        f1_high=high,
        precision=hits / (hits + alarms) if hits + alarms else None,
        recall=hits / n,
    )
