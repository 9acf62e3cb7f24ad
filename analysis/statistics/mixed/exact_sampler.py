"""Exact draws from a smooth density of few dimensions: proposals in one batch, accepted or not.

Independence Metropolis (Tierney 1994, Annals of Statistics 22(4), section 2.3.1): draws are nearly
independent where the proposals fit, and the importance weights of the proposals tell whether they
do. They come from a multivariate t around the mode, or from a mixture of several, see `proposals`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import linalg, special

from analysis.statistics.mixed.convergence import Quality, pareto_k
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.optimise import minimise
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, floats

DrawConditional = Callable[[Floats, np.random.Generator], tuple[Floats, Floats]]

MOST_TIMES = 32  # times the draws that were asked for: what is taken at most
_KEPT = 4000  # draws of all chains together that are kept of more
_BURN = 25
_BATCH = 5000  # proposals at once, for the memory of large designs
_WIDEST = 4.0  # an SD of the first proposals: more is a flat spot, not the density's width
_INFLATION = 1.1
_PILOT_DRAWS = 150  # per dimension and two
_WELL = 0.6  # effective share of draws: nothing to gain beyond
_PARTS = 6
_TRIES, _HOPELESS = 4, 1.0  # proposals fitted so often that fit so badly will not fit
_BETTER, _PATIENCE = 1.1, 4  # rounds that may pass without so much gain


@dataclass(frozen=True)
class Sampling:
    """How many chains, how many draws of each that are tried first, and the seed of all."""

    chains: int = 4
    draws: int = 1000
    seed: int = 0

    @property
    def n(self) -> int:
        """The draws of all chains together."""
        return self.chains * self.draws


USUAL = Sampling()


@dataclass(frozen=True)
class Sample:
    """``draws`` (chains, draws, D), and (chains, draws, E) of what goes with them.

    ``quality`` tells of how many draws taken they were kept, and how well the proposals fitted.
    """

    draws: Floats
    conditional: Floats
    quality: Quality


def samples(
    log_density: Density,
    around: Mode,
    rng: np.random.Generator,
    *,
    chains: int,
    draws: int,
    degrees: float,
    even: int,
    enough: float = 0.6,
    conditional: DrawConditional | None = None,
    most: float = MOST_TIMES,
) -> Iterator[Sample]:
    """Draws from ``log_density``, and as long as more are asked for, each time twice as many.

    It ends at ``most`` times the first number, whatever was asked, or after three tries whose
    proposals have weights without a mean (Pareto k above 1); what is more than 4,000 draws is
    thinned. Proposals are t with ``degrees`` degrees of freedom around a mode, or, where less than
    the share ``enough`` of pilot draws would be effective, mixtures fitted to these; before each
    new try they are fitted again, to all that was proposed in the last one. The density is even in
    its last ``even`` coordinates, which are folded to be 0 or more. ``conditional`` draws values
    (B, E) given x (B, D), and the logs (B,) of their weights.
    """
    target = _Target(log_density, conditional or _nothing, rng)
    narrowed = np.minimum(1.0, _WIDEST / np.sqrt(np.diag(around.covariance)))
    scale = _INFLATION * around.covariance * np.outer(narrowed, narrowed)
    first = Mixture.alone(around.x, floats(scale), degrees, even)
    core, times = _fit_proposals(target, first, enough), 1
    while times <= min(most, MOST_TIMES) or times == 1:
        length = draws * times + _BURN
        proposed = target.proposed(core.guarded(first), chains * length)
        weights = proposed.log_weights.reshape(chains, length)
        taken, accepted = _metropolis(weights, np.log(rng.random((chains, length))))
        length_kept = min(draws * times, max(draws, _KEPT // chains))
        thin = draws * times // length_kept
        place = taken[:, _BURN:][:, thin - 1 :: thin][:, -length_kept:]
        place = place + length * np.arange(chains)[:, None]
        quality = Quality(draws * times, thin, accepted, pareto_k(proposed.log_weights))
        yield Sample(proposed.x[place], proposed.conditional[place], quality)
        times *= 2
        if times > _TRIES and quality.pareto_k > _HOPELESS:
            return
        if _effective(proposed.log_weights) < _WELL:
            core = core.refitted(proposed.x, _shares(proposed.log_weights))


@dataclass(frozen=True)
class _Proposals:
    x: Floats
    conditional: Floats
    log_weights: Floats


@dataclass(frozen=True)
class _Target:
    """What is drawn from: a density, what goes with its draws, and where chance comes from."""

    log_density: Density
    conditional: DrawConditional
    rng: np.random.Generator

    def proposed(self, shape: Mixture, n: int) -> _Proposals:
        x = shape.draw(self.rng, n)
        parts = [self._weighed(x[i : i + _BATCH]) for i in range(0, n, _BATCH)]
        conditional, height = (np.concatenate(each) for each in zip(*parts, strict=True))
        logs = np.where(np.isfinite(height), height - shape.log_density(x), -np.inf)
        return _Proposals(x, conditional, logs)

    def _weighed(self, x: Floats) -> tuple[Floats, Floats]:
        conditional, more = self.conditional(x, self.rng)
        return conditional, floats(self.log_density(x) + more)


def _nothing(x: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    return np.empty((len(x), 0)), np.zeros(len(x))


def _fit_proposals(target: _Target, first: Mixture, enough: float) -> Mixture:
    """The proposals that pilot draws find to fit: the first t, or a mixture if that fits badly."""
    d = first.centres.shape[1]
    n = _PILOT_DRAWS * (d + 2)
    proposed = target.proposed(first, n)
    best, since = (_effective(proposed.log_weights), first), 0
    if best[0] > enough:
        return first
    core = first.spread(proposed.x, _shares(proposed.log_weights), target.rng, _PARTS)
    while best[0] < _WELL and since < _PATIENCE:
        core = core.refitted(proposed.x, _shares(proposed.log_weights))
        proposed = target.proposed(core.guarded(first), n)
        fits = _effective(proposed.log_weights)
        better = fits > _BETTER * best[0]
        since = 0 if better else since + 1
        best = max(best, (fits, core), key=lambda pair: pair[0])
    return best[1]


def _shares(log_weights: Floats) -> Floats:
    weights = np.exp(log_weights - log_weights.max())
    return floats(weights / weights.sum())


def _effective(log_weights: Floats) -> float:
    """Kish's effective sample size of weighted draws, as a share of their number."""
    if not np.isfinite(log_weights.max()):
        return 0.0
    return float(1.0 / (_shares(log_weights) ** 2).sum() / len(log_weights))


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


