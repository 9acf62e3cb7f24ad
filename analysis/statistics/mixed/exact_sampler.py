"""Exact draws from a smooth density of few dimensions: proposals in one batch, accepted or not.

Independence Metropolis (Tierney 1994, Annals of Statistics 22(4), section 2.3.1): draws are nearly
independent where the proposals fit, and the importance weights of the proposals tell whether they
do. They come from a multivariate t around the mode, or from a mixture of several, see `proposals`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from analysis.statistics.mixed.convergence import Quality, pareto_k
from analysis.statistics.mixed.posterior_mode import Density, Mode
from analysis.statistics.mixed.proposals import Mixture
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, floats

DrawBeside = Callable[[Floats, np.random.Generator], tuple[Floats, Floats]]

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
    beside: Floats
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
    beside: DrawBeside | None = None,
    most: float = MOST_TIMES,
) -> Iterator[Sample]:
    """Draws from ``log_density``, and as long as more are asked for, each time twice as many.

    It ends at ``most`` times the first number, whatever was asked, or after three tries whose
    proposals have weights without a mean (Pareto k above 1); what is more than 4,000 draws is
    thinned. Proposals are t with ``degrees`` degrees of freedom around a mode, or, where less than
    the share ``enough`` of pilot draws would be effective, mixtures fitted to these; before each
    new try they are fitted again, to all that was proposed in the last one. The density is even in
    its last ``even`` coordinates, which are folded to be 0 or more. ``beside`` draws values (B, E)
    given x (B, D), and the logs (B,) of their weights.
    """
    target = _Target(log_density, beside or _nothing, rng)
    narrowed = np.minimum(1.0, _WIDEST / np.sqrt(np.diag(around.covariance)))
    scale = _INFLATION * around.covariance * np.outer(narrowed, narrowed)
    first = Mixture.alone(around.x, floats(scale), degrees, even)
    core, times = _fitted(target, first, enough), 1
    while times <= min(most, MOST_TIMES) or times == 1:
        length = draws * times + _BURN
        proposed = target.proposed(core.guarded(first), chains * length)
        weights = proposed.log_weights.reshape(chains, length)
        taken, accepted = _metropolis(weights, np.log(rng.random((chains, length))))
        kept = min(draws * times, max(draws, _KEPT // chains))
        thin = draws * times // kept
        place = taken[:, _BURN:][:, thin - 1 :: thin][:, -kept:]
        place = place + length * np.arange(chains)[:, None]
        quality = Quality(draws * times, thin, accepted, pareto_k(proposed.log_weights))
        yield Sample(proposed.x[place], proposed.beside[place], quality)
        times *= 2
        if times > _TRIES and quality.pareto_k > _HOPELESS:
            return
        if _effective(proposed.log_weights) < _WELL:
            core = core.refitted(proposed.x, _shares(proposed.log_weights))


@dataclass(frozen=True)
class _Proposed:
    x: Floats
    beside: Floats
    log_weights: Floats


@dataclass(frozen=True)
class _Target:
    """What is drawn from: a density, what goes with its draws, and where chance comes from."""

    log_density: Density
    beside: DrawBeside
    rng: np.random.Generator

    def proposed(self, shape: Mixture, n: int) -> _Proposed:
        x = shape.draw(self.rng, n)
        parts = [self._weighed(x[i : i + _BATCH]) for i in range(0, n, _BATCH)]
        beside, height = (np.concatenate(each) for each in zip(*parts, strict=True))
        logs = np.where(np.isfinite(height), height - shape.log_density(x), -np.inf)
        return _Proposed(x, beside, logs)

    def _weighed(self, x: Floats) -> tuple[Floats, Floats]:
        beside, more = self.beside(x, self.rng)
        return beside, floats(self.log_density(x) + more)


def _nothing(x: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    return np.empty((len(x), 0)), np.zeros(len(x))


def _fitted(target: _Target, first: Mixture, enough: float) -> Mixture:
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
