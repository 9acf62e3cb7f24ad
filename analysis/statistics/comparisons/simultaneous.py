"""Decisions and intervals of a declared family of differences or means, by one procedure.

The value of a contrast is a weighted sum of clustered means; variances, degrees of freedom and
intervals are those of `clustered_variance`. The family is adjusted in a single step (Hothorn, Bretz
and Westfall 2008, on a normal copula, so that contrasts may differ in degrees of freedom): an
interval leaves the neutral point out if and only if its adjusted p is below 1 - level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats

from analysis.arrays import Bools, Floats
from analysis.statistics.clustered_variance import (
    Limits,
    Spread,
    limits_of,
    shares_of,
    spread_of,
    variances_between,
)
from analysis.statistics.comparisons.pairwise_contrasts import Pair, pair_contrasts
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.intervals import Clustered

NO_VARIANCE = "the difference does not vary at all: a test is undefined"
NO_VARIANCE_OF_A_MEAN = "the ratings do not vary at all: a test is undefined"
NO_RATER_IN_COMMON = "the two have no rater in common: raters may explain the difference"
_LOG_POINTS, _FEW_RANKS = 15, 20  # 2^15 directions, twice as many in over 20 dimensions
_BINS = 512
_GRID = np.linspace(0.0, 9.0, 181)
_AT_ONCE = 2_000_000
_HALF_WAY = 10.0

Label = tuple[str, str]


@dataclass(frozen=True)
class Decision:
    """``condition`` minus ``versus`` (empty: one mean), in its family and alone.

    ``low``, ``high`` and ``p`` hold for the whole family at once, those with ``_alone`` for this
    contrast alone; ``null`` is the neutral point, ``alpha`` the p alone at which the adjusted one
    is 1 - level. Where there is no test they are None, ``note`` says why, and the contrast is not
    counted in the family.
    """

    condition: str
    versus: str
    value: float
    se: float | None = None
    df: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    low_alone: float | None = None
    high_alone: float | None = None
    p_alone: float | None = None
    alpha: float | None = None
    null: float = 0.0
    level: float = 0.95
    note: str = ""

    @property
    def tested(self) -> bool:
        return self.p is not None

    @property
    def claimed(self) -> bool:
        """Whether the difference is claimed: the simultaneous interval leaves ``null`` out."""
        if self.low is None or self.high is None:
            return False
        return self.low > self.null or self.high < self.null

    def row(self) -> dict[str, Any]:
        """The decision as one flat row of plain values."""
        return asdict(self) | {"claimed": self.claimed}


def decide(
    contrasts: ArrayLike,
    labels: Sequence[Label],
    means: Clustered,
    *,
    null: float = 0.0,
    level: float = 0.95,
    seed: int = 0,
) -> list[Decision]:
    """The family of m contrasts (m, C) of C clustered means, each with its (condition, versus).

    A row holds +1 and -1 for a difference, a single +1 for a mean that is tested against ``null``.
    What has less than two ratings, raters or items is left out and says so, and where the scale has
    no known ends what has no variance. ``seed`` sets the points of the integration: p near 0.05 has
    a standard error of 0.0002 with up to 20 conditions and of 0.0004 with 80.
    """
    rows = np.atleast_2d(np.asarray(contrasts, dtype=np.float64))
    value = rows @ means.value
    notes = [_untested_reason(row, means) for row in rows]
    testable = np.array([not note for note in notes], dtype=bool)
    limits = limits_of(rows[testable], means)
    if not limits.known.all():
        testable[np.flatnonzero(testable)[~limits.known]] = False
        limits = limits_of(rows[testable], means)
    family = Family(
        rows[testable],
        spread_of(rows[testable], means),
        value[testable] - null,
        level,
        seed,
        p_alone=limits.p_against(null),
    )
    results = _contrast_results(family, limits)
    decisions = []
    for i, (condition, versus) in enumerate(labels):
        decision = Decision(condition, versus, float(value[i]), null=null, level=level)
        if testable[i]:
            decisions.append(replace(decision, **next(results), note=_warning(rows[i], means)))
            continue
        still = NO_VARIANCE if versus else NO_VARIANCE_OF_A_MEAN
        decisions.append(replace(decision, note=notes[i] or still))
    return decisions


def _contrast_results(family: Family, limits: Limits) -> Iterator[dict[str, Any]]:
    """What each contrast says, for the whole family and alone, by the fields of `Decision`."""
    low, high = limits.bounds(family.local_alpha)
    low_alone, high_alone = limits.bounds(1 - family.level)
    columns = {
        "se": family.se,
        "df": family.df,
        "low": low,
        "high": high,
        "p": family.p,
        "low_alone": low_alone,
        "high_alone": high_alone,
        "p_alone": family.p_alone,
    }
    for j in range(len(family.se)):
        result = {name: float(values[j]) for name, values in columns.items()}
        yield result | {"alpha": family.local_alpha}


def decide_pairs(
    pairs: Sequence[Pair],
    names: Sequence[str],
    means: Clustered,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> list[Decision]:
    """The family of differences a - b, pairs (a, b) of indices into the C ``names`` of ``means``.

    `declared_families` makes the two families of a report.
    """
    labels = [(names[a], names[b]) for a, b in pairs]
    rows = pair_contrasts(pairs, len(names))
    return decide(rows, labels, means, level=level, seed=seed) if labels else []


class Family:
    """m contrasts with a variance, tested together.

    ``contrasts`` (m, C), their `Spread`, and ``distance`` (m,) from the neutral point. With
    ``joint_df`` the contrasts are taken to share one variance estimate with so many degrees of
    freedom (a t copula): with the same df for each, Dunnett's and Tukey's tests. By default their
    variances are estimated apart, as clustered ones are: between a normal copula (many degrees of
    freedom) and independence (few), as paired t tests of all pairs were seen to need. ``p_alone``
    (m,) is that of t, if not given.
    """

    def __init__(
        self,
        contrasts: Floats,
        spread: Spread,
        distance: Floats,
        level: float,
        seed: int,
        joint_df: float = np.inf,
        p_alone: Floats | None = None,
    ) -> None:
        self.se, self.df, self.distance = np.sqrt(spread.variance), spread.df, distance
        self.level, self.joint_df = level, joint_df
        self._contrasts, self._each, self._seed = contrasts, spread.each, seed
        if p_alone is None:
            p_alone = Limits(distance, spread.variance, spread.df).p_against(0.0)
        self.p_alone = p_alone

    @cached_property
    def p(self) -> Floats:
        """The adjusted p (m,): the chance that any of the family comes out as far as this."""
        p = np.minimum(1.0, self.p_alone * self._times(self._quantile(self.p_alone)))
        return np.asarray(p, dtype=np.float64)

    @cached_property
    def local_alpha(self) -> float:
        """The p of a contrast alone at which its adjusted p is 1 - level."""
        alpha = 1 - self.level
        if len(self.se) < 2:
            return alpha

        def excess(log_p: float) -> float:
            p = float(np.exp(log_p))
            return p * float(self._times(self._quantile(np.array([p])))[0]) / alpha - 1

        ends = np.log(alpha / len(self.se)) - 0.1, np.log(alpha)
        return float(np.exp(optimize.brentq(excess, *ends, xtol=1e-13)))

    def half_widths(self, alone: bool = False) -> Floats:
        """Half the width of each interval (m,), for the whole family or for each alone."""
        alpha = 1 - self.level if alone else self.local_alpha
        return np.asarray(-special.stdtrit(self.df, alpha / 2) * self.se, dtype=np.float64)

    def _quantile(self, p: Floats) -> Floats:
        """The |Z| (normal, or t of the copula) that one contrast exceeds with chance p."""
        if np.isfinite(self.joint_df):
            return np.asarray(-special.stdtrit(self.joint_df, p / 2), dtype=np.float64)
        return np.asarray(-special.ndtri(p / 2), dtype=np.float64)

    def _times(self, z: Floats) -> Floats:
        """How many times as likely as one alone it is that any of the family exceeds z (k,)."""
        return np.asarray(np.interp(z, _GRID, self._ratios), dtype=np.float64)

    @cached_property
    def _ratios(self) -> Floats:
        """P(any |Z_j| >= z) / P(|Z_1| >= z) on the grid, between 1 and m.

        The radius is integrated exactly, the direction by scrambled Sobol points (Genz and Bretz
        2009, sec. 4.1), so that the ratio is as good in the far tail as near 0.05. Where variances
        are estimated apart, contrasts are less alike than their Z: with few degrees of freedom the
        ratio nears that of independent contrasts (Sidak 1967), by df / (df + 10) on a log scale.
        """
        if len(self.se) < 2:
            return np.ones_like(_GRID)
        largest, rank = self._largest()
        squared = (_GRID[:, None] / np.sort(largest).reshape(_BINS, -1).mean(axis=1)) ** 2
        if np.isfinite(self.joint_df):
            any_of_them = stats.f.sf(squared / rank, rank, self.joint_df).mean(axis=1)
            return self._bounded(any_of_them / (2 * special.stdtr(self.joint_df, -_GRID)))
        one = 2 * special.ndtr(-_GRID)
        joint = self._bounded(special.chdtrc(rank, squared).mean(axis=1) / one)
        apart = self._bounded(-np.expm1(len(self.se) * np.log1p(-one[1:])) / one[1:])
        df = 1 / np.mean(1 / self.df)
        weight = df / (df + _HALF_WAY)
        return np.concatenate([[1.0], joint[1:] ** weight * apart ** (1 - weight)])

    def _bounded(self, ratios: Floats) -> Floats:
        return np.asarray(np.clip(ratios, 1.0, len(self.se)), dtype=np.float64)

    def _largest(self) -> tuple[Floats, int]:
        """max_j |l_j'u| / sd_j over uniform directions u (n,), and in how many dimensions."""
        involved = (self._contrasts != 0).any(axis=0)
        rows = self._contrasts[:, involved] * np.sqrt(self._each[involved])
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        direction = _directions(rows.shape[1], self._seed)
        step = max(1, _AT_ONCE // len(rows))
        parts = []
        for start in range(0, len(direction), step):
            along = direction[start : start + step] @ rows.T.astype(np.float32)
            parts.append(np.maximum(along.max(axis=1), -along.min(axis=1)))
        return np.concatenate(parts).astype(np.float64), rows.shape[1]


@lru_cache(maxsize=2)
def _directions(rank: int, seed: int) -> NDArray[np.float32]:
    """Points spread evenly over the sphere (n, rank)."""
    sobol = stats.qmc.Sobol(rank, rng=np.random.default_rng(seed))
    points = sobol.random_base2(_LOG_POINTS + (rank > _FEW_RANKS))
    normal = special.ndtri(np.clip(points, 1e-12, 1 - 1e-12))
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    directions = np.asarray(normal / length, dtype=np.float32)
    directions.flags.writeable = False
    return directions


def _untested_reason(row: Floats, means: Clustered) -> str:
    """Why a contrast has no test before its variance is known; empty where it has."""
    involved = np.flatnonzero(row)
    if means.n_ratings[involved].min() < 2:
        return "one rating only: no interval"
    if means.n_raters[involved].min() < 2:
        return "one rater only: how raters differ cannot be estimated"
    if means.n_items[involved].min() < 2:
        return "one item only: how items differ cannot be estimated"
    return ""


def _warning(row: Floats, means: Clustered) -> str:
    involved = np.flatnonzero(row)
    if len(involved) == 2 and not means.shared_raters[involved[0], involved[1]]:
        return NO_RATER_IN_COMMON
    return ""


EQUAL, ABOVE, BELOW, UNDECIDED = "practically equal", "above", "below", "undecided"


def rope_decision(low: float | None, high: float | None, half_width: float) -> str:
    """What an interval of a difference says about ±half_width (Kruschke 2018, the HDI+ROPE rule).

    Inside the region: practically equal; wholly above or below it: above, below; else undecided.
    With a 1 - 2α confidence interval "practically equal" is the two one-sided tests at α
    (Schuirmann 1987). Raises Undefined if half_width is not above 0.
    """
    if not half_width > 0:
        raise Undefined(f"a region of practical equivalence is wider than 0, not {half_width!r}")
    if low is None or high is None:
        return UNDECIDED
    if -half_width <= low and high <= half_width:
        return EQUAL
    if low > half_width:
        return ABOVE
    return BELOW if high < -half_width else UNDECIDED


DRAWS = (4, 2500)  # chains, as posteriors have them, and draws of each
_HALF = 0.5


def ranking_draws(
    means: Clustered, candidates: Sequence[int], *, level: float = 0.95, seed: int = 0
) -> tuple[Floats, Bools]:
    """Draws (chains, draws, C) of the candidates' means, and which pairs (C, C) are claimed.

    Every candidate is drawn by itself with the variance that makes all differences vary as their
    clustered variances say, as the joint distribution of a family's tests has it. The draws are
    widened as the family's intervals are; on a scale with ends they are Beta's of the effective
    answers. NaN for others and for a candidate with one rating, rater or item. With under two
    candidates left there is nothing to rank.
    """
    names = [str(code) for code in range(len(means.value))]
    tested = np.minimum.reduce([means.n_ratings, means.n_raters, means.n_items]) > 1
    at = np.array([code for code in candidates if tested[code]], dtype=np.int64)
    draws = np.full((*DRAWS, len(names)), np.nan)
    claimed = np.zeros((len(names), len(names)), dtype=bool)
    if len(at) < 2:
        return draws, claimed
    pairs = list(combinations(at.tolist(), 2))
    decided = decide_pairs(pairs, names, means, level=level, seed=seed)
    for (a, b), one in zip(pairs, decided, strict=True):
        claimed[a, b] = claimed[b, a] = one.claimed
    df = float(1 / np.mean(1 / limits_of(pair_contrasts(pairs, len(names)), means).df))
    alpha = next((one.alpha for one in decided if one.alpha is not None), 1 - level)
    wider = float(special.stdtrit(df, alpha / 2) / special.stdtrit(df, (1 - level) / 2))
    each = variances_between(means, at)
    rng = np.random.default_rng(seed)
    if means.ends is None:
        t = special.stdtrit(df, (1 - level) / 2) / special.ndtri((1 - level) / 2)
        noise = rng.standard_normal((*DRAWS, len(at)))
        draws[:, :, at] = means.value[at] + wider * t * np.sqrt(np.maximum(each, 0.0)) * noise
        return draws, claimed
    low, width = means.ends[0], means.ends[1] - means.ends[0]
    shares = replace(
        shares_of(means).take(at),
        variance=np.maximum(each, 0.0) / width**2,
        design_effect=np.zeros(len(at)),
    )
    n = shares.effective_answers(np.full(len(at), df), 1 - level) / wider**2
    beta = rng.beta(shares.share * n + _HALF, (1 - shares.share) * n + _HALF, (*DRAWS, len(at)))
    draws[:, :, at] = low + width * beta
    return draws, claimed
