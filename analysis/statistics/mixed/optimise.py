"""Smooth functions minimised within bounds (L-BFGS-B), and their derivatives by differences."""

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


class Stencil:
    """The points around ``x`` (D,) that gradient and Hessian need; ``step`` is the distance.

    ``points`` (B, D), the first one is ``x`` itself: B = 1 + 4 D + D (D - 1). Evaluate a function
    at all of them and pass its values (B, ...) to `gradient` and `hessian`. Errors are of order
    step^4, in mixed derivatives step^2 (Abramowitz and Stegun 1964, 25.3.20, 25.3.24, 25.3.27).
    """

    def __init__(self, x: Floats, step: float) -> None:
        self.d, self.step = len(x), step
        eye = np.eye(self.d)
        self._i, self._j = np.triu_indices(self.d, 1)
        both = eye[self._i] + eye[self._j]
        moves = [np.zeros((1, self.d)), *(k * eye for k in (-2.0, -1.0, 1.0, 2.0)), both, -both]
        self.points: Floats = x + step * np.concatenate(moves)

    def gradient(self, values: Floats) -> Floats:
        """First derivatives (D, ...) of values (B, ...)."""
        far_back, back, ahead, far_ahead = self._lone(values)
        return np.asarray((far_back - 8.0 * back + 8.0 * ahead - far_ahead) / (12.0 * self.step))

    def hessian(self, values: Floats) -> Floats:
        """Second derivatives (D, D) of values (B,)."""
        far_back, back, ahead, far_ahead = self._lone(values)
        curve = 16.0 * (back + ahead) - 30.0 * values[0] - far_back - far_ahead
        hessian = np.diag(curve / (12.0 * self.step**2))
        near = back + ahead
        both, neither = np.split(values[1 + 4 * self.d :], 2)
        mixed = both + neither - near[self._i] - near[self._j] + 2.0 * values[0]
        hessian[self._i, self._j] = hessian[self._j, self._i] = mixed / (2.0 * self.step**2)
        return hessian

    def _lone(self, values: Floats) -> list[Floats]:
        """Values with one coordinate moved by -2, -1, 1, 2 steps, each (D, ...)."""
        return np.split(values[1 : 1 + 4 * self.d], 4)
