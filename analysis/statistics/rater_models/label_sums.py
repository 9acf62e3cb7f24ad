"""Weights of labels, summed by who gave them or by what they were given to."""

from __future__ import annotations

import numpy as np

from analysis.arrays import Codes, Floats


def counted(group: Codes, label: Codes, weight: Floats, n_groups: int, n_labels: int) -> Floats:
    """Weights (n,) summed by group and label (G, K)."""
    sums = np.bincount(group * n_labels + label, weights=weight, minlength=n_groups * n_labels)
    return np.asarray(sums.reshape(n_groups, n_labels), dtype=np.float64)
