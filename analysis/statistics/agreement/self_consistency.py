"""Self-consistency: the same clip asked twice of the same rater in the same session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from analysis.arrays import Floats
from analysis.ratings.estimands import keys_where
from analysis.statistics.agreement.agreement_result import AgreementError, Names, Scores, coded
from analysis.statistics.correlations import correlation, fisher_interval
from analysis.statistics.flat_row import FlatRow

if TYPE_CHECKING:
    import pandas as pd

SAME = ("study", "task", "session", "rater", "criterion", "stimulus", "versus_stimulus", "context")
ALL = "all raters"


@dataclass(frozen=True)
class SelfConsistency(FlatRow):
    """How two answers to one question agree, for one rater or all of them; scores in score units.

    ``agreement`` (share within the tolerance, 0..1, Wilson interval), ``correlation`` (Pearson,
    Fisher interval), ``noise_sd`` (SD of one answer, chi-squared interval), ``shift`` (mean second
    minus first answer, t interval). None where undefined; ``note`` says why.
    """

    rater: str
    n_pairs: int
    tolerance: float
    agreement: float
    agreement_low: float
    agreement_high: float
    correlation: float | None
    correlation_low: float | None
    correlation_high: float | None
    noise_sd: float | None
    noise_sd_low: float | None
    noise_sd_high: float | None
    shift: float
    shift_low: float | None
    shift_high: float | None
    level: float
    interval: str
    note: str = ""


INTERVAL = "Wilson, Fisher z, chi-squared and t, pairs as if independent"


def repeat_pairs(table: pd.DataFrame) -> pd.DataFrame:
    """Rater, stimulus, criterion, first and second score of every question asked twice.

    ``table`` is a ratings table with the repeats still in it. A question is one session, task,
    criterion, stimulus (versus the same, after the same context); its later answers are each
    paired with the first, by position, time, and what counts. Traps and answers without a score do
    not count, nor do questions whose order nothing says. Empty when nothing was asked twice.
    """
    use = table[(table["trap"] == "") & table["score"].notna()]
    use = use[~use["estimand"].isin(keys_where("best_and_worst"))]  # among other clips each time
    order = ["position", "rated_at", "counts"]
    use = use[~use.duplicated([*SAME, *order], keep=False)]  # sorted by text otherwise
    use = use.sort_values(order, kind="stable", ascending=[True, True, False])
    questions = use.groupby(list(SAME), sort=False)
    first = questions["score"].transform("first")
    later = questions.cumcount() > 0
    pairs = use.loc[later, ["rater", "stimulus", "criterion"]].copy()
    pairs["first"] = first[later].astype("float64")
    pairs["second"] = use.loc[later, "score"].astype("float64")
    return pairs.sort_values(["rater", "criterion", "stimulus"], ignore_index=True)


def self_consistency(
    rater: Names,
    first: Scores,
    second: Scores,
    *,
    tolerance: float = 0.5,
    level: float = 0.95,
) -> list[SelfConsistency]:
    """Of all raters together, then of each rater: how first and second answers (n,) agree.

    ``tolerance`` (score units, 0 or more) is what still counts as the same answer. The noise SD is
    sqrt(mean d^2 / 2) about the mean shift: SD(d) / sqrt 2 (Bland and Altman 1996, BMJ 313:744).
    Empty without pairs. Raises AgreementError on unequal lengths or a negative tolerance.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if len(a) != len(b):
        raise AgreementError(f"{len(a)} first answers and {len(b)} second ones: give pairs")
    if tolerance < 0:
        raise AgreementError(f"the tolerance {tolerance} is negative; give 0 or more")
    both = ~(np.isnan(a) | np.isnan(b))
    pairs = coded(np.arange(len(a)), rater, np.where(both, a, np.nan))
    if not both.any():
        return []
    a, b = a[both], b[both]
    rows = [_one(ALL, a, b, tolerance, level)]
    for code, name in enumerate(pairs.raters):
        mine = pairs.rater == code
        rows.append(_one(name, a[mine], b[mine], tolerance, level))
    return rows


def _one(rater: str, a: Floats, b: Floats, tolerance: float, level: float) -> SelfConsistency:
    n, notes = len(a), []
    within = int((np.abs(a - b) <= tolerance + 1e-9).sum())
    interval = stats.binomtest(within, n).proportion_ci(level, method="wilson")
    r = correlation("pearson", a, b)
    r_bounds = None if r is None else fisher_interval("pearson", r, n, level)
    if r is None:
        few = f"{n} of the 3 or more pairs needed" if n < 3 else "one side is constant"
        notes.append(f"correlation undefined: {few}")
    elif r_bounds is None:
        notes.append("no interval of the correlation")
    noise, shift = _noise(b - a, level), float((b - a).mean())
    shift_bounds: tuple[float | None, float | None] = (None, None)
    if noise is None:
        notes.append("one pair only: no noise, no interval of the shift")
    else:
        half = float(stats.t.ppf((1 + level) / 2, n - 1)) * noise[0] * (2 / n) ** 0.5
        shift_bounds = (shift - half, shift + half)
        if noise[0] == 0:
            notes.append("every answer moved alike: the intervals have no width")
    r_low, r_high = r_bounds or (None, None)
    sd, sd_low, sd_high = noise or (None, None, None)
    return SelfConsistency(
        rater, n, tolerance, within / n, float(interval.low), float(interval.high),
        r, r_low, r_high, sd, sd_low, sd_high,
        shift, *shift_bounds, level, INTERVAL, "; ".join(notes),
    )  # fmt: skip


def _noise(d: Floats, level: float) -> tuple[float, float, float] | None:
    """SD(d)/sqrt 2 and its chi-squared interval; None for one pair."""
    if len(d) < 2:
        return None
    df = len(d) - 1
    variance = float(np.var(d, ddof=1)) / 2
    low, high = (float(stats.chi2.ppf(p, df)) for p in ((1 - level) / 2, (1 + level) / 2))
    return variance**0.5, (variance * df / high) ** 0.5, (variance * df / low) ** 0.5
