"""Normal draws that stay between two ends, and how much of the normal lies there."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr, ndtri

from analysis.statistics.mixed.sufficient_statistics import Floats, floats

_LEAST = 1e-300


def truncated_normal(
    mean: Floats, root: Floats, ends: tuple[float, float], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draws (B, C) between ``ends`` and the logs (B,) of their weights, which make them exact.

    The normal has ``mean`` (B, C) and covariance root root', ``root`` (B, C, C) lower triangular.
    Coordinates are drawn one after the other, each between the ends given those before (the GHK
    simulator: Hajivassiliou, McFadden and Ruud 1996, Journal of Econometrics 72, section 3.2); the
    weight is the product of the shares of the normal that were left to each.
    """
    z = np.zeros_like(mean)
    log_weight = np.zeros(len(mean))
    for i in range(mean.shape[1]):
        known = mean[:, i] + np.einsum("bj,bj->b", root[:, i, :i], z[:, :i])
        low, high = ((end - known) / root[:, i, i] for end in ends)
        flip = np.where(high > -low, -1.0, 1.0)  # the lower tail holds more digits
        left, right = np.where(flip > 0, low, -high), np.where(flip > 0, high, -low)
        below, share = ndtr(left), ndtr(right) - ndtr(left)
        drawn = ndtri(np.maximum(below + rng.random(len(mean)) * share, _LEAST))
        z[:, i] = flip * np.clip(drawn, left, right)
        log_weight += np.log(np.maximum(share, _LEAST))
    values = mean + np.einsum("bij,bj->bi", root, z)
    return floats(np.clip(values, *ends)), log_weight
