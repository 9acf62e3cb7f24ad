"""How far raters agree on which words they mark: alpha over words, intervals over clips."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.statistics.agreement.agreement_result import Bounds
from analysis.statistics.agreement.krippendorff import REPLICATES
from analysis.statistics.intervals import t_interval

FEWEST_CLIPS = 8  # for an interval
_LEAST_FILLED = 0.9  # of the replicates


@dataclass(frozen=True)
class MarkAgreement:
    """Agreement of raters on marks, with bounds; None where it is not defined.

    ``alpha`` is Krippendorff's nominal alpha, at most 1. ``positive`` is the positive agreement, 0
    to 1: of a word that one rater marked, the share of the other raters who marked it, too.
    """

    n_words: int
    n_clips: int
    alpha: float | None
    alpha_bounds: Bounds
    positive: float | None
    positive_bounds: Bounds


def agreement_of_marks(
    counts: Floats,
    clip: Codes,
    *,
    level: float = 0.95,
    replicates: int = REPLICATES,
    seed: int = 0,
) -> MarkAgreement:
    """Agreement from how many raters put each word into each category.

    ``counts`` (W, K): of each word, the raters who did not mark it (category 0) and those who
    marked it, in one category or one for each kind of error. ``clip`` (W,) is the clip of each
    word. Words with fewer than two raters do not count. The intervals resample whole clips,
    since the words of a clip share its raters and its quality: log(1 - alpha), or the log odds of
    the positive agreement, ± t(clips - 1) × the bootstrap SD. Fewer than 8 clips have none.

    Krippendorff (2019), ch. 12, nominal data. Positive agreement: Σ m (m - 1) / Σ m (n - 1) over
    words with n raters, of whom m marked them.
    """
    use = counts.sum(axis=1) > 1
    counts = np.asarray(counts[use], dtype=np.float64)
    codes = np.unique(clip[use], return_inverse=True)[1]
    n_clips = int(codes.max()) + 1 if len(codes) else 0
    if not n_clips:
        return MarkAgreement(0, 0, None, None, None, None)
    sums = _sums_by_clip(counts, codes, n_clips)
    ones = np.ones((1, n_clips))
    alpha, positive = float(_alpha(ones, sums)[0]), float(_positive(ones, sums)[0])
    bounds: tuple[Bounds, Bounds] = (None, None)
    if n_clips >= FEWEST_CLIPS and replicates > 1:
        rng = np.random.default_rng(seed)
        drawn = rng.multinomial(n_clips, np.full(n_clips, 1 / n_clips), size=replicates)
        weight = drawn.astype(np.float64)
        bounds = (
            _bounds_of_alpha(alpha, _alpha(weight, sums), n_clips, level),
            _bounds_of_share(positive, _positive(weight, sums), n_clips, level),
        )
    known = [None if np.isnan(value) else value for value in (alpha, positive)]
    return MarkAgreement(len(counts), n_clips, known[0], bounds[0], known[1], bounds[1])


def _sums_by_clip(counts: Floats, clip: Codes, n_clips: int) -> Floats:
    """Sums (C, 3 + K): disagreements, pairs that mark, pairs with a mark; then the counts."""
    size, marked = counts.sum(axis=1), counts[:, 1:].sum(axis=1)
    apart = (size**2 - (counts**2).sum(axis=1)) / (size - 1)
    both, either = marked * (marked - 1), marked * (size - 1)
    values = np.column_stack([apart, both, either, counts])
    return np.stack(
        [np.bincount(clip, weights=column, minlength=n_clips) for column in values.T], axis=1
    )


def _alpha(weight: Floats, sums: Floats) -> Floats:
    """Alpha (R,) of clips with these weights (R, C); NaN where all ratings are equal."""
    total = weight @ sums
    marginal = total[:, 3:]
    n = marginal.sum(axis=1)
    expected = n**2 - (marginal**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = 1 - total[:, 0] * (n - 1) / expected
    return np.where(expected > 1e-12 * n, value, np.nan)


def _positive(weight: Floats, sums: Floats) -> Floats:
    total = weight @ sums
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total[:, 2] > 0, total[:, 1] / total[:, 2], np.nan)


def _bounds_of_alpha(value: float, drawn: Floats, n_clips: int, level: float) -> Bounds:
    inside = drawn[drawn < 1 - 1e-12]
    if not value < 1 - 1e-12 or len(inside) < _LEAST_FILLED * len(drawn):
        return None
    low, high = _around(np.log(1 - value), np.log(1 - inside), n_clips, level)
    return 1 - float(np.exp(high)), 1 - float(np.exp(low))


def _bounds_of_share(value: float, drawn: Floats, n_clips: int, level: float) -> Bounds:
    inside = drawn[(drawn > 1e-12) & (drawn < 1 - 1e-12)]
    if not 0 < value < 1 or len(inside) < _LEAST_FILLED * len(drawn):
        return None
    odds = np.log(inside / (1 - inside))
    low, high = _around(np.log(value / (1 - value)), odds, n_clips, level)
    return 1 / (1 + float(np.exp(-low))), 1 / (1 + float(np.exp(-high)))


def _around(value: float, drawn: Floats, n_clips: int, level: float) -> tuple[float, float]:
    return t_interval(float(value), float(np.std(drawn, ddof=1)), n_clips - 1, level)
