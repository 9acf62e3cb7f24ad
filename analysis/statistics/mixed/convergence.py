"""Whether draws can be trusted: R-hat, effective sample sizes, Pareto k, and the refusal.

ArviZ computes them. Vehtari, Gelman, Simpson, Carpenter, Buerkner 2021, Bayesian Analysis 16(2):
rank-normalised split R-hat, bulk and tail effective sample size. Vehtari et al. 2024, J. Mach.
Learn. Res. 25(72): Pareto k of importance weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from analysis.statistics.mixed.model_errors import Refusal
from analysis.statistics.mixed.sufficient_statistics import Floats

MOST_R_HAT = 1.01
LEAST_ESS = 400.0
MOST_PARETO_K = 0.7
LEAST_BFMI = 0.3


@dataclass(frozen=True)
class Quality:
    """``taken`` draws of each chain, of which every ``thin``-th is kept.

    ``acceptance`` is the share of proposals accepted, ``pareto_k`` that of their weights.
    """

    taken: int
    thin: int
    acceptance: float
    pareto_k: float


@dataclass(frozen=True)
class Diagnostics:
    """How well a posterior was sampled.

    ``r_hat``, ``ess_bulk`` and ``ess_tail`` by quantity (elements are numbered: beta[0]);
    ``pareto_k`` of the importance weights of the proposals and ``acceptance``, the share of them
    that was accepted; both None where another sampler was used. ``divergences`` and ``bfmi``, the
    lowest of the chains, are NUTS's (Betancourt 2016, arXiv:1604.00695); None elsewhere. Of
    ``taken`` draws of each chain every ``thin``-th is kept; 0 where that is not known.
    """

    r_hat: dict[str, float]
    ess_bulk: dict[str, float]
    ess_tail: dict[str, float]
    pareto_k: float | None = None
    acceptance: float | None = None
    divergences: int | None = None
    bfmi: float | None = None
    taken: int = 0
    thin: int = 1

    @property
    def refusal(self) -> Refusal | None:
        """Why nothing may be concluded from the draws, or None if all is well."""
        worst = max(self.r_hat, key=lambda name: _bad_first(self.r_hat[name]))
        if not self.r_hat[worst] < MOST_R_HAT:
            problem = f"R-hat of {worst} is {self.r_hat[worst]:.3f}, not below {MOST_R_HAT:g}"
            return self._short(f"the chains disagree: {problem}")
        for kind, sizes in (("bulk", self.ess_bulk), ("tail", self.ess_tail)):
            worst = min(sizes, key=lambda name: -_bad_first(-sizes[name]))
            if not sizes[worst] > LEAST_ESS:
                problem = f"the {kind} effective sample size of {worst} is {sizes[worst]:.0f}"
                return self._short(f"{problem}, not above {LEAST_ESS:g}")
        if self.pareto_k is not None and not self.pareto_k <= MOST_PARETO_K:
            problem = f"Pareto k of the importance weights is {self.pareto_k:.2f}"
            return Refusal(f"{problem}, above {MOST_PARETO_K:g}", _OTHER_SAMPLER)
        if self.divergences:
            problem = f"{self.divergences} transitions of the sampler diverged"
            return Refusal(problem, "leave out conditions with few ratings")
        if self.bfmi is not None and not self.bfmi >= LEAST_BFMI:
            problem = (
                f"the energy of a chain moves badly (BFMI {self.bfmi:.2f}, below {LEAST_BFMI:g})"
            )
            return self._short(problem)
        return None

    def _short(self, reason: str) -> Refusal:
        """The refusal where more draws would help, if as many as may be were not taken already."""
        if not self.taken:
            return Refusal(reason, "take more draws, or " + _OTHER_SAMPLER)
        reason += f", after {self.taken:,} draws of each chain"
        others = "leave out conditions with few ratings, or collect more ratings"
        return Refusal(reason, others if self.divergences is not None else _OTHER_SAMPLER)


_OTHER_SAMPLER = "sample this model by NUTS (the general model)"


def diagnose(draws: Mapping[str, Floats], quality: Quality | None = None) -> Diagnostics:
    """The diagnostics of named draws, each (chains, draws) or (chains, draws, D); D 0 has none."""
    r: dict[str, float] = {}
    bulk: dict[str, float] = {}
    tail: dict[str, float] = {}
    for name, values in draws.items():
        flat = values.reshape(*values.shape[:2], int(np.prod(values.shape[2:])))
        for i in range(flat.shape[2]):
            label = name if values.ndim == 2 else f"{name}[{i}]"
            r[label] = r_hat(flat[:, :, i])
            bulk[label], tail[label] = ess_bulk(flat[:, :, i]), ess_tail(flat[:, :, i])
    return Diagnostics(r, bulk, tail, **(asdict(quality) if quality else {}))


def r_hat(draws: Floats) -> float:
    """Rank-normalised split R-hat of draws (chains, draws): the larger of bulk and folded tail.

    NaN for constant draws or fewer than 4 a chain.
    """
    return _measure_draws("rhat", draws)


def ess_bulk(draws: Floats) -> float:
    """The effective sample size for the middle of the distribution, of draws (chains, draws)."""
    return _measure_draws("ess", draws, method="bulk")


def ess_tail(draws: Floats) -> float:
    """The smaller effective sample size of the 5 % and 95 % quantiles, of draws (chains, draws)."""
    return _measure_draws("ess", draws, method="tail", prob=(0.05, 0.95))


def _measure_draws(measure: str, draws: Floats, **options: Any) -> float:
    from arviz_stats.base import array_stats

    if draws.shape[1] < 4 or np.ptp(draws) == 0 or not np.isfinite(draws).all():
        return float("nan")
    with np.errstate(divide="ignore", invalid="ignore"):  # of ranks that never vary: NaN
        return float(getattr(array_stats, measure)(draws, chain_axis=0, draw_axis=1, **options))


def pareto_k(log_weights: Floats) -> float:
    """The shape k of the upper tail of importance weights given by their logarithms (S,).

    Up to 0.7 the weights can be trusted (Vehtari et al. 2024, section 3.2.4). The tail is the
    largest min(S/5, 3 sqrt(S)) weights. Infinity when fewer than 25 weights are above 0; below 0
    where the largest are equal.
    """
    from arviz_stats.base import array_stats

    finite = np.sort(log_weights[np.isfinite(log_weights)])
    size = int(np.ceil(min(len(log_weights) / 5, 3 * len(log_weights) ** 0.5)))
    if size < 5 or len(finite) <= size or len(finite) < 25:
        return float("inf")
    if np.exp(finite[-size - 1] - finite[-1]) >= 1 - 1e-12:
        return -0.5  # all large weights are the same: no tail at all
    return float(array_stats.psislw(-log_weights)[1])  # it takes log likelihoods, which it negates


def _bad_first(value: float) -> float:
    return value if np.isfinite(value) else float("inf")
