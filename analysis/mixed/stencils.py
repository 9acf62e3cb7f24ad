"""Derivatives by central differences of fourth order, all points evaluated in one batch."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from analysis.mixed.sufficient import Floats


class Stencil:
    """The points around ``x`` (D,) that gradient and Hessian need; ``step`` is the distance.

    ``points`` (B, D), the first one is ``x`` itself: B = 1 + 4 D + 4 D (D - 1). Evaluate a function
    at all of them and pass its values (B, ...) to `gradient` and `hessian`. Error terms are of
    order step^4 (Abramowitz and Stegun 1964, 25.3.20, 25.3.24; Richardson's step for the mixed).
    """

    def __init__(self, x: Floats, step: float) -> None:
        self.d, self.step = len(x), step
        eye = np.eye(self.d)
        moves = [np.zeros(self.d)]
        for i in range(self.d):
            moves += [k * eye[i] for k in (-2.0, -1.0, 1.0, 2.0)]
        for i, j in combinations(range(self.d), 2):
            for k in (1.0, 2.0):
                moves += [k * (a * eye[i] + b * eye[j]) for a in (1, -1) for b in (1, -1)]
        self.points: Floats = x + step * np.array(moves).reshape(len(moves), self.d)

    @property
    def lone(self) -> Floats:
        """The points that `gradient` alone needs, (1 + 4 D, D)."""
        return self.points[: 1 + 4 * self.d]

    def gradient(self, values: Floats) -> Floats:
        """First derivatives (D, ...) of values (B, ...)."""
        lone = values[1 : 1 + 4 * self.d].reshape(self.d, 4, *values.shape[1:])
        slope = lone[:, 0] - 8.0 * lone[:, 1] + 8.0 * lone[:, 2] - lone[:, 3]
        return np.asarray(slope / (12.0 * self.step))

    def hessian(self, values: Floats) -> Floats:
        """Second derivatives (D, D) of values (B,)."""
        lone = values[1 : 1 + 4 * self.d].reshape(self.d, 4)
        curve = -lone[:, 0] + 16.0 * lone[:, 1] - 30.0 * values[0] + 16.0 * lone[:, 2] - lone[:, 3]
        hessian = np.diag(curve / (12.0 * self.step**2))
        mixed = values[1 + 4 * self.d :].reshape(-1, 2, 4) @ np.array([1.0, -1.0, -1.0, 1.0])
        crossed = (4.0 * mixed[:, 0] - mixed[:, 1] / 4.0) / (3.0 * 4.0 * self.step**2)
        for (i, j), value in zip(combinations(range(self.d), 2), crossed, strict=True):
            hessian[i, j] = hessian[j, i] = value
        return hessian
