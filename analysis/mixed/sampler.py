"""Exact draws from a smooth density of few dimensions: its mode, t proposals in one batch, MH.

Independence Metropolis with a multivariate t around the mode (Tierney 1994, Annals of Statistics
22(4), section 2.3.1): draws are nearly independent where the t fits, and the importance weights
of the proposals tell whether it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import linalg

from analysis.mixed.convergence import pareto_k
from analysis.mixed.descent import descend
from analysis.mixed.errors import NotEstimable
from analysis.mixed.sufficient import Codes, Floats, floats

Density = Callable[[Floats], Floats]
Bounds = Sequence[tuple[float | None, float | None]]

_BURN = 25
_WIDEST = 4.0  # an SD of the first proposals: more is a flat spot, not the density's width
_PILOTS, _PILOT_DRAWS, _FITS = 3, 60, 0.6
THIN = (1, 5)  # how many times the draws are taken, if at first they do not suffice
_FINE, _COARSE = 1e-3, 2e-3


@dataclass(frozen=True)
class Mode:
    """Where a log density is highest: ``x`` (D,), its ``height`` and ``covariance`` (D, D).

    The covariance is the inverse of the negative Hessian at x.
    """

    x: Floats
    height: float
    covariance: Floats


@dataclass(frozen=True)
class Sample:
    """``draws`` (chains, draws, D), the share of proposals accepted, Pareto k of their weights."""

    draws: Floats
    acceptance: float
    pareto_k: float


def mode(log_density: Density, start: Floats, bounds: Bounds, *, remedy: str = "") -> Mode:
    """The mode of ``log_density`` ((B, D) to (B,)) from ``start`` (D,), to about 1e-7 SD.

    Raises NotEstimable, with the ``remedy``, when there is no proper peak inside the bounds of the
    coordinates: the density rises to a bound, or is flat in some direction.
    """
    cure = remedy or "check the scores and the prior, or sample this model by NUTS"
    x = descend(lambda x: slope_of(log_density, x), start, bounds, flat=1e-2)
    for _ in range(6):
        covariance, peaked = _inverse_curvature(log_density, x)
        x, rested = _rest(log_density, x, covariance)
        if rested and peaked:
            covariance, _ = _inverse_curvature(log_density, x)
            return Mode(x, float(log_density(x[None])[0]), covariance)
    raise NotEstimable("these ratings determine no maximum of the likelihood", cure)


def independence(
    log_density: Density,
    around: Mode,
    rng: np.random.Generator,
    *,
    chains: int = 4,
    draws: int = 1000,
    thin: int = 1,
    degrees: float = 6.0,
    inflation: float = 1.1,
    even: int = 0,
) -> Sample:
    """Draws from ``log_density`` by independence Metropolis with t proposals around a mode.

    The t has ``degrees`` degrees of freedom and ``inflation`` times the mode's covariance as scale;
    where pilot draws show that it fits badly, it takes their weighted mean and covariance instead.
    The density is even in its last ``even`` coordinates: they are folded to be 0 or more, and the
    proposal's density with them. Of ``draws`` x ``thin`` draws a chain, every thin-th is kept.
    """
    narrowed = np.minimum(1.0, _WIDEST / np.sqrt(np.diag(around.covariance)))
    scale = floats(inflation * around.covariance * np.outer(narrowed, narrowed))
    shape = _T(around.x, scale, degrees, even)
    for _ in range(_PILOTS):
        x, log_weights = _proposals(log_density, shape, rng, _PILOT_DRAWS * (len(around.x) + 2))
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        size = float(1.0 / (weights**2).sum())
        if size > _FITS * len(weights):
            break
        shape = _refitted(shape, x, weights, size, inflation)
    length = draws * thin + _BURN
    x, log_weights = _proposals(log_density, shape, rng, chains * length)
    taken, accepted = _metropolis(
        log_weights.reshape(chains, length), np.log(rng.random((chains, length)))
    )
    each = np.arange(chains)[:, None]
    kept = x.reshape(chains, length, -1)[each, taken[:, _BURN:][:, thin - 1 :: thin]]
    return Sample(kept, accepted, pareto_k(log_weights))


@dataclass(frozen=True)
class _T:
    """A multivariate t of which the last ``even`` coordinates are made positive."""

    centre: Floats
    scale: Floats
    degrees: float
    even: int

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        d = len(self.centre)
        normal = rng.standard_normal((n, d)) @ np.linalg.cholesky(self.scale).T
        shrink = np.sqrt(rng.chisquare(self.degrees, n) / self.degrees)
        x = floats(self.centre + normal / shrink[:, None])
        x[:, d - self.even :] = np.abs(x[:, d - self.even :])
        return x

    def log_density(self, x: Floats) -> Floats:
        """The log density (B,) at x (B, D), but for a constant."""
        d, root = len(self.centre), np.linalg.cholesky(self.scale)
        terms = []
        for signs in product((1.0, -1.0), repeat=self.even):
            flip = floats([1.0] * (d - self.even) + list(signs))
            scaled = linalg.solve_triangular(root, (x * flip - self.centre).T, lower=True)
            distance = (scaled**2).sum(axis=0)
            terms.append(-0.5 * (self.degrees + d) * np.log1p(distance / self.degrees))
        return floats(np.logaddexp.reduce(terms, axis=0))


def _proposals(
    log_density: Density, shape: _T, rng: np.random.Generator, n: int
) -> tuple[Floats, Floats]:
    x = shape.draw(rng, n)
    height = log_density(x)
    return x, np.where(np.isfinite(height), height - shape.log_density(x), -np.inf)


def _refitted(shape: _T, x: Floats, weights: Floats, size: float, inflation: float) -> _T:
    """The t with the weighted moments of x, drawn to what it was as if that were D draws."""
    share = size / (size + len(shape.centre))
    mean = weights @ x
    around = x - mean
    covariance = inflation * (around.T * weights) @ around
    return _T(
        floats(share * mean + (1 - share) * shape.centre),
        floats(share * covariance + (1 - share) * shape.scale),
        shape.degrees,
        shape.even,
    )


def _metropolis(log_weights: Floats, log_uniform: Floats) -> tuple[Codes, float]:
    """The index of the proposal that each chain holds at each step, and the acceptance rate."""
    chains, length = log_weights.shape
    taken = np.zeros((chains, length), dtype=np.int64)
    accepted = 0
    for chain in range(chains):
        weights, uniform = log_weights[chain].tolist(), log_uniform[chain].tolist()
        now = 0
        for i in range(1, length):
            if uniform[i] < weights[i] - weights[now] or weights[now] == -np.inf:
                now = i
                accepted += 1
            taken[chain, i] = now
    return taken, accepted / (chains * (length - 1))


def slope_of(log_density: Density, x: Floats) -> tuple[float, Floats]:
    """Minus a log density and minus its gradient (D,) at x (D,), by central differences."""
    values = log_density(np.concatenate([x[None], _both_sides(x, _FINE)]))
    return -float(values[0]), -_slope(values[1:], _FINE)


def _both_sides(x: Floats, step: float) -> Floats:
    moves = step * np.eye(len(x))
    return np.concatenate([x + moves, x - moves])


def _slope(values: Floats, step: float) -> Floats:
    d = len(values) // 2
    return np.asarray((values[:d] - values[d:]) / (2.0 * step))


def _rest(log_density: Density, x: Floats, covariance: Floats) -> tuple[Floats, bool]:
    """Newton steps with one covariance until they are under 1e-7 SD; False when they grow."""
    sd = np.sqrt(np.diag(covariance))
    before = np.inf
    for _ in range(20):
        move = covariance @ _slope(log_density(_both_sides(x, _FINE)), _FINE)
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


_TINY, _SMALL, _FLAT = 1e-7, 1e-4, 1e-6


def _inverse_curvature(log_density: Density, x: Floats) -> tuple[Floats, bool]:
    """The inverse of the negative Hessian by central differences, and whether it is one of a peak.

    D^2 + D + 1 values; where the Hessian is not that of a peak, its roots are made positive.
    """
    d = len(x)
    step = _COARSE * np.eye(d)
    i, j = np.triu_indices(d, 1)
    points = [x[None], x + step, x - step, x + step[i] + step[j], x - step[i] - step[j]]
    values = log_density(np.concatenate(points))
    middle, up, down = values[0], values[1 : 1 + d], values[1 + d : 1 + 2 * d]
    hessian = np.diag(up - 2 * middle + down)
    both, neither = np.split(values[1 + 2 * d :], 2)
    mixed = both + neither - up[i] - down[i] - up[j] - down[j] + 2 * middle
    hessian[i, j] = hessian[j, i] = mixed / 2.0
    negative = -hessian / _COARSE**2
    if not np.isfinite(negative).all():
        return np.eye(d), False
    roots, vectors = np.linalg.eigh(negative)
    least = _FLAT * max(float(np.abs(roots).max()), _FLAT)
    held = np.maximum(np.abs(roots), least)
    return floats((vectors / held) @ vectors.T), bool(roots[0] > least)
