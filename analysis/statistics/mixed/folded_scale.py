"""Standard deviations as coordinates without bounds: linear near 0, logarithmic far above.

sd = scale |sinh x|. The likelihood is even in x and smooth at 0, so that a posterior or maximum at
or near 0 needs no special case, and a long upper tail is drawn in.
"""

from __future__ import annotations

import numpy as np

from analysis.statistics.mixed.sufficient_statistics import Floats, floats

_LEAST = 1e-6  # of the scale: what stands for 0
_MOST = 20.0  # a coordinate of hundreds of millions of scales: what stands for infinity


def sd_of(x: Floats, scale: Floats) -> Floats:
    """Standard deviations (..., K) at coordinates x (..., K), in units of ``scale`` (K,) > 0."""
    return floats(scale * np.maximum(np.abs(np.sinh(np.clip(x, -_MOST, _MOST))), _LEAST))


def x_of(sd: Floats, scale: Floats) -> Floats:
    """The coordinates from 0 of standard deviations (..., K) at ``scale`` (K,)."""
    return floats(np.arcsinh(sd / scale))


def slope(x: Floats, scale: Floats) -> Floats:
    """|d sd / d x| (..., K), the factor that turns a density of sd into one of x."""
    return floats(scale * np.cosh(np.clip(x, -_MOST, _MOST)))
