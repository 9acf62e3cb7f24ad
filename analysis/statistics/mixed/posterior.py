"""What draws say about conditions: intervals, differences, ranks; or the refusal to say it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.arrays import Bools
from analysis.statistics.mixed.convergence import Diagnostics, diagnose
from analysis.statistics.mixed.exact_sampler import Sample
from analysis.statistics.mixed.model_contrasts import pair_matrix
from analysis.statistics.mixed.model_errors import Refusal
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats


@dataclass(frozen=True)
class Posterior:
    """Draws by name, each (chains, draws) or (chains, draws, D), with their diagnostics.

    ``condition`` (chains, draws, S) is always there; the others are ``sd_rater``,
    ``sd_rater_condition``, ``sd_item``, ``sd_stimulus``, ``sd_residual`` (Gaussian), ``cut`` and
    ``score`` (ordinal). The layout is that of an InferenceData's posterior group. ``prior`` says
    the prior in words, ``approximation`` what of the density was not computed exactly, if anything.
    """

    draws: Mapping[str, Floats]
    diagnostics: Diagnostics
    prior: str
    n: int
    approximation: str = ""

    def summaries(self, *, level: float = 0.95) -> dict[str, Summary]:
        """A summary of every name's draws."""
        return {name: summary(values, level=level) for name, values in self.draws.items()}

    def comparison(
        self,
        *,
        rope: float,
        level: float = 0.95,
        name: str = "condition",
        ranked: Sequence[bool] | None = None,
    ) -> Comparison | Refusal:
        """Differences and ranks of the conditions by draws of ``name``; or why there are none.

        ``rope`` is the half width of the region of practical equivalence, in the draws' unit;
        ``ranked`` (S,) tells which conditions are candidates, all by default.
        """
        if self.diagnostics.refusal is not None:
            return self.diagnostics.refusal
        return compare(self.draws[name], rope=rope, level=level, ranked=ranked)


def trusted_posterior(
    attempts: Iterable[Sample], named: Callable[[Sample], dict[str, Floats]], prior: str, n: int
) -> Posterior:
    """The posterior of n ratings by the first attempt that can be trusted, else by the last."""
    for sample in attempts:
        draws = named(sample)
        diagnostics = diagnose(draws, sample.quality)
        if diagnostics.refusal is None:
            break
    return Posterior(draws, diagnostics, prior, n)


@dataclass(frozen=True)
class Summary:
    """Mean, SD and highest-density interval of D quantities; arrays (D,).

    ``mcse`` is the Monte Carlo standard error of the mean, sd / sqrt(bulk ESS).
    """

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats
    mcse: Floats
    level: float


@dataclass(frozen=True)
class Ranks:
    """How S conditions rank, of which C are candidates.

    ``p_best`` (S,); ``rank_probability`` (S, C), row condition, column rank among the candidates,
    the best first; ``expected_rank`` (S,), 1 is best. NaN for conditions that are no candidates.
    """

    p_best: Floats
    rank_probability: Floats
    expected_rank: Floats

    def limited(self, claimed: Bools, most: float) -> Ranks:
        """The same where no condition is the best with more than ``most`` unless that is claimed.

        ``claimed`` (S, S) says which differences are; what is cut off goes to the second rank.
        """
        chance = self.rank_probability.copy()
        among = np.flatnonzero(self.expected_rank > 0)
        for i in among:
            others = among[among != i]
            excess = chance[i, 0] - most
            if excess > 0 and not claimed[i, others].all():
                chance[i, :2] += -excess, excess
        return Ranks(chance[:, 0] if len(among) else self.p_best, chance, self.expected_rank)


def ranks_of(draws: Floats, ranked: Sequence[bool] | None = None) -> Ranks:
    """Ranks by draws (chains, draws, S) among those that are ``ranked`` (S,), by default all.

    A candidate alone has none.
    """
    s = draws.shape[2]
    among = np.flatnonzero([True] * s if ranked is None else ranked)
    place = np.argsort(np.argsort(-draws.reshape(-1, s)[:, among], axis=1), axis=1)
    probability, expected = np.full((s, len(among)), np.nan), np.full(s, np.nan)
    if len(among) > (ranked is not None):
        each = [(place == rank).mean(axis=0) for rank in range(len(among))]
        probability[among] = np.stack(each, axis=1)
        expected[among] = place.mean(axis=0) + 1.0
    return Ranks(probability[:, 0] if len(among) else expected, probability, expected)


@dataclass(frozen=True)
class Comparison(Ranks):
    """Differences ``first`` minus ``second`` (codes (M,)) of S conditions, and their ranks.

    ``difference`` summarises them; ``p_greater`` (M,) is P(first > second), ``p_equivalent`` (M,)
    the probability that they differ by less than ``rope``.
    """

    first: Codes
    second: Codes
    difference: Summary
    p_greater: Floats
    p_equivalent: Floats
    rope: float


def summary(draws: Floats, *, level: float = 0.95) -> Summary:
    """The summary of draws (chains, draws) or (chains, draws, D)."""
    flat = draws.reshape(draws.shape[0] * draws.shape[1], int(np.prod(draws.shape[2:])))
    low, high = highest_density(flat, level=level)
    sd = np.std(flat, axis=0, ddof=1)
    size = np.array(list(diagnose({"x": draws}).ess_bulk.values()))
    mcse = np.divide(sd, np.sqrt(size), out=np.zeros_like(sd), where=sd > 0)
    return Summary(flat.mean(axis=0), sd, low, high, mcse, level)


def compare(
    draws: Floats, *, rope: float, level: float = 0.95, ranked: Sequence[bool] | None = None
) -> Comparison:
    """Differences and ranks by draws (chains, draws, S) of S conditions; higher is better.

    Ranks are those among the conditions that are ``ranked`` (S,), by default all.
    """
    s = draws.shape[2]
    first, second, contrasts = pair_matrix(s)
    differences = draws @ contrasts.T
    flat = differences.reshape(draws.shape[0] * draws.shape[1], len(first))
    return Comparison(
        **vars(ranks_of(draws, ranked)),
        first=first,
        second=second,
        difference=summary(differences, level=level),
        p_greater=(flat > 0).mean(axis=0),
        p_equivalent=(np.abs(flat) < rope).mean(axis=0),
        rope=rope,
    )


def highest_density(draws: Floats, *, level: float = 0.95) -> tuple[Floats, Floats]:
    """The narrowest intervals (D,), (D,) that hold ``level`` of draws (N, D).

    Chen and Shao 1999, J. Comput. Graph. Stat. 8(1), section 3.
    """
    ordered = np.sort(draws, axis=0)
    held = int(np.floor(level * len(ordered)))
    widths = ordered[held:] - ordered[: len(ordered) - held]
    start = widths.argmin(axis=0)
    each = np.arange(draws.shape[1])
    return ordered[start, each], ordered[start + held, each]
