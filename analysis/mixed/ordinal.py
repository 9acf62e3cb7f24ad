"""The likelihood of labels on an ordered scale with rater and rater-by-condition effects.

logit P(label <= k) = cut_k - (beta[condition] + u[rater] + w[rater, condition]). Both integrals are
done by the trapezoid rule, which for smooth peaks converges faster than any power of the step
(Trefethen and Weideman 2014, SIAM Review 56(3), section 4): that over w for all raters at once as
a product of matrices, as cells with equal counts share it. Error of the log-likelihood of 20,000
labels: about 1e-7 (`FINE`), 1e-5 (`FAST`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse
from scipy.special import log_expit

from analysis.mixed.errors import NotEstimable
from analysis.mixed.sufficient import Codes, Floats, checked_codes, floats

_MOST_CURVED = 3.0  # a label tells at most 1/3 about its logit: the logistic's Fisher information
_HERMITE = 9
_LARGEST_SD = 25.0  # logits; beyond, all answers of a rater are alike


@dataclass(frozen=True)
class Grid:
    """How fine the integrals are: ``step`` in widths of the narrowest peak, ``reach`` in SDs."""

    step: float
    reach: float


FINE = Grid(0.8, 7.0)
FAST = Grid(1.3, 5.5)


@dataclass(frozen=True)
class Parameters:
    """``beta`` (S,), ``cut`` (K - 1,) ascending with sum 0, and two SDs, all on the logit scale."""

    beta: Floats
    cut: Floats
    sd_rater: float
    sd_rater_condition: float


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


class NestedOrdinal:
    """The marginal log-likelihood of label counts (R, S, K), prepared."""

    def __init__(self, counts: Floats) -> None:
        self.n_conditions, self.n_labels = counts.shape[1:]
        self.n = int(counts.sum())
        raters, conditions = np.nonzero(counts.sum(axis=2))
        keyed = np.column_stack([conditions, counts[raters, conditions]])
        kinds, place = np.unique(keyed, axis=0, return_inverse=True)
        shape = (len(counts), len(kinds))
        ones = np.ones(len(raters))
        self._member = sparse.csr_array((ones, (raters, place.reshape(-1))), shape=shape)
        self._kinds = floats(kinds[:, 1:])
        ends = np.searchsorted(kinds[:, 0], np.arange(self.n_conditions + 1))
        self._rows = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self._sizes = counts.sum(axis=2)
        self._largest = float(self._sizes.max())

    def log_likelihood(self, p: Parameters, grid: Grid = FINE) -> float:
        """The log-likelihood of the labels one by one (no multinomial coefficients).

        SDs above 25 are taken as impossible.
        """
        if max(p.sd_rater, p.sd_rater_condition) > _LARGEST_SD:
            return -np.inf
        u, weight = self._rater_nodes(p, grid)
        tables = self._cell_integrals(p, u, grid)
        with np.errstate(divide="ignore"):
            inner = self._member @ tables + np.log(weight)
        top = inner.max(axis=1)
        if not np.isfinite(top).all():
            return -np.inf
        return float((top + np.log(np.exp(inner - top[:, None]).sum(axis=1))).sum())

    def _rater_nodes(self, p: Parameters, grid: Grid) -> tuple[Floats, Floats]:
        told = self._sizes / (_MOST_CURVED + self._sizes * p.sd_rater_condition**2)
        narrowest = (p.sd_rater**-2 + float(told.sum(axis=1).max())) ** -0.5
        half = grid.reach * p.sd_rater
        u = np.linspace(-half, half, 1 + int(np.ceil(2 * half / (grid.step * narrowest))))
        weight = np.exp(-0.5 * (u / p.sd_rater) ** 2)
        return u, floats(weight / weight.sum())

    def _cell_integrals(self, p: Parameters, u: Floats, grid: Grid) -> Floats:
        """The log of each kind of cell's likelihood at u (J,), integrated over w: (kinds, J)."""
        sd = p.sd_rater_condition
        narrowest = (sd**-2 + self._largest / _MOST_CURVED) ** -0.5
        half = u[-1] + grid.reach * sd
        length = 1 + int(np.ceil(2 * half / (grid.step * narrowest)))
        few = length <= _HERMITE * len(u)
        if few:
            x = np.linspace(-half, half, length)
            kernel = np.exp(-0.5 * ((x[:, None] - u) / sd) ** 2)
            kernel *= (x[1] - x[0]) / (sd * np.sqrt(2.0 * np.pi))
        else:  # next to no variance: a few nodes do
            z, weight = np.polynomial.hermite_e.hermegauss(_HERMITE)
            x = (u + sd * z[:, None]).reshape(-1)
            weight = weight / weight.sum()
        out = np.empty((len(self._kinds), len(u)))
        for s, rows in enumerate(self._rows):
            logs = self._kinds[rows] @ log_probabilities(p.beta[s] + x, p.cut)
            top = logs.max(axis=1, keepdims=True)
            peak = np.exp(logs - top)
            if few:
                integral = peak @ kernel
            else:
                integral = np.einsum("knj,n->kj", peak.reshape(len(peak), -1, len(u)), weight)
            with np.errstate(divide="ignore"):
                out[rows] = np.log(integral) + top
        return out


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
