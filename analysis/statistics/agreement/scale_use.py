"""How each rater uses the scale: mean, spread, shares of its steps, half steps avoided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.statistics.agreement.agreement_result import AgreementError, Names, Row, Scores, coded
from analysis.statistics.intervals import naive_interval

T_OVER_RATINGS = "t over the rater's ratings"


@dataclass(frozen=True)
class ScaleUse(Row):
    """One rater's use of the scale, in score units; shares are of the rater's ratings, 0..1.

    ``shares`` (K,) go with the steps asked about, ``off_scale`` is the share of other values.
    ``half_steps`` is the share of ratings between whole points (None on a scale without half
    steps) and ``half_steps_p`` the chance of so few, or fewer, if the rater used them as often as
    the others did. ``ends`` is the share at the two ends.
    """

    rater: str
    n_ratings: int
    mean: float
    low: float | None
    high: float | None
    level: float
    interval: str
    sd: float | None
    lowest: float
    highest: float
    n_steps_used: int
    shares: tuple[float, ...]
    off_scale: float
    ends: float
    half_steps: float | None
    half_steps_p: float | None
    note: str = ""


def scale_use(
    rater: Names, score: Scores, steps: Sequence[float], *, level: float = 0.95
) -> list[ScaleUse]:
    """Each rater's use of the ``steps`` (K,) of a scale, for ratings (n,); NaN scores left out.

    Empty without ratings. Raises AgreementError when fewer than two steps are given or they do
    not ascend. Shares are plain counts; ``half_steps_p`` is a binomial lower tail (Clark et al.
    2019 rate in half steps; some raters never use them). The mean's interval is naive t.
    """
    places = np.asarray(steps, dtype=np.float64)
    if len(places) < 2 or (np.diff(places) <= 0).any():
        raise AgreementError("give two or more steps of the scale, ascending")
    ratings = coded(np.zeros(len(score), dtype=int), rater, score)
    step = np.clip(np.searchsorted(places, ratings.y - 1e-9), 0, len(places) - 1)
    known = np.abs(places[step] - ratings.y) < 1e-6
    n_raters = len(ratings.raters)
    counts = np.bincount(
        ratings.rater[known] * len(places) + step[known], minlength=n_raters * len(places)
    ).reshape(n_raters, len(places))
    has_halves = bool((np.abs(places - np.rint(places)) > 1e-6).any())
    between = np.abs(ratings.y - np.rint(ratings.y)) > 1e-6
    halves = np.bincount(ratings.rater[between], minlength=n_raters)
    totals = np.bincount(ratings.rater, minlength=n_raters)
    order = np.argsort(ratings.rater, kind="stable")
    parts = np.split(ratings.y[order], np.cumsum(totals)[:-1]) if n_raters else []
    uses = []
    for code, y in enumerate(parts):
        others = int(totals.sum() - totals[code])
        rate = (halves.sum() - halves[code]) / others if has_halves and others else None
        mine = y, counts[code], int(halves[code])
        uses.append(_one(ratings.raters[code], *mine, has_halves, rate, level))
    return uses


def _one(
    rater: str,
    y: np.ndarray,
    counts: np.ndarray,
    halves: int,
    has_halves: bool,
    rate: float | None,
    level: float,
) -> ScaleUse:
    n = len(y)
    bounds = naive_interval(y, level)
    note = "" if bounds else "one rating only: no interval"
    if bounds and np.ptp(y) == 0:
        bounds, note = None, "the same score throughout: no interval"
    low, high = bounds or (None, None)
    return ScaleUse(
        rater=rater,
        n_ratings=n,
        mean=float(y.mean()),
        low=low,
        high=high,
        level=level,
        interval=T_OVER_RATINGS,
        sd=float(np.std(y, ddof=1)) if n > 1 else None,
        lowest=float(y.min()),
        highest=float(y.max()),
        n_steps_used=int((counts > 0).sum()),
        shares=tuple(float(c) / n for c in counts),
        off_scale=1 - float(counts.sum()) / n,
        ends=float(counts[0] + counts[-1]) / n,
        half_steps=halves / n if has_halves else None,
        half_steps_p=None if rate is None else float(special.bdtr(halves, n, rate)),
        note=note,
    )
