"""The highest point of a smooth log density and the curvature there, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.optimise import minimise
from analysis.statistics.mixed.sufficient_statistics import Floats, floats

Density = Callable[[Floats], Floats]
Slopes = Callable[[Floats], tuple[Floats, Floats]]  # (B, D) to values (B,) and slopes (B, D)
Bounds = Sequence[tuple[float, float]]

_STEP = 1e-3
_TINY, _SMALL, _FLAT = 1e-7, 1e-4, 1e-6
_AT_END = 0.05  # of the width of a coordinate's bounds


@dataclass(frozen=True)
class Mode:
    """Where a log density is highest: ``x`` (D,), its ``height`` and ``covariance`` (D, D).

    The covariance is the inverse of the negative Hessian at x.
    """

    x: Floats
    height: float
    covariance: Floats


def mode(slopes: Slopes, start: Floats, bounds: Bounds, names: Sequence[str], remedy: str) -> Mode:
    """The mode from ``start`` (D,), to about 1e-7 SD, inside the ``bounds`` of the coordinates.

    Raises NotEstimable, with the ``remedy``, when there is no proper peak inside: the reason says
    of which of the ``names`` (D,) of the coordinates the ratings do not tell enough.
    """
    x = minimise(lambda x: downhill(slopes, x), start, bounds, flat=1e-2)
    for _ in range(6):
        covariance, peaked = _inverse_curvature(slopes, x)
        x, rested = _rest(slopes, x, covariance)
        if rested and peaked:
            covariance, _ = _inverse_curvature(slopes, x)
            return Mode(x, float(slopes(x[None])[0][0]), covariance)
    raise NotEstimable(_why_none(slopes, x, bounds, names), remedy)


def near_mode(slopes: Slopes, start: Floats, bounds: Bounds) -> Mode:
    """About the mode, for draws to be proposed around: curved where the density is not, too."""
    x = minimise(lambda x: downhill(slopes, x), start, bounds, flat=1e-2)
    covariance, peaked = _inverse_curvature(slopes, x)
    moved, rested = _rest(slopes, x, covariance) if peaked else (x, False)
    if rested:
        x = moved
        covariance, _ = _inverse_curvature(slopes, x)
    return Mode(x, float(slopes(x[None])[0][0]), covariance)


def by_differences(log_density: Density) -> Slopes:
    """Values and slopes of a density that gives no slopes of its own: central differences."""

    def slopes(points: Floats) -> tuple[Floats, Floats]:
        d = points.shape[1]
        moves = _STEP * np.eye(d)
        around = [points[None], points + moves[:, None], points - moves[:, None]]
        values = log_density(np.concatenate(around).reshape(-1, d)).reshape(-1, len(points))
        return values[0], floats((values[1 : d + 1] - values[d + 1 :]).T / (2.0 * _STEP))

    return slopes


def downhill(slopes: Slopes, x: Floats) -> tuple[float, Floats]:
    """Minus the value and minus the slope (D,) at x (D,), for `descend`."""
    value, slope = slopes(x[None])
    return -float(value[0]), -slope[0]


def _rest(slopes: Slopes, x: Floats, covariance: Floats) -> tuple[Floats, bool]:
    """Newton steps with one covariance until they are under 1e-7 SD; False when they grow."""
    sd = np.sqrt(np.diag(covariance))
    before = np.inf
    for _ in range(20):
        move = covariance @ slopes(x[None])[1][0]
        size = float(np.max(np.abs(move) / sd))
        if not np.isfinite(size) or size > before:
            return x, before < _SMALL
        x = x + move * min(1.0, 1.0 / max(size, 1e-30))
        if size < _TINY:
            return x, True
        if size > 0.3:
            return x, False
        before = size
    return x, before < _SMALL


def _inverse_curvature(slopes: Slopes, x: Floats) -> tuple[Floats, bool]:
    """The inverse of the negative Hessian by central differences, and whether it is one of a peak.

    Slopes at 2 D points; where the Hessian is not that of a peak, its roots are made positive.
    """
    negative = _negative_hessian(slopes, x)
    if not np.isfinite(negative).all():
        return np.eye(len(x)), False
    roots, vectors = np.linalg.eigh(negative)
    least = _FLAT * max(float(np.abs(roots).max()), _FLAT)
    held = np.maximum(np.abs(roots), least)
    return floats((vectors / held) @ vectors.T), bool(roots[0] > least)


def _negative_hessian(slopes: Slopes, x: Floats) -> Floats:
    moves = _STEP * np.eye(len(x))
    slopes_around = slopes(np.concatenate([x - moves, x + moves]))[1]
    lower, upper = slopes_around[: len(x)], slopes_around[len(x) :]
    hessian = (lower - upper) / (2.0 * _STEP)
    return floats((hessian + hessian.T) / 2.0)


def _why_none(slopes: Slopes, x: Floats, bounds: Bounds, names: Sequence[str]) -> str:
    """Which coordinate runs away, or is not told by the ratings, in words."""
    low, high = floats(bounds).T
    place = (x - low) / (high - low)
    for i in np.argsort(np.minimum(place, 1.0 - place)):
        if min(place[i], 1.0 - place[i]) < _AT_END:
            way = "falls" if place[i] < 0.5 else "grows"
            return f"the likelihood has no maximum: it keeps rising as {names[i]} {way}"
    negative = _negative_hessian(slopes, x)
    if not np.isfinite(negative).all():
        return "the likelihood has no maximum: it has no slope near the best that was found"
    flattest = np.abs(np.linalg.eigh(negative)[1][:, 0])
    named = names[int(flattest.argmax())]
    return f"the likelihood has no maximum: it hardly falls wherever {named} is put"
