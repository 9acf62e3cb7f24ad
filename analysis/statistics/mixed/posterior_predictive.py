"""Posterior predictive shares of labels: what the ordinal model says the same raters would answer.

Gelman, Meng and Stern 1996, Statistica Sinica 6: data are drawn again from the fitted model, with
raters drawn anew and as many ratings of each rater and condition, and compared with what was found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics.mixed.ordered_labels import log_probabilities
from analysis.statistics.mixed.posterior import Posterior
from analysis.statistics.mixed.sufficient_statistics import Floats, floats

DRAWS = 400


@dataclass(frozen=True)
class LabelShares:
    """Shares (S, K) of each label: observed, predicted on average, and an interval of predictions.

    The interval holds ``level`` of the shares in ratings drawn again, sampling noise included.
    """

    observed: Floats
    predicted: Floats
    low: Floats
    high: Floats
    level: float

    @property
    def outside(self) -> int:
        """How many observed shares lie outside their interval."""
        return int(((self.observed < self.low) | (self.observed > self.high)).sum())


def label_shares(
    counts: Floats, posterior: Posterior, *, level: float = 0.95, seed: int = 0
) -> LabelShares:
    """The check of a nested ordinal posterior against label counts (R, S, K)."""
    rng = np.random.default_rng(seed)
    flat = {name: x.reshape(-1, *x.shape[2:]) for name, x in posterior.draws.items()}
    every = np.linspace(0, len(flat["condition"]) - 1, DRAWS).astype(np.int64)
    sizes = counts.sum(axis=2)
    filled = np.nonzero(sizes)
    n = sizes[filled].astype(np.int64)
    cuts = flat.get("cut")
    shares = np.empty((DRAWS, *counts.shape[1:]))
    for place, i in enumerate(every.tolist()):
        u = flat["sd_rater"][i] * rng.standard_normal(len(counts))
        w = flat["sd_rater_condition"][i] * rng.standard_normal(len(n))
        logit = flat["condition"][i][filled[1]] + u[filled[0]] + w
        cut = np.zeros(1) if cuts is None else cuts[i]
        p = np.exp(log_probabilities(logit, cut)).T
        labels = rng.multinomial(n, p / p.sum(axis=1, keepdims=True))
        for k in range(counts.shape[2]):
            shares[place, :, k] = np.bincount(filled[1], labels[:, k], minlength=counts.shape[1])
    shares /= sizes.sum(axis=0)[:, None]
    low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2], axis=0)
    observed = counts.sum(axis=0) / sizes.sum(axis=0)[:, None]
    return LabelShares(observed, floats(shares.mean(axis=0)), low, high, level)
