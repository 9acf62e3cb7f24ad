"""A smooth function brought down to near its minimum within bounds (L-BFGS-B)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import optimize

from analysis.statistics.mixed.sufficient_statistics import Floats


def minimise(
    value_and_slope: Callable[[Floats], tuple[float, Floats]],
    start: Floats,
    bounds: Sequence[tuple[float | None, float | None]],
    *,
    flat: float,
) -> Floats:
    """Where a function is lowest, (D,), to about the slope ``flat``, coordinates in ``bounds``.

    ``value_and_slope`` gives the value and the gradient (D,) at x (D,). Byrd, Lu, Nocedal and Zhu
    1995, SIAM J. Sci. Comput. 16(5), as in scipy.
    """
    function: Any = value_and_slope
    result = optimize.minimize(
        function,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 500, "ftol": 1e-10, "gtol": flat},
    )
    return np.asarray(result.x, dtype=np.float64)
