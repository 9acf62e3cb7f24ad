"""How surely clustered means rank: draws that vary as the simultaneous intervals say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
from scipy import special

from analysis.arrays import Bools, Floats
from analysis.statistics.clustered_variance import (
    limits_of,
    shares_of,
    variances_between,
)
from analysis.statistics.comparisons.simultaneous import decide_pairs
from analysis.statistics.intervals import Clustered

DRAWS = (4, 2500)  # chains, as posteriors have them, and draws of each
_HALF = 0.5


def ranking_draws(
    means: Clustered, candidates: Sequence[int], *, level: float = 0.95, seed: int = 0
) -> tuple[Floats, Bools]:
    """Draws (chains, draws, C) of the candidates' means, and which pairs (C, C) are claimed.

    Every candidate is drawn by itself with the variance that makes all differences vary as their
    clustered variances say, as the joint distribution of a family's tests has it. The draws are
    widened as the family's intervals are; on a scale with ends they are Beta's of the effective
    answers. NaN for others and for a candidate with one rating, rater or item. With under two
    candidates left there is nothing to rank.
    """
    names = [str(code) for code in range(len(means.value))]
    tested = np.minimum.reduce([means.n_ratings, means.n_raters, means.n_items]) > 1
    at = np.array([code for code in candidates if tested[code]], dtype=np.int64)
    draws = np.full((*DRAWS, len(names)), np.nan)
    claimed = np.zeros((len(names), len(names)), dtype=bool)
    if len(at) < 2:
        return draws, claimed
    pairs = list(combinations(at.tolist(), 2))
    decided = decide_pairs(pairs, names, means, level=level, seed=seed)
    for (a, b), one in zip(pairs, decided, strict=True):
        claimed[a, b] = claimed[b, a] = one.claimed
    rows = np.zeros((len(pairs), len(names)))
    for place, (a, b) in enumerate(pairs):
        rows[place, a], rows[place, b] = 1.0, -1.0
    df = float(1 / np.mean(1 / limits_of(rows, means).df))
    alpha = next((one.alpha for one in decided if one.alpha is not None), 1 - level)
    wider = float(special.stdtrit(df, alpha / 2) / special.stdtrit(df, (1 - level) / 2))
    each = variances_between(means, at)
    rng = np.random.default_rng(seed)
    if means.ends is None:
        t = special.stdtrit(df, (1 - level) / 2) / special.ndtri((1 - level) / 2)
        noise = rng.standard_normal((*DRAWS, len(at)))
        draws[:, :, at] = means.value[at] + wider * t * np.sqrt(np.maximum(each, 0.0)) * noise
        return draws, claimed
    low, width = means.ends[0], means.ends[1] - means.ends[0]
    shares = replace(
        shares_of(means).take(at),
        variance=np.maximum(each, 0.0) / width**2,
        design_effect=np.zeros(len(at)),
    )
    n = shares.effective_answers(np.full(len(at), df), 1 - level) / wider**2
    beta = rng.beta(shares.share * n + _HALF, (1 - shares.share) * n + _HALF, (*DRAWS, len(at)))
    draws[:, :, at] = low + width * beta
    return draws, claimed
