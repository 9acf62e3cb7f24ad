"""The third-order mapping of ITU-T P.1401: a cubic, monotonic where the data are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize

from analysis.arrays import Floats

DEGREES = 4  # numbers that the mapping has
FEWEST = 8  # units, below which four numbers fit almost anything
_STEPS = 41
_ROUNDS = 30
_TOLERANCE = 1e-10


@dataclass(frozen=True)
class Cubic:
    """a + b t + c t² + d t³ with t = (x - middle) / half, for x on the range of the data.

    ``coefficients`` (4,) are a to d; outside the range the value at its nearer end is taken.
    """

    coefficients: tuple[float, float, float, float]
    low: float
    high: float
    increasing: bool

    def __call__(self, x: Floats) -> Floats:
        """The mapped values, of any shape, on the human scale."""
        t = _placed(np.clip(x, self.low, self.high), self.low, self.high)
        a, b, c, d = self.coefficients
        return np.asarray(a + t * (b + t * (c + t * d)), dtype=np.float64)


def monotonic_cubic(x: Floats, y: Floats, increasing: bool = True) -> Cubic:
    """The cubic of least squares of y on x (n,) among those that never turn from min x to max x.

    A convex problem, solved exactly: least squares under f' >= 0 at points, to which the lowest
    point of f' is added until it is nowhere below 0 (Lawson and Hanson 1974, problem LSI). ITU-T
    P.1401 (2020), 7.3. Raises ValueError with the reason for fewer than 8 units or a constant.
    """
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(x) < FEWEST:
        raise ValueError(f"{len(x)} of the {FEWEST} or more needed for a mapping with 4 numbers")
    low, high = float(x.min()), float(x.max())
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-300):
        raise ValueError("the metric is constant, so nothing can be mapped")
    sign = 1.0 if increasing else -1.0
    t = _placed(x, low, high)
    design = np.vander(t, DEGREES, increasing=True)
    at = np.linspace(-1, 1, _STEPS)
    for _ in range(_ROUNDS):
        solved = _under(design, y, sign * _slopes(at))
        worst = _lowest(sign * solved)
        if sign * float((_slopes(np.array([worst])) @ solved)[0]) >= -_TOLERANCE:
            break
        at = np.append(at, worst)
    a, b, c, d = (float(value) for value in solved)
    return Cubic((a, b, c, d), low, high, increasing)


def _placed(x: Floats, low: float, high: float) -> Floats:
    return np.asarray((x - (low + high) / 2) / ((high - low) / 2), dtype=np.float64)


def _slopes(t: Floats) -> Floats:
    """f'(t) of each power (n, 4)."""
    return np.stack([np.zeros_like(t), np.ones_like(t), 2 * t, 3 * t**2], axis=1)


def _under(design: Floats, y: Floats, rules: Floats) -> Floats:
    """min |A c - y| with G c >= 0, by its dual: non-negative least squares in the multipliers.

    With A = Q R, c = R^-1 (Q'y + R^-T G' u) for the u >= 0 that makes |Q'y + R^-T G' u| least.
    Where A has not four independent columns the smallest solution is taken, by a little ridge.
    """
    size = np.sqrt(len(y)) * 1e-7
    padded = np.vstack([design, size * np.eye(DEGREES)])
    q, r = np.linalg.qr(padded)
    free = q.T @ np.concatenate([y, np.zeros(DEGREES)])
    turned = np.linalg.solve(r.T, rules.T)
    multipliers, _ = optimize.nnls(turned, -free)
    return np.asarray(np.linalg.solve(r, free + turned @ multipliers), dtype=np.float64)


def _lowest(c: Floats) -> float:
    """Where in -1..1 the slope of the cubic with these coefficients (4,) is least."""
    places = [-1.0, 1.0]
    if c[3] > 0:
        places.append(float(np.clip(-c[2] / (3 * c[3]), -1, 1)))
    slopes = _slopes(np.array(places)) @ c
    return places[int(np.argmin(slopes))]
