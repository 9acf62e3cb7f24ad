"""The six intraclass correlations of Shrout and Fleiss, with their F intervals.

Ours: pingouin has the numbers, but not incomplete units, equal ratings or the intervals' degrees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from analysis.arrays import Floats
from analysis.statistics.agreement.agreement_result import (
    ALL_EQUAL,
    NOTHING,
    AgreementError,
    CodedRatings,
    Names,
    Row,
    Scores,
    coded,
)

FORMS = {
    "ICC1": "one rater, each unit by other raters (one-way)",
    "ICC2": "one rater of a population of raters, absolute agreement",
    "ICC3": "one of these raters, consistency",
    "ICC1k": "mean of k raters, each unit by other raters (one-way)",
    "ICC2k": "mean of k raters of a population, absolute agreement",
    "ICC3k": "mean of these k raters, consistency (Cronbach's alpha)",
}
F_INTERVAL = "F distribution (Shrout and Fleiss 1979)"
SATTERTHWAITE = "F distribution, Satterthwaite degrees (Shrout and Fleiss 1979)"


@dataclass(frozen=True)
class IntraclassCorrelation(Row):
    """One form of the ICC: value, interval, the F test of no difference between units, counts.

    ``form`` is a key of ``FORMS``. All numbers are None where undefined; ``note`` says why.
    """

    form: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    interval: str
    f: float | None
    df1: int | None
    df2: int | None
    p: float | None
    n_units: int
    n_raters: int
    n_ratings: int
    note: str = ""


@dataclass(frozen=True)
class _Squares:
    n: int
    k: int
    between: float
    within: float
    raters: float
    error: float


def intraclass_correlations(
    unit: Names, rater: Names, score: Scores, *, level: float = 0.95
) -> list[IntraclassCorrelation]:
    """The six forms for ratings (n,), in the order of ``FORMS``; values at most 1.

    Only units that every rater rated count (the note says how many were left out); for designs
    where raters hear different clips use `icc_mixed`. Undefined, with the reason, for fewer than
    two raters or complete units, or when nothing varies. Raises AgreementError on a level outside
    0..1. Shrout and Fleiss (1979), Psychological Bulletin 86, Table 4 and pp. 424-426.
    """
    if not 0 < level < 1:
        raise AgreementError(f"level {level} is not between 0 and 1")
    ratings = coded(unit, rater, score)
    complete, note = ratings.complete()
    why = _unfit(ratings, complete)
    if why:
        return [_undefined(form, ratings, level, why) for form in FORMS]
    squares = _squares(complete)
    if squares.between <= 0 and squares.within <= 0:
        return [_undefined(form, ratings, level, ALL_EQUAL) for form in FORMS]
    numbers = _forms(squares, level)
    return [_form(form, *numbers[form], squares, level, note) for form in FORMS]


def _unfit(ratings: CodedRatings, complete: Floats) -> str:
    if not len(ratings.y):
        return NOTHING
    if len(ratings.raters) < 2:
        return "one rater only: agreement between raters is undefined"
    if len(complete) < 2:
        held = len(complete)
        return f"{held} of 2 or more units needed were rated by every rater: use the mixed model"
    return ALL_EQUAL if np.ptp(complete) == 0 else ""


def _squares(x: Floats) -> _Squares:
    n, k = x.shape
    grand, unit, rater = x.mean(), x.mean(axis=1), x.mean(axis=0)
    between = k * float(((unit - grand) ** 2).sum()) / (n - 1)
    within = float(((x - unit[:, None]) ** 2).sum()) / (n * (k - 1))
    raters = n * float(((rater - grand) ** 2).sum()) / (k - 1)
    rest = x - unit[:, None] - rater[None, :] + grand
    error = float((rest**2).sum()) / ((n - 1) * (k - 1))
    return _Squares(n, k, between, within, raters, error)


Form = tuple[float | None, float | None, float | None, float | None]  # value, low, high, F


def _forms(s: _Squares, level: float) -> dict[str, Form]:
    n, k = s.n, s.k
    one = _ratio(s.between - s.within, s.between + (k - 1) * s.within)
    two = _ratio(s.between - s.error, s.between + (k - 1) * s.error + k * (s.raters - s.error) / n)
    three = _ratio(s.between - s.error, s.between + (k - 1) * s.error)
    one_k = _ratio(s.between - s.within, s.between)
    two_k = _ratio(s.between - s.error, s.between + (s.raters - s.error) / n)
    three_k = _ratio(s.between - s.error, s.between)
    f_one, f_two = _ratio(s.between, s.within), _ratio(s.between, s.error)
    within = _f_bounds(f_one, n - 1, n * (k - 1), level)
    error = _f_bounds(f_two, n - 1, (n - 1) * (k - 1), level)
    absolute = _absolute_bounds(s, two, level)
    return {
        "ICC1": (one, *_single(within, k), f_one),
        "ICC2": (two, *absolute, f_two),
        "ICC3": (three, *_single(error, k), f_two),
        "ICC1k": (one_k, *_averaged(within), f_one),
        "ICC2k": (two_k, *(_stepped_up(end, k) for end in absolute), f_two),  # type: ignore[dict-item]
        "ICC3k": (three_k, *_averaged(error), f_two),
    }


def _ratio(a: float, b: float) -> float | None:
    return a / b if b > 0 else None


Pair = tuple[float | None, float | None]


def _f_bounds(f: float | None, df1: int, df2: int, level: float) -> Pair:
    """The interval of the true F: F / F(1 - a/2; df1, df2) and F * F(1 - a/2; df2, df1)."""
    if f is None:
        return None, None
    tail = (1 + level) / 2
    low, high = f / stats.f.ppf(tail, df1, df2), f * stats.f.ppf(tail, df2, df1)
    return float(low), float(high)


def _single(bounds: Pair, k: int) -> Pair:
    low, high = bounds
    if low is None or high is None:
        return None, None
    return (low - 1) / (low + k - 1), (high - 1) / (high + k - 1)


def _averaged(bounds: Pair) -> Pair:
    low, high = bounds
    if low is None or high is None or low <= 0:  # F of 0: the mean is the same for every unit
        return None, None
    return 1 - 1 / low, 1 - 1 / high


def _stepped_up(icc: float | None, k: int) -> float | None:
    """Spearman-Brown: the reliability of a mean of k, from that of one."""
    below = 1 + (k - 1) * (icc or 0.0)
    return None if icc is None or below == 0 else k * icc / below  # at its lowest it has no end


def _absolute_bounds(s: _Squares, icc: float | None, level: float) -> Pair:
    """Shrout and Fleiss (1979), p. 424: Satterthwaite's degrees for a sum of mean squares."""
    if icc is None or s.error <= 0:
        return None, None
    n, k, f = s.n, s.k, s.raters / s.error
    a = n * (1 + (k - 1) * icc) - k * icc
    top = (k - 1) * (n - 1) * (k * icc * f + a) ** 2
    degrees = top / ((n - 1) * k**2 * icc**2 * f**2 + a**2)
    tail = (1 + level) / 2
    upper = float(stats.f.ppf(tail, n - 1, degrees))
    lower = float(stats.f.ppf(tail, degrees, n - 1))
    rest = k * s.raters + (k * n - k - n) * s.error
    low = n * (s.between - upper * s.error) / (upper * rest + n * s.between)
    high = n * (lower * s.between - s.error) / (rest + n * lower * s.between)
    return low, high


