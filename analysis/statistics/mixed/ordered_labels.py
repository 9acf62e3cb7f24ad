"""Labels on an ordered scale: how often each was given, their probabilities, and mean scores.

logit P(label <= k) = cut_k - (beta[condition] + u[rater] + w[rater, condition]), see `marginal`.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_expit

from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, checked_codes, floats


def label_counts(label: Codes, rater: Codes, condition: Codes) -> Floats:
    """How often each rater gave each label to each condition: (R, S, K), from codes (n,) from 0.

    Labels are ordered from the lowest; raises NotEstimable when fewer than two kinds or one rater
    are there, or a label or condition between is never used (leave it out of the codes).
    """
    checked_codes(label.astype(np.float64), rater, condition, label)
    shape = (int(rater.max()) + 1, int(condition.max()) + 1, int(label.max()) + 1)
    place = np.ravel_multi_index((rater, condition, label), shape)
    counts = floats(np.bincount(place, minlength=int(np.prod(shape)))).reshape(shape)
    if shape[2] < 2:
        raise NotEstimable("all ratings carry the same label", "report the label shares")
    if shape[0] < 2:
        raise NotEstimable("there is one rater", "collect ratings from more raters")
    if (counts.sum(axis=(0, 1)) == 0).any() or (counts.sum(axis=(0, 2)) == 0).any():
        raise NotEstimable("a label or a condition was never used", "leave it out")
    return counts


def log_probabilities(logit: Floats, cut: Floats) -> Floats:
    """log P(label = k) for K = len(cut) + 1 labels at logits (G,): (K, G), without cancellation.

    P(k) = expit(c_k - x) expit(x - c_(k-1)) (1 - exp(c_(k-1) - c_k)).
    """
    below = log_expit(cut[:, None] - logit)
    above = log_expit(logit - cut[:, None])
    gaps = np.log(-np.expm1(-np.diff(cut)))
    out = np.zeros((len(cut) + 1, len(logit)))
    out[:-1] += below
    out[1:] += above
    out[1:-1] += gaps[:, None]
    return out


def expected_scores(beta: Floats, cut: Floats, sd: Floats, scores: Floats) -> Floats:
    """The mean score of each condition for raters drawn anew: (B, S).

    ``beta`` (B, S), ``cut`` (B, K - 1), ``sd`` (B,) of rater and rater-by-condition effects
    together, ``scores`` (K,) of the labels. E[score] = s_1 + sum of (s_(k+1) - s_k) P(label > k),
    averaged over a normal effect by 61 Gauss-Hermite nodes.
    """
    z, weight = np.polynomial.hermite_e.hermegauss(61)
    weight = weight / weight.sum()
    out = np.full(beta.shape, float(scores[0]))
    for k, gain in enumerate(np.diff(scores)):
        logit = (beta - cut[:, k, None])[:, :, None] + sd[:, None, None] * z
        out += gain * (np.exp(log_expit(logit)) @ weight)
    return out
