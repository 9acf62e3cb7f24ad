"""How fast each rater answers, against the panel and against the rater's own start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.statistics.agreement.agreement_result import AgreementError, Names, Scores, coded
from analysis.statistics.flat_row import FlatRow

LOG_T = "t over log answer times"


@dataclass(frozen=True)
class Pace(FlatRow):
    """One rater's answer times in milliseconds.

    ``typical_ms`` is the geometric mean with its interval; ``quick`` the share (0..1) of answers
    under ``quick_ms``; ``z`` the rater's mean log time against the panel's median in robust SDs
    (1.4826 MAD over raters), negative is faster; ``speeding_up`` the factor on the time from the
    first to the last third of the rater's ratings (below 1: faster at the end). None where
    undefined; ``note`` says why.
    """

    rater: str
    n_ratings: int
    median_ms: float
    typical_ms: float
    low_ms: float | None
    high_ms: float | None
    level: float
    interval: str
    quick: float
    z: float | None
    speeding_up: float | None
    note: str = ""


def pace_of_raters(
    rater: Names,
    latency_ms: Scores,
    position: Scores | None = None,
    *,
    quick_ms: float = 1000.0,
    level: float = 0.95,
) -> list[Pace]:
    """Each rater's pace from answer times (n,) in ms; NaN times are left out.

    ``position`` (n,) orders a rater's ratings; without it ``speeding_up`` is None. Raises
    AgreementError on times below 0. Times of 0 count as 1 ms. Log times: Ratcliff (1993),
    Psychological Bulletin 114; robust z: Leys et al. (2013), J. Exp. Soc. Psychol. 49.
    """
    times = np.asarray(latency_ms, dtype=np.float64)
    if (times < 0).any():
        raise AgreementError("an answer time is negative; give milliseconds from 0 up")
    known = ~np.isnan(times)
    ratings = coded(np.zeros(len(times), dtype=int), rater, times)
    at = None if position is None else np.asarray(position, dtype=np.float64)[known]
    logs = np.log(np.maximum(ratings.y, 1.0))
    totals = np.bincount(ratings.rater, minlength=len(ratings.raters))
    means = np.bincount(ratings.rater, weights=logs, minlength=len(totals)) / np.maximum(totals, 1)
    middle = float(np.median(means)) if len(means) else 0.0
    spread = 1.4826 * float(np.median(np.abs(means - middle))) if len(means) else 0.0
    order = np.argsort(ratings.rater, kind="stable")
    parts = np.split(order, np.cumsum(totals)[:-1]) if len(totals) else []
    paces = []
    for code, rows in enumerate(parts):
        z = (float(means[code]) - middle) / spread if spread > 0 else None
        change = None if at is None else _change(logs[rows], at[rows])
        mine = ratings.y[rows], logs[rows]
        paces.append(_one(ratings.raters[code], *mine, z, change, quick_ms, level))
    return paces


def _one(
    rater: str,
    times: np.ndarray,
    logs: np.ndarray,
    z: float | None,
    change: float | None,
    quick_ms: float,
    level: float,
) -> Pace:
    n, mean = len(times), float(logs.mean())
    low = high = None
    notes = [] if z is not None else ["raters do not differ in pace: no z"]
    if n > 1:
        half = float(special.stdtrit(n - 1, (1 + level) / 2)) * float(np.std(logs, ddof=1)) / n**0.5
        low, high = float(np.exp(mean - half)), float(np.exp(mean + half))
    else:
        notes.append("one answer only: no interval")
    return Pace(
        rater=rater,
        n_ratings=n,
        median_ms=float(np.median(times)),
        typical_ms=float(np.exp(mean)),
        low_ms=low,
        high_ms=high,
        level=level,
        interval=LOG_T,
        quick=float((times < quick_ms).mean()),
        z=z,
        speeding_up=change,
        note="; ".join(notes),
    )


def _change(logs: np.ndarray, position: np.ndarray) -> float | None:
    """exp(mean log time of the last third - that of the first third); None under 6 answers."""
    third = len(logs) // 3
    if third < 2:
        return None
    ordered = logs[np.argsort(position, kind="stable")]
    return float(np.exp(ordered[-third:].mean() - ordered[:third].mean()))