def _form(
    form: str,
    value: float | None,
    low: float | None,
    high: float | None,
    f: float | None,
    s: _Squares,
    level: float,
    note: str,
) -> IntraclassCorrelation:
    df1, df2 = s.n - 1, s.n * (s.k - 1) if form.startswith("ICC1") else (s.n - 1) * (s.k - 1)
    if value is None:
        low = high = None
        note = "the units do not differ: undefined"
    elif low is None:
        why = "raters agree fully: no interval" if high is None else "its interval has no lower end"
        note = "; ".join(filter(None, (note, why)))
    return IntraclassCorrelation(
        form=form,
        value=value,
        low=low,
        high=high,
        level=level,
        interval=SATTERTHWAITE if form.startswith("ICC2") else F_INTERVAL,
        f=f,
        df1=df1,
        df2=df2,
        p=None if f is None else float(stats.f.sf(f, df1, df2)),
        n_units=s.n,
        n_raters=s.k,
        n_ratings=s.n * s.k,
        note=note,
    )


def _undefined(form: str, ratings: CodedRatings, level: float, note: str) -> IntraclassCorrelation:
    nothing = (None, None, None, None)
    return IntraclassCorrelation(
        form, None, None, None, level, F_INTERVAL, *nothing, *ratings.counts, note
    )
