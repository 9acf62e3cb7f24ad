"""Shares of counts that are summed over clips, such as precision and recall, and their intervals.

Arrays in, numbers out: n is the number of clips, ``cluster`` holds the integer codes (n,) of what
is drawn together, such as the sentence of several synthesis runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.arrays import Codes, Floats


@dataclass(frozen=True)
class CountShare:
    """A share with its interval; the ends are None where there are fewer than two clusters."""

    value: float
    low: float | None
    high: float | None
    clips: int


def share_of_sums(
    part: Floats, whole: Floats, cluster: Codes, level: float = 0.95
) -> CountShare | None:
    """Return Σ part / Σ whole, 0 to 1, with an interval over clips; None where Σ whole is 0.

    ``part`` and ``whole`` (n,) are counts of each clip, 0 <= part <= whole: true positives of
    those found (precision), of those asked for (recall), or 2 TP of 2 TP + FP + FN (F1). The
    interval is Wilson's (1927) of as many independent answers as have the variance of the ratio
    (Cochran 1977, eq. 6.13, over clusters), with t in place of z.
    """
    total = float(whole.sum())
    if total <= 0:
        return None
    value, known = float(part.sum()) / total, whole > 0
    clips = int(known.sum())
    sums = _cluster_sums(part - value * whole, cluster)[np.unique(cluster[known])]
    groups = len(sums)
    if groups < 2:
        return CountShare(value, None, None, clips)
    variance = groups / (groups - 1) * float((sums**2).sum()) / total**2
    answers = value * (1 - value) / variance if variance > 0 else float(groups)
    return CountShare(value, *_wilson(value, answers, groups - 1, level), clips)


def mean_on_scale(
    values: Floats, cluster: Codes, most: float, level: float = 0.95
) -> CountShare | None:
    """Return the mean of values (n,) from 0 to ``most`` with an interval; None without a value.

    The mean is the share of the way to ``most``, with the interval of `share_of_sums`.
    """
    if not len(values):
        return None
    share = share_of_sums(values / most, np.ones(len(values)), cluster, level)
    if share is None or share.low is None or share.high is None:
        return CountShare(float(values.mean()), None, None, len(values))
    return CountShare(float(values.mean()), most * share.low, most * share.high, len(values))


def effective_clips(positive: Floats, cluster: Codes) -> float:
    """Return how many independent clips tell as much of a share as these n clips in clusters.

    ``positive`` (n,) is 0 or 1. n over the design effect (Kish 1965), at most n; where all clips
    are equal, the number of clusters.
    """
    n, apart = len(positive), positive - positive.mean()
    sums = _cluster_sums(apart, cluster)
    groups = len(np.unique(cluster))
    alone = n / (n - 1) * float((apart**2).sum()) if n > 1 else 0.0
    if alone <= 0 or groups < 2:
        return float(groups)
    effect = groups / (groups - 1) * float((sums**2).sum()) / alone
    return n / max(effect, 1.0)


def _cluster_sums(values: Floats, cluster: Codes) -> Floats:
    return np.asarray(np.bincount(cluster, weights=values), dtype=np.float64)


def _wilson(value: float, answers: float, df: int, level: float) -> tuple[float, float]:
    square = float(special.stdtrit(df, (1 + level) / 2)) ** 2
    middle = (value * answers + square / 2) / (answers + square)
    spread = value * (1 - value) / answers + square / (4 * answers**2)
    half = spread**0.5 * square**0.5 * answers / (answers + square)
    return max(0.0, middle - half), min(1.0, middle + half)
