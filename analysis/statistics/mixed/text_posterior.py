"""The Gaussian posterior with text and clip effects: exact where that is quick, else interpolated.

The effects and the means are integrated out, as in `gaussian`, by the likelihood of `crossed`. One
value of it may take a second, and draws need thousands: they are made from an interpolation, whose
error is measured at some of the draws; where it is too large they are exact, or refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from analysis.statistics.mixed import linear_model
from analysis.statistics.mixed.crossed import Crossed
from analysis.statistics.mixed.exact_sampler import USUAL, Sampling, x_of
from analysis.statistics.mixed.gaussian import (
    MOST_WORK,
    GaussianPrior,
    MarginalPosterior,
    posterior_of_sds,
)
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.nuts import RESIDUAL, SD_NAMES
from analysis.statistics.mixed.posterior import Posterior
from analysis.statistics.mixed.reml import RemlFit
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, Quadratics, floats

_BELOW, _ABOVE = (1.0, 0.5), (0.45, 1.0)  # nodes, as shares of the way to the ends of an axis
_ALL_ABOVE = (0.12, 0.35, 0.7, 1.0)  # the same where the middle is the lower end
_CORNERS = (1, 2)  # which of these nodes the parabolas go through
_DOWN, _UP = 4.0, 5.0  # how far an axis reaches, in standard errors of the log of its ratio
_FURTHEST = 4.0  # up, in that logarithm
_UP_FROM_NOTHING = 8.0  # the same from a ratio of 0, in standard errors of log(1 + m ratio)
_AT_NOTHING, _OFF_CENTRE = 0.05, 0.15
_OUTSIDE = 1e4  # how steeply the likelihood falls beyond the ends: draws do not get there
_MOST_LOG = 300.0


@dataclass(frozen=True)
class Box:
    """``low``, ``middle`` and ``high`` (K,) of log(1 + m ratio); m (K,) is ``per_level``."""

    low: Floats
    middle: Floats
    high: Floats
    per_level: Floats

    def coordinates(self, ratios: Floats) -> Floats:
        """Where ratios (..., K) are."""
        return floats(np.log1p(self.per_level * ratios))

    def ratios(self, at: Floats) -> Floats:
        """The ratios (..., K) at coordinates."""
        return floats(np.expm1(at) / self.per_level)


def box_around(fit: RemlFit, levels: Floats) -> Box:
    """The box around a REML fit of K effects with ``levels`` (K,) that holds the posterior."""
    sds = floats(list(fit.sds.values()))
    ratio, positive = (sds[:-1] / sds[-1]) ** 2, sds[:-1] > 0
    se = np.full(len(levels), np.inf)
    se[positive] = np.sqrt(np.diag(fit.parameter_covariance)[:-1])
    each = fit.n / levels
    low = np.log1p(each * ratio * np.exp(-_DOWN * se))
    low[low < _AT_NOTHING] = 0.0
    high = np.log1p(each * ratio * np.exp(np.minimum(_UP * se, _FURTHEST)))
    high = np.maximum(high, _UP_FROM_NOTHING * np.sqrt(2.0 / levels))
    middle = np.log1p(each * ratio)
    near = middle - low < _OFF_CENTRE * (high - low)
    return Box(low, np.where(near, low, middle), high, each)


class InterpolatedLikelihood:
    """The likelihood that ``exact`` gives at ratios (B, K), interpolated in a box.

    ``n_values`` is how many exact values it took.
    """

    def __init__(self, exact: Callable[[Floats], Quadratics], box: Box) -> None:
        self._box = box
        ends = zip(box.low, box.middle, box.high, strict=True)
        self._axes = [_Axis(*map(float, three)) for three in ends]
        self._pairs = list(combinations(range(len(self._axes)), 2))
        points = [box.middle, *self._lone(), *self._corners()]
        self.n_values = len(points)
        values = _to_unbounded(exact(box.ratios(floats(points))))
        rise = values[1:] - values[0]
        self._middle, self._coefficients = values[0], self._without_axes(rise)

    def at(self, ratios: Floats) -> Quadratics:
        """The parts at ``ratios`` (B, K); outside of the box the likelihood falls steeply."""
        at = self._box.coordinates(ratios)
        held = np.clip(at, self._box.low, self._box.high)
        basis = [axis.polynomials(held[:, i]) for i, axis in enumerate(self._axes)]
        bends = [axis.parabolas(held[:, i]) for i, axis in enumerate(self._axes)]
        for i, j in self._pairs:
            basis.append((bends[i][:, :, None] * bends[j][:, None, :]).reshape(len(at), -1))
        values = self._middle + np.column_stack(basis) @ self._coefficients
        outside = (at - held) / (self._box.high - self._box.low)
        values[:, 0] += _OUTSIDE * (outside**2).sum(axis=1)
        return _from_unbounded(values, self._middle)

    def _lone(self) -> list[Floats]:
        """The points with one coordinate at a node."""
        every = ((i, node) for i, axis in enumerate(self._axes) for node in axis.nodes)
        return [self._moved({i: node}) for i, node in every]

    def _corners(self) -> list[Floats]:
        """The points with two coordinates at nodes of the parabolas."""
        return [
            self._moved({i: self._axes[i].nodes[u], j: self._axes[j].nodes[v]})
            for i, j in self._pairs
            for u, v in product(_CORNERS, repeat=2)
        ]

    def _moved(self, to: dict[int, float]) -> Floats:
        point = self._box.middle.copy()
        point[list(to)] = list(to.values())
        return point

    def _without_axes(self, rise: Floats) -> Floats:
        """The same with what both axes explain alone taken off the corners."""
        count = len(_ABOVE) + len(_BELOW)
        corner = count * len(self._axes)
        for i, j in self._pairs:
            for u, v in product(_CORNERS, repeat=2):
                rise[corner] -= rise[count * i + u] + rise[count * j + v]
                corner += 1
        return rise


class _Axis:
    """Four nodes of an axis beside its middle, and the polynomials that are 1 at one of them."""

    def __init__(self, low: float, middle: float, high: float) -> None:
        up = high - middle
        if middle > low:
            down = [middle - share * (middle - low) for share in _BELOW]
            self.nodes = floats([*down, *(middle + share * up for share in _ABOVE)])
        else:
            self.nodes = floats([middle + share * up for share in _ALL_ABOVE])
        self._corners = self.nodes[list(_CORNERS)]
        self._middle = middle

    def polynomials(self, x: Floats) -> Floats:
        """Their values (B, 4) at x (B,)."""
        return _lagrange(x, self.nodes, self._middle)

    def parabolas(self, x: Floats) -> Floats:
        """The values (B, 2) at x (B,) of those through the middle and the corners alone."""
        return _lagrange(x, self._corners, self._middle)


def _lagrange(x: Floats, nodes: Floats, zero: float) -> Floats:
    """Polynomials (B, J) at x (B,), each 1 at one of J nodes, 0 at the others and at ``zero``."""
    every = np.append(nodes, zero)
    out = np.ones((len(x), len(nodes)))
    for i, own in enumerate(nodes):
        for other in np.delete(every, i):
            out[:, i] *= (x - other) / (own - other)
    return out


def _to_unbounded(q: Quadratics) -> Floats:
    """Quadratics as numbers (B, F) that may be anything: what is positive by its logarithm.

    log |V|, the log residual sum of squares, the means (C,), the root of X' V^-1 X by rows.
    """
    root = np.linalg.cholesky(q.a)
    beta = np.linalg.solve(q.a, q.b[:, :, None])[:, :, 0]
    rss = q.c - np.einsum("bi,bi->b", q.b, beta)
    c = q.b.shape[1]
    here = np.arange(c)
    root[:, here, here] = np.log(root[:, here, here])
    lower = np.tril_indices(c)
    return np.column_stack([q.logdet, np.log(rss), beta, root[:, lower[0], lower[1]]])


def _from_unbounded(values: Floats, one: Floats) -> Quadratics:
    """What `_to_unbounded` made of Quadratics; ``one`` (F,) tells how many means there are."""
    c = round(np.sqrt(2.0 * len(one) - 1.75) - 1.5)  # F = 2 + C + C (C + 1) / 2
    lower, here = np.tril_indices(c), np.arange(c)
    root = np.zeros((len(values), c, c))
    root[:, lower[0], lower[1]] = values[:, 2 + c :]
    root[:, here, here] = np.exp(np.minimum(root[:, here, here], _MOST_LOG))
    a = np.matmul(root, root.swapaxes(1, 2))
    beta = values[:, 2 : 2 + c]
    b = np.einsum("bij,bj->bi", a, beta)
    rss = np.exp(np.minimum(values[:, 1], _MOST_LOG))
    return Quadratics(a, b, floats(rss + np.einsum("bi,bi->b", b, beta)), values[:, 0])


MOST_ERROR = 0.2  # standard deviation of the error of the log density, among draws
MOST_EXACT = 3e11  # floating-point operations: ten seconds or so
_OPERATIONS = MOST_EXACT / MOST_WORK  # of an exact value, that count as one number of `MOST_WORK`
_CHECKED = 12
_VALUES = 8000  # of the likelihood, that exact draws need


def text_posterior(
    y: Floats,
    design: Floats,
    condition: Codes,
    effects: Mapping[str, Codes],
    fit: RemlFit | None,
    prior: GaussianPrior,
    sampling: Sampling = USUAL,
) -> Posterior:
    """Draws of the C means (``condition``), an SD of each effect and that of the residual.

    Arguments are those of `linear.crossed_reml`, and its fit, None where there is none. Raises
    NotEstimable where exact draws would take too long and others would be wrong.
    """
    sides = linear_model.sides_of(effects)
    model = Crossed(y, design, condition, sides)
    names = [name for name in linear_model.ORDER if name in effects]
    levels = floats([int(effects[name].max()) + 1 for name in names])
    sds = [*(SD_NAMES[name] for name in names), RESIDUAL]
    work = model.plan.work / _OPERATIONS
    exact = MarginalPosterior(model.at, len(names), len(y), model.centre, prior, work=work)
    problem = "its variances cannot be told"
    if fit is not None:
        near = InterpolatedLikelihood(model.at, box_around(fit, levels))
        work = near.n_values * (design.shape[1] + 2.0) ** 2 / 2.0
        quick = MarginalPosterior(near.at, len(names), len(y), model.centre, prior, work=work)
        start = np.maximum(floats([*fit.sds.values()]), _LEAST * fit.sds["residual"])
        posterior = posterior_of_sds(quick, sds, sampling, start)
        error = _error(posterior, sds, quick, exact)
        if error <= MOST_ERROR:
            approximation = f"{near.n_values} exact values of the likelihood (error {error:.2g})"
            return replace(posterior, approximation=f"between {approximation}")
        problem = f"an interpolated likelihood is off by {error:.2g}"
    if model.plan.work * _VALUES > MOST_EXACT:
        raise NotEstimable(f"{problem}, and exact draws would take too long", _REMEDY)
    return posterior_of_sds(exact, sds, sampling)


_LEAST = 0.02  # of the residual SD: where the mode is sought from for an effect that vanished
_REMEDY = "ask for the general model (--part general_gaussian)"


def _error(
    posterior: Posterior, sds: list[str], quick: MarginalPosterior, exact: MarginalPosterior
) -> float:
    """How far the two log densities are apart, but for a constant: SD among some of the draws."""
    flat = np.column_stack([posterior.draws[name].reshape(-1) for name in sds])
    some = flat[np.linspace(0, len(flat) - 1, _CHECKED).astype(np.int64)]
    x = x_of(some, exact.scale)  # one coordinate of each SD: the design tells them apart
    return float(np.std(exact.log_density(x) - quick.log_density(x), ddof=1))
