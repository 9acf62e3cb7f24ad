"""How few raters would have to go for a difference to turn round."""

from __future__ import annotations

import numpy as np

from analysis.arrays import Codes, Floats


def fewest_to_turn(
    y: Floats, condition: Codes, group: Codes, pair: tuple[int, int]
) -> tuple[int | None, int]:
    """So many raters (or items, by ``group``) without whom mean a - mean b has the other sign.

    Those who pull the difference most in its direction go first, by their first-order influence;
    the difference is computed exactly after each (Broderick, Giordano and Meager 2020, who call it
    the maximum influence perturbation). Another choice of raters might need fewer, so the number is
    an upper bound. None where it never turns while both conditions have ratings; and how many there
    are.
    """
    a, b = pair
    groups = int(group.max(initial=-1)) + 1
    s = np.zeros((2, groups))
    n = np.zeros((2, groups))
    for place, code in enumerate((a, b)):
        rows = condition == code
        s[place] = np.bincount(group[rows], weights=y[rows], minlength=groups)
        n[place] = np.bincount(group[rows], minlength=groups)
    there = int(((n > 0).any(axis=0)).sum())
    count, total = n.sum(axis=1), s.sum(axis=1)
    if not count.all():
        return None, there
    mean = total / count
    sign = np.sign(mean[0] - mean[1])
    if sign == 0:
        return 0, there
    pull = ((s - n * mean[:, None]) / count[:, None]) * np.array([[1.0], [-1.0]])
    order = np.argsort(-sign * pull.sum(axis=0), kind="stable")
    left = count[:, None] - np.cumsum(n[:, order], axis=1)
    rest = total[:, None] - np.cumsum(s[:, order], axis=1)
    means = np.divide(rest, left, out=np.full_like(rest, np.nan), where=left > 0.5)
    turned = np.flatnonzero(sign * (means[0] - means[1]) < -1e-12)
    return (int(turned[0]) + 1 if len(turned) else None), there
