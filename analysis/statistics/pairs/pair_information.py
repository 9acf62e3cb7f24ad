"""What one more comparison of each pair tells about the strengths: used to draw pairs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, special

from analysis.arrays import Floats
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.ability_fit import centring, differences
from analysis.statistics.pairs.pair_ratings import PairRatings
from analysis.statistics.pairs.win_models import bradley_terry

PRIOR_SD = 3.0  # logits: only so that the variance of a pair never compared is finite


@dataclass(frozen=True)
class PairInformation:
    """Strengths (k,) in logits, and of every two systems (k, k) what an answer would tell.

    ``spread`` is the Fisher information p (1 - p) of one answer. ``variance`` is that of the
    difference of the strengths once all comparisons that were drawn are answered. Their product is
    the relative growth of the information's determinant by one more answer (D-optimality).
    """

    strengths: Floats
    spread: Floats
    variance: Floats


def pair_information(
    wins: ArrayLike, ties: ArrayLike, drawn: ArrayLike, bias_reduced: bool = True
) -> PairInformation:
    """Fit Bradley-Terry strengths, and find the information of an answer about each pair.

    Args:
        wins: (k, k), how often row beat column.
        ties: (k, k), answered ties of row and column, in the upper triangle.
        drawn: (k, k), comparisons drawn, answered or not, in the upper triangle.
        bias_reduced: Firth's (1993) bias-reduced fit.

    Where answers do not connect all systems yet, all strengths are 0.
    """
    counts = np.asarray(drawn, dtype=np.float64)
    k = len(counts)
    strengths = _strengths(np.asarray(wins, dtype=int), np.asarray(ties, dtype=int), bias_reduced)
    gap = strengths[:, None] - strengths[None, :]
    spread = special.expit(gap) * special.expit(-gap)
    a, b = np.triu_indices(k, 1)
    rows = differences(a, b, k)
    information = (rows * (counts[a, b] * spread[a, b])[:, None]).T @ rows
    centre = centring(k)
    inverse = linalg.inv(information + centre.T @ centre / PRIOR_SD**2)
    covariance = centre @ inverse @ centre.T
    own = np.diag(covariance)
    variance = own[:, None] + own[None, :] - 2 * covariance
    return PairInformation(strengths, np.asarray(spread), np.asarray(variance, dtype=np.float64))


def _strengths(wins: np.ndarray, ties: np.ndarray, bias_reduced: bool) -> Floats:
    k = len(wins)
    a, b = np.nonzero(wins)
    c, d = np.nonzero(ties)
    n = np.concatenate([wins[a, b], ties[c, d]])
    y = np.repeat(np.concatenate([np.ones(len(a)), np.zeros(len(c))]), n)
    none = np.zeros(len(y), dtype=np.int64)
    ratings = PairRatings(
        tuple(f"{place:05d}" for place in range(k)),
        np.repeat(np.concatenate([a, c]), n),
        np.repeat(np.concatenate([b, d]), n),
        y,
        np.zeros(len(y)),
        none,
        none,
        1.0,
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", linalg.LinAlgWarning)
            return bradley_terry(ratings, bias_reduced=bias_reduced).ability
    except Undefined:
        return np.zeros(k)