_DEFENCE = 0.1  # the share that stays with the t around the mode, whatever the pilots say
_WIDER, _WIDTH = 0.2, 5.0  # the share drawn from wider components, and how much wider they are
_HEAVY = 3.0  # degrees of freedom of the components at least, as many as dimensions if that is more
_LEAST_SHARE = 0.01  # a component with less is given up


@dataclass(frozen=True)
class Mixture:
    """Shares (M,) of t with centres (M, D), roots of scales (M, D, D) and degrees of freedom (M,).

    Of what is drawn, the last ``even`` coordinates are made positive, and the density is that of
    what then comes out.
    """

    shares: Floats
    centres: Floats
    roots: Floats
    degrees: Floats
    even: int

    @classmethod
    def alone(cls, centre: Floats, scale: Floats, degrees: float, even: int) -> Mixture:
        """One t with ``centre`` (D,) and ``scale`` (D, D)."""
        root = np.linalg.cholesky(scale)
        return cls(np.ones(1), centre[None], floats(root[None]), np.full(1, degrees), even)

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Draws (n, D)."""
        d = self.centres.shape[1]
        normal = rng.standard_normal((n, d))
        which = np.searchsorted(np.cumsum(self.shares)[:-1], rng.random(n), side="right")
        degrees = self.degrees[which]
        shrink = np.sqrt(rng.chisquare(degrees) / degrees)
        x = np.empty((n, d))
        for m, root in enumerate(self.roots):
            mine = which == m
            x[mine] = self.centres[m] + normal[mine] @ root.T / shrink[mine, None]
        x[:, d - self.even :] = np.abs(x[:, d - self.even :])
        return x

    def log_density(self, x: Floats) -> Floats:
        """The log density (B,) at x (B, D)."""
        return np.asarray(special.logsumexp(self._terms(x)[0], axis=(0, 1)))

    def refitted(self, x: Floats, weights: Floats) -> Mixture:
        """After one step of EM towards x (B, D) with ``weights`` (B,) that add up to 1."""
        terms, distance = self._terms(x)
        owned = weights * np.exp(terms - special.logsumexp(terms, axis=(0, 1)))
        degrees = self.degrees[:, None, None]
        pulled = owned * (degrees + x.shape[1]) / (degrees + distance)
        shares = owned.sum(axis=(1, 2))
        components = np.flatnonzero(shares > _LEAST_SHARE)
        centres, roots = [], []
        for m in components:
            flipped = (self._signs[:, None] * x).reshape(-1, x.shape[1])
            pull = pulled[m].reshape(-1)
            centre = pull @ flipped / pull.sum()
            around = flipped - centre
            scale = (around.T * pull) @ around / shares[m]
            draws_worth = float(shares[m] ** 2 / (owned[m].sum(axis=0) ** 2).sum())
            share = draws_worth / (draws_worth + x.shape[1])  # as if what it was were D draws
            old = self.roots[m] @ self.roots[m].T
            centres.append(centre)
            roots.append(np.linalg.cholesky(share * scale + (1 - share) * old))
        return Mixture(
            shares[components] / shares[components].sum(),
            np.array(centres),
            np.array(roots),
            self.degrees[components],
            self.even,
        )

    def spread(self, x: Floats, weights: Floats, rng: np.random.Generator, parts: int) -> Mixture:
        """One of ``parts`` more components, around draws x (B, D) taken by their ``weights``."""
        taken = rng.choice(len(x), parts, p=weights)
        scale = np.cov(x.T, aweights=weights, ddof=0).reshape(x.shape[1], -1)
        root = np.linalg.cholesky(scale / parts + 1e-9 * np.diag(np.diag(scale)))
        return Mixture(
            np.full(parts + 1, 1.0 / (parts + 1)),
            np.concatenate([self.centres[:1], x[taken]]),
            np.concatenate([self.roots[:1], np.repeat(root[None], parts, axis=0)]),
            np.full(parts + 1, np.clip(x.shape[1], _HEAVY, self.degrees[0])),
            self.even,
        )

    def guarded(self, by: Mixture) -> Mixture:
        """With a share drawn from wider components, and one from ``by``.

        Pilots tell nothing of where they have not been. The wider ones go there, so that what the
        mixture misses shows as a few large weights and is not passed over.
        """
        if self is by:
            return self
        own = 1.0 - _WIDER - _DEFENCE
        return Mixture(
            np.concatenate([own * self.shares, _WIDER * self.shares, _DEFENCE * by.shares]),
            np.concatenate([self.centres, self.centres, by.centres]),
            np.concatenate([self.roots, _WIDTH * self.roots, by.roots]),
            np.concatenate([self.degrees, self.degrees, by.degrees]),
            self.even,
        )

    @property
    def _signs(self) -> Floats:
        d = self.centres.shape[1]
        flips = product((1.0, -1.0), repeat=self.even)
        return floats([[1.0] * (d - self.even) + list(signs) for signs in flips])

    def _terms(self, x: Floats) -> tuple[Floats, Floats]:
        """Log densities and squared distances, each (M, flips, B)."""
        d = x.shape[1]
        flipped = self._signs[:, None] * x
        distance = np.empty((len(self.shares), *flipped.shape[:2]))
        height = np.empty(len(self.shares))
        for m, (centre, root) in enumerate(zip(self.centres, self.roots, strict=True)):
            around = (flipped - centre).reshape(-1, d).T
            scaled = linalg.solve_triangular(root, around, lower=True)
            distance[m] = (scaled**2).sum(axis=0).reshape(flipped.shape[:2])
            height[m] = np.log(self.shares[m]) - np.log(np.diag(root)).sum()
            height[m] += _log_constant(float(self.degrees[m]), d)
        degrees = self.degrees[:, None, None]
        bell = -0.5 * (degrees + d) * np.log1p(distance / degrees)
        return bell + height[:, None, None], distance


def _log_constant(degrees: float, d: int) -> float:
    half = special.gammaln((degrees + d) / 2.0) - special.gammaln(degrees / 2.0)
    return float(half - 0.5 * d * np.log(degrees * np.pi))


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
    """Minus the value and minus the slope (D,) at x (D,), for `minimise`."""
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
