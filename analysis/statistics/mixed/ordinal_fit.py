"""The ordinal and binary model fitted: by maximum likelihood, and exact posterior draws.

Likelihood: `ordinal`. Two labels make it the binary logit model with both random effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import compress, pairwise

import numpy as np
from scipy import sparse
from scipy.special import log_expit

from analysis.statistics.mixed.exact_sampler import (
    USUAL,
    Bounds,
    Density,
    Sampling,
    Slopes,
    downhill,
    mode,
    near_mode,
    samples,
    sd_of,
    slope,
    x_of,
)
from analysis.statistics.mixed.linear_model import RATER, RATER_CONDITION, refused_by
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.optimise import minimise
from analysis.statistics.mixed.posterior import Posterior, trusted_posterior
from analysis.statistics.mixed.sufficient_statistics import (
    Codes,
    Floats,
    Truths,
    checked_codes,
    floats,
)


def label_counts(label: Codes, rater: Codes, condition: Codes) -> Floats:
    """How often each rater gave each label to each condition: (R, S, K), from codes (n,) from 0.

    Labels are ordered from the lowest; raises NotEstimable when fewer than two kinds or one rater
    are there, or a label or condition between is never used (leave it out of the codes).
    """
    checked_codes(label.astype(np.float64), rater, condition, label)
    shape = (int(rater.max()) + 1, int(condition.max()) + 1, int(label.max()) + 1)
    place = np.ravel_multi_index((rater, condition, label), shape)
    counts = floats(np.bincount(place, minlength=int(np.prod(shape)))).reshape(shape)
    if shape[2] < 2:
        raise NotEstimable("all ratings carry the same label", "report the label shares")
    if shape[0] < 2:
        raise NotEstimable("there is one rater", "collect ratings from more raters")
    if (counts.sum(axis=(0, 1)) == 0).any() or (counts.sum(axis=(0, 2)) == 0).any():
        raise NotEstimable("a label or a condition was never used", "leave it out")
    return counts


def log_probabilities(logit: Floats, cut: Floats) -> Floats:
    """log P(label = k) for K = len(cut) + 1 labels at logits (G,): (K, G), without cancellation.

    P(k) = expit(c_k - x) expit(x - c_(k-1)) (1 - exp(c_(k-1) - c_k)).
    """
    below = log_expit(cut[:, None] - logit)
    above = log_expit(logit - cut[:, None])
    gaps = np.log(-np.expm1(-np.diff(cut)))
    out = np.zeros((len(cut) + 1, len(logit)))
    out[:-1] += below
    out[1:] += above
    out[1:-1] += gaps[:, None]
    return out


def expected_scores(beta: Floats, cut: Floats, sd: Floats, scores: Floats) -> Floats:
    """The mean score of each condition for raters drawn anew: (B, S).

    ``beta`` (B, S), ``cut`` (B, K - 1), ``sd`` (B,) of rater and rater-by-condition effects
    together, ``scores`` (K,) of the labels. E[score] = s_1 + sum of (s_(k+1) - s_k) P(label > k),
    averaged over a normal effect by 61 Gauss-Hermite nodes.
    """
    z, weight = np.polynomial.hermite_e.hermegauss(61)
    weight = weight / weight.sum()
    out = np.full(beta.shape, float(scores[0]))
    for k, gain in enumerate(np.diff(scores)):
        logit = (beta - cut[:, k, None])[:, :, None] + sd[:, None, None] * z
        out += gain * (np.exp(log_expit(logit)) @ weight)
    return out


_MOST_CURVED = 3.0  # a label tells at most 1/3 about its logit: the logistic's Fisher information
HERMITE = 9  # nodes
_WIDE = 0.3  # a leaning's SD, in widths of what a cell tells, that needs more than these nodes
LARGEST_SD = 25.0  # logits; beyond, all answers of a rater are alike
_CHUNK_VALUES = 300_000  # so that what is worked on stays in the processor's cache
_ALIKE = 1.3  # numbers of nodes that share a chunk: at most so much more than needed


@dataclass(frozen=True)
class Grid:
    """How fine the integrals are: ``step`` in widths of the narrowest peak, ``reach`` in SDs."""

    step: float
    reach: float


FINE = Grid(0.8, 7.0)
FAST = Grid(1.3, 5.5)


@dataclass(frozen=True)
class Points:
    """B parameters: ``beta`` (B, S), ``cut`` (B, K - 1) ascending, and two SDs (B,), in logits."""

    beta: Floats
    cut: Floats
    sd_rater: Floats
    sd_rater_condition: Floats

    def __getitem__(self, which: Codes) -> Points:
        return Points(
            self.beta[which],
            self.cut[which],
            self.sd_rater[which],
            self.sd_rater_condition[which],
        )


class MarginalLikelihood:
    """The marginal log-likelihood of label counts (R, S, K), prepared."""

    def __init__(self, counts: Floats) -> None:
        self.n_conditions, self.n_labels = counts.shape[1:]
        self.n = int(counts.sum())
        raters, conditions = np.nonzero(counts.sum(axis=2))
        keyed = np.column_stack([conditions, counts[raters, conditions]])
        kinds, place = np.unique(keyed, axis=0, return_inverse=True)
        shape = (len(counts), len(kinds))
        ones = np.ones(len(raters))
        self.member = sparse.csr_array((ones, (raters, place.reshape(-1))), shape=shape)
        self.labels = floats(kinds[:, 1:])
        self.above = self.labels[:, 1:]  # label k + 1 has cut k below it
        self.at_cut = floats(self.labels[:, :-1] + self.labels[:, 1:])
        ends = np.searchsorted(kinds[:, 0], np.arange(self.n_conditions + 1))
        self.rows = [slice(int(a), int(b)) for a, b in pairwise(ends)]
        self.totals = floats(counts.sum(axis=(0, 1)))
        self.ahead = floats(counts.sum(axis=0)[:, 1:].sum(axis=1))  # labels above the lowest
        self._sizes = floats(counts.sum(axis=2))
        self._largest = float(self._sizes.max())

    def work(self, points: Points, grid: Grid) -> Codes:
        """How many numbers (B,) one evaluation goes through, whatever the machine."""
        j, x, few = self._lengths(points, grid)
        g = np.where(few, x, HERMITE * j)
        tables = self.n_conditions * (self.n_labels - 1) + 2 * len(self.labels)
        return np.asarray(g * tables + np.where(few, g * j, 0) + j * self.member.nnz)

    def values(self, points: Points, grid: Grid) -> Floats:
        """The log-likelihoods (B,) of the labels one by one (no multinomial coefficients).

        SDs above 25 are taken as impossible.
        """
        out = np.full(len(points.beta), -np.inf)
        for which, nodes in self._chunks(points, grid):
            out[which] = _Batch(self, points[which], nodes, grid).value
        return out

    def slopes(self, points: Points, grid: Grid) -> tuple[Floats, Points]:
        """The log-likelihoods (B,) and their derivatives by each parameter."""
        value = np.full(len(points.beta), -np.inf)
        flat = Points(*(np.zeros_like(x) for x in vars(points).values()))
        for which, nodes in self._chunks(points, grid):
            batch = _Batch(self, points[which], nodes, grid)
            value[which] = batch.value
            for name, derivative in vars(batch.slopes()).items():
                getattr(flat, name)[which] = derivative
        return value, flat

    def _lengths(self, points: Points, grid: Grid) -> tuple[Codes, Codes, Codes]:
        """Nodes (B,) over raters, over raters' leanings, and whether the latter are few enough."""
        sd, inner = points.sd_rater, points.sd_rater_condition
        information = self._sizes / (_MOST_CURVED + self._sizes * inner[:, None, None] ** 2)
        narrowest = (sd**-2 + information.sum(axis=2).max(axis=1)) ** -0.5
        j = 1 + np.ceil(2 * grid.reach * sd / (grid.step * narrowest)).astype(np.int64)
        narrowest = (inner**-2 + self._largest / _MOST_CURVED) ** -0.5
        wide = 2 * grid.reach * (sd + inner)
        x = 1 + np.ceil(wide / (grid.step * narrowest)).astype(np.int64)
        spread = inner * (self._largest / _MOST_CURVED) ** 0.5
        return j, x, (x <= HERMITE * j) | (spread > _WIDE)

    def _chunks(self, points: Points, grid: Grid) -> Iterator[tuple[Codes, tuple[int, int]]]:
        """Which points are done together, and with how many nodes: (J, G), G 0 for Hermite's."""
        possible = np.maximum(points.sd_rater, points.sd_rater_condition) <= LARGEST_SD
        some = np.flatnonzero(possible)
        if not len(some):
            return
        j, x, few = self._lengths(points[some], grid)
        x = np.where(few, x, 0)
        band = np.floor(np.log(np.maximum(x, 1)) / np.log(_ALIKE)).astype(np.int64)
        order = np.lexsort((j, band))
        work = self.work(points[some], grid)
        start = 0
        for i in range(1, len(order) + 1):
            mine = order[start:i]
            new = i == len(order) or (
                band[order[i]] != band[order[start]]
                or j[order[i]] > _ALIKE * j[order[start]]
                or (i + 1 - start) * work[order[i]] > _CHUNK_VALUES
            )
            if new:
                yield some[mine], (int(j[mine].max()), int(x[mine].max()))
                start = i


class _Batch:
    """A chunk of b parameters evaluated, with J nodes over raters and G over their leanings."""

    def __init__(
        self, model: MarginalLikelihood, p: Points, nodes: tuple[int, int], grid: Grid
    ) -> None:
        self._model, self._p = model, p
        self._zeta = np.linspace(-grid.reach, grid.reach, nodes[0])
        weight = np.exp(-0.5 * self._zeta**2)
        self._weight = floats(weight / weight.sum())
        self._inner = _convolution_kernel(p, self._zeta, nodes[1], grid)
        self._cells = [self._cell(s) for s in range(model.n_conditions)]
        tables = np.concatenate([cell.table for cell in self._cells])  # (kinds, b, J)
        with np.errstate(divide="ignore"):
            logs = model.member @ tables.reshape(len(tables), -1)
            logs = logs.reshape(-1, *tables.shape[1:]) + np.log(self._weight)
        top = logs.max(axis=2, keepdims=True)
        held = np.isfinite(top).all(axis=(0, 2))
        shares = np.exp(logs - np.where(held[:, None], top, 0.0))
        total = shares.sum(axis=2, keepdims=True)
        self._shares = np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)
        with np.errstate(divide="ignore"):
            value = (top + np.log(total)).sum(axis=(0, 2))
        self.value: Floats = np.where(held, value, -np.inf)

    def _cell(self, s: int) -> _Cell:
        """Condition s: each kind of cell's log-likelihood given the rater's effect."""
        model, p = self._model, self._p
        rows = model.rows[s]
        logit = p.beta[:, s, None] + self._inner.x
        below_cut = p.cut[:, :, None] - logit[:, None]
        below = np.minimum(below_cut, 0.0) - np.log1p(np.exp(-np.abs(below_cut)))
        logs = np.matmul(model.at_cut[rows], below)
        above = model.above[rows]
        logs += above.sum(axis=1)[:, None] * logit[:, None]
        logs += self._constants(rows, above)[:, :, None]
        top = logs.max(axis=2, keepdims=True)
        peak = np.exp(logs - top)
        integral = self._inner.forward(peak)
        with np.errstate(divide="ignore"):
            table = np.log(integral) + top
        return _Cell(np.exp(below - below_cut), peak, integral, table.swapaxes(0, 1))

    def _constants(self, rows: slice, above: Floats) -> Floats:
        """What the labels of each kind (b, n) add whatever the rater: gaps between cuts, cuts."""
        gaps = np.log(-np.expm1(-np.diff(self._p.cut)))
        return floats(gaps @ self._model.labels[rows, 1:-1].T - self._p.cut @ above.T)

    def slopes(self) -> Points:
        """The derivatives of the log-likelihoods by each parameter."""
        model, p = self._model, self._p
        turned = self._shares.reshape(len(self._shares), -1)
        pulled = (model.member.T @ turned).reshape(-1, len(p.beta), len(self._zeta))
        beta, cut = np.empty_like(p.beta), np.zeros_like(p.cut)
        inner = np.zeros(len(p.beta))
        for s, cell in enumerate(self._cells):
            rows = model.rows[s]
            mine = pulled[rows].swapaxes(0, 1)
            whole = cell.integral
            ratio = np.divide(mine, whole, out=np.zeros_like(mine), where=whole > 0)
            held = self._inner.backward(ratio) * cell.peak
            passed = (np.matmul(model.at_cut[rows].T, held) * cell.above).sum(axis=2)
            beta[:, s] = model.ahead[s] - passed.sum(axis=1)
            cut += passed
            inner += self._inner.slope(cell.peak, ratio, partial(self._rising, s))
        cut -= model.totals[1:]
        gaps = model.totals[1:-1] / np.expm1(np.diff(p.cut))
        cut[:, 1:] += gaps
        cut[:, :-1] -= gaps
        square = self._zeta**2
        spread = (self._shares @ square).sum(axis=0) - len(self._shares) * (self._weight @ square)
        return Points(beta, cut, floats(spread / p.sd_rater), inner)

    def _rising(self, s: int) -> Floats:
        """The slope of each kind's log-likelihood (b, n, G) along the logit."""
        rows = self._model.rows[s]
        all_above = self._model.above[rows].sum(axis=1)[:, None]
        return floats(all_above - np.matmul(self._model.at_cut[rows], self._cells[s].above))


class _Kernel:
    """The integral over a rater's leaning as a product of matrices: G nodes, the same for all u."""

    def __init__(self, p: Points, zeta: Floats, length: int, grid: Grid) -> None:
        sd = p.sd_rater_condition[:, None]
        half = grid.reach * (p.sd_rater[:, None] + sd)
        self.x = floats(half * np.linspace(-1.0, 1.0, length))
        apart = (self.x[:, :, None] - p.sd_rater[:, None, None] * zeta) / sd[:, None]
        self._square, self._sd = floats(apart**2), sd[:, 0]
        height = 2.0 * half / (length - 1) / (sd * np.sqrt(2.0 * np.pi))
        self._kernel = floats(np.exp(-0.5 * self._square) * height[:, None])

    def forward(self, peak: Floats) -> Floats:
        """Values (b, n, G) along the logit integrated: (b, n, J)."""
        return np.asarray(np.matmul(peak, self._kernel))

    def backward(self, ratio: Floats) -> Floats:
        """How much each value (b, n, G) counts in integrals (b, n, J) of these weights."""
        return np.asarray(np.matmul(ratio, self._kernel.swapaxes(1, 2)))

    def slope(self, peak: Floats, ratio: Floats, rising: Callable[[], Floats]) -> Floats:
        """The derivative (b,) of the weighted logs of integrals by the SD."""
        held = np.matmul(peak.swapaxes(1, 2), ratio) * self._kernel
        return floats((held * (self._square - 1.0)).sum(axis=(1, 2)) / self._sd)


class _Hermite:
    """The same by Gauss and Hermite's nodes around each u: next to no variance, a few nodes do."""

    def __init__(self, p: Points, zeta: Floats) -> None:
        z, weight = np.polynomial.hermite_e.hermegauss(HERMITE)
        u = p.sd_rater[:, None, None] * zeta
        x = u + p.sd_rater_condition[:, None, None] * z[:, None]
        self.x = floats(x.reshape(len(x), -1))
        self._moves = np.repeat(z, len(zeta))
        self._weight = floats(weight / weight.sum())

    def forward(self, peak: Floats) -> Floats:
        """As `_Kernel.forward`."""
        parts = peak.reshape(*peak.shape[:2], len(self._weight), -1)
        return np.asarray(np.einsum("bnhj,h->bnj", parts, self._weight))

    def backward(self, ratio: Floats) -> Floats:
        """As `_Kernel.backward`."""
        return floats((ratio[:, :, None] * self._weight[:, None]).reshape(*ratio.shape[:2], -1))

    def slope(self, peak: Floats, ratio: Floats, rising: Callable[[], Floats]) -> Floats:
        """As `_Kernel.slope`; ``rising`` gives the slope of the logs along the logit."""
        return floats((self.backward(ratio) * peak * rising()).sum(axis=1) @ self._moves)


def _convolution_kernel(p: Points, zeta: Floats, length: int, grid: Grid) -> _Kernel | _Hermite:
    return _Kernel(p, zeta, length, grid) if length else _Hermite(p, zeta)


@dataclass(frozen=True)
class _Cell:
    """P(label above each cut) (b, K - 1, G), likelihood (b, n, G), its integral and log."""

    above: Floats
    peak: Floats
    integral: Floats
    table: Floats


DRAWS = 400


@dataclass(frozen=True)
class LabelShares:
    """Shares (S, K) of each label: observed, predicted on average, and an interval of predictions.

    The interval holds ``level`` of the shares in ratings drawn again, sampling noise included.
    """

    observed: Floats
    predicted: Floats
    low: Floats
    high: Floats
    level: float

    @property
    def outside(self) -> int:
        """How many observed shares lie outside their interval."""
        return int(((self.observed < self.low) | (self.observed > self.high)).sum())


def label_shares(
    counts: Floats, posterior: Posterior, *, level: float = 0.95, seed: int = 0
) -> LabelShares:
    """The check of a nested ordinal posterior against label counts (R, S, K)."""
    rng = np.random.default_rng(seed)
    flat = {name: x.reshape(-1, *x.shape[2:]) for name, x in posterior.draws.items()}
    every = np.linspace(0, len(flat["condition"]) - 1, DRAWS).astype(np.int64)
    sizes = counts.sum(axis=2)
    filled = np.nonzero(sizes)
    n = sizes[filled].astype(np.int64)
    cuts = flat.get("cut")
    shares = np.empty((DRAWS, *counts.shape[1:]))
    for place, i in enumerate(every.tolist()):
        u = flat["sd_rater"][i] * rng.standard_normal(len(counts))
        w = flat["sd_rater_condition"][i] * rng.standard_normal(len(n))
        logit = flat["condition"][i][filled[1]] + u[filled[0]] + w
        cut = np.zeros(1) if cuts is None else cuts[i]
        p = np.exp(log_probabilities(logit, cut)).T
        labels = rng.multinomial(n, p / p.sum(axis=1, keepdims=True))
        for k in range(counts.shape[2]):
            shares[place, :, k] = np.bincount(filled[1], labels[:, k], minlength=counts.shape[1])
    shares /= sizes.sum(axis=0)[:, None]
    low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2], axis=0)
    observed = counts.sum(axis=0) / sizes.sum(axis=0)[:, None]
    return LabelShares(observed, floats(shares.mean(axis=0)), low, high, level)


_SCALE = floats([1.0, 0.5])  # of the SDs' coordinates
_IMPOSSIBLE = -1e15  # in place of minus infinity, which has no slope
_MOST_LOG_GAP = 30.0
MOST_WORK = 5e9  # numbers gone through for draws, about a minute: then no more are taken
_ENOUGH = 0.25  # effective share of the first proposals; each costs much
_VANISHED = 0.01  # an SD on the logit scale that is none


@dataclass(frozen=True)
class OrdinalFit:
    """The maximum likelihood fit on the logit scale.

    ``estimate`` (S,) of the conditions, ``covariance`` (S, S) from the observed information, cut
    points ``cut`` (K - 1,) with sum 0, ``sds`` of the effects (0 where one vanished) and their
    approximate ``sd_errors``.
    """

    estimate: Floats
    covariance: Floats
    cut: Floats
    sds: dict[str, float]
    sd_errors: dict[str, float]
    log_likelihood: float
    n: int
    notes: tuple[str, ...] = ()

    @property
    def se(self) -> Floats:
        """The standard error of each condition (S,)."""
        return floats(np.sqrt(np.diag(self.covariance)))

    def variances(self, contrasts: Floats) -> Floats:
        """The variances (M,) of the linear combinations ``contrasts`` (M, S)."""
        return floats(np.einsum("mi,ij,mj->m", contrasts, self.covariance, contrasts))

    def degrees(self, contrasts: Floats) -> Floats:
        """Infinite (M,): normal, not t, as is usual for these models."""
        return np.full(len(contrasts), np.inf)


@dataclass(frozen=True)
class OrdinalPrior:
    """Half-widths of the priors, logit scale: means normal, the others half-normal."""

    beta: float = 2.5
    gap: float = 2.0
    sd_rater: float = 2.0
    sd_rater_condition: float = 1.0

    def __str__(self) -> str:
        return (
            f"condition logits ~ Normal(0, {self.beta:g}); gaps between cut points ~ "
            f"HalfNormal({self.gap:g}), cut points sum to 0; SD of rater ~ "
            f"HalfNormal({self.sd_rater:g}), of rater by condition ~ "
            f"HalfNormal({self.sd_rater_condition:g})"
        )


def ordinal_ml(counts: Floats) -> OrdinalFit:
    """The maximum likelihood fit of label counts (R, S, K), as `ordinal.label_counts` gives them.

    An effect that the design cannot tell from another is left out, and ``notes`` says so. Raises
    NotEstimable where a condition got one extreme label only (its logit is then infinite), or where
    so few ratings have no maximum.
    """
    _refuse_separation(counts)
    model = MarginalLikelihood(counts)
    refused = refused_by(counts.sum(axis=2))
    free = np.array([True] * (len(_start(counts)) - 2) + [not refused[name] for name in _SDS])
    fast, fine = (_partly(_likelihood_slopes(model, grid), free) for grid in (FAST, FINE))
    bounds = list(compress(_bounds(model), free))
    start = minimise(lambda x: downhill(fast, x), _start(counts)[free], bounds, flat=0.1)
    peak = mode(fine, start, bounds, list(compress(_names(model), free)), _USE_PRIOR)
    s = model.n_conditions
    x, errors = np.zeros(len(free)), np.zeros(len(free))
    x[free], errors[free] = peak.x, np.sqrt(np.diag(peak.covariance))
    p = _unpack_points(x[None], model)
    sds = [float(p.sd_rater[0]), float(p.sd_rater_condition[0])]
    errors = errors[-2:] * slope(x[-2:], _SCALE)
    vanished = [sd < _VANISHED for sd in sds]
    return OrdinalFit(
        estimate=p.beta[0],
        covariance=peak.covariance[:s, :s],
        cut=p.cut[0],
        sds={name: 0.0 if g else sd for name, sd, g in zip(_SDS, sds, vanished, strict=True)},
        sd_errors=dict(zip(_SDS, errors.tolist(), strict=True)),
        log_likelihood=peak.height,
        n=model.n,
        notes=tuple(
            f"{name} was left out: {refused[name]}"
            if refused[name]
            else f"no variance was found for {name}: it is estimated as 0"
            for name, g in zip(_SDS, vanished, strict=True)
            if g
        ),
    )


_SDS = (RATER, RATER_CONDITION)
_USE_PRIOR = "use the Bayesian fit, whose prior keeps estimates finite, or collect more ratings"


def ordinal_posterior(
    counts: Floats, *, scores: Floats | None = None, sampling: Sampling = USUAL
) -> Posterior:
    """Draws of condition logits, ``cut`` points, SDs and, given ``scores`` (K,), of mean scores.

    ``counts`` (R, S, K) as `ordinal.label_counts` gives them. ``score`` (chains, draws, S) is the
    mean score of each condition for raters drawn anew, in the unit of ``scores``.
    """
    prior, model = OrdinalPrior(), MarginalLikelihood(counts)
    slopes = _with_prior_slopes(model, FAST, prior)
    peak = near_mode(slopes, _start(counts), _bounds(model))
    fast, rng = _with_prior(model, FAST, prior), np.random.default_rng(sampling.seed)
    work = int(model.work(_unpack_points(peak.x[None], model), FAST)[0]) * sampling.n
    attempts = samples(
        fast,
        peak,
        rng,
        chains=sampling.chains,
        draws=sampling.draws,
        degrees=max(8.0, float(len(peak.x))),
        even=2,
        enough=_ENOUGH,
        most=MOST_WORK / work,
    )
    return trusted_posterior(
        attempts, lambda sample: _name_draws(sample.draws, model, scores), str(prior), model.n
    )


def _name_draws(
    draws: Floats, model: MarginalLikelihood, scores: Floats | None
) -> dict[str, Floats]:
    chains, length, size = draws.shape
    flat = draws.reshape(-1, size)
    s = model.n_conditions
    cut = _cuts(flat[:, s:-2])
    sds = sd_of(flat[:, -2:], _SCALE)
    named = {"condition": flat[:, :s], "sd_rater": sds[:, 0], "sd_rater_condition": sds[:, 1]}
    if model.n_labels > 2:
        named["cut"] = cut
    if scores is not None:
        both = np.sqrt((sds**2).sum(axis=1))
        named["score"] = expected_scores(flat[:, :s], cut, both, scores)
    return {name: x.reshape(chains, length, *x.shape[1:]) for name, x in named.items()}


def _cuts(log_gaps: Floats) -> Floats:
    """Cut points (B, K - 1) with sum 0 of the logs of the gaps between them (B, K - 2)."""
    gaps = np.exp(np.minimum(log_gaps, _MOST_LOG_GAP))
    steps = np.concatenate([np.zeros((len(gaps), 1)), np.cumsum(gaps, axis=1)], axis=1)
    return floats(steps - steps.mean(axis=1, keepdims=True))


def _unpack_points(points: Floats, model: MarginalLikelihood) -> Points:
    s = model.n_conditions
    sds = sd_of(points[:, -2:], _SCALE)
    return Points(points[:, :s], _cuts(points[:, s:-2]), sds[:, 0], sds[:, 1])


def _bounds(model: MarginalLikelihood) -> Bounds:
    logits, gaps = model.n_conditions, model.n_labels - 2
    return [(-20.0, 20.0)] * logits + [(-9.0, 4.0)] * gaps + [(-3.5, 3.5)] * 2


def _names(model: MarginalLikelihood) -> list[str]:
    """What each coordinate is, in words."""
    gaps = [f"the gap between thresholds {k} and {k + 1}" for k in range(1, model.n_labels - 1)]
    means = [f"the logit of condition {i}" for i in range(model.n_conditions)]
    return [*means, *gaps, *(f"the SD of {name}" for name in _SDS)]


def _partly(slopes: Slopes, free: Truths) -> Slopes:
    """The density of the free coordinates, the others being 0."""

    def of_free(points: Floats) -> tuple[Floats, Floats]:
        full = np.zeros((len(points), len(free)))
        full[:, free] = points
        value, slope = slopes(full)
        return value, slope[:, free]

    return of_free


def _likelihood(model: MarginalLikelihood, grid: Grid) -> Density:
    def log_density(points: Floats) -> Floats:
        return np.maximum(model.values(_unpack_points(points, model), grid), _IMPOSSIBLE)

    return log_density


def _likelihood_slopes(model: MarginalLikelihood, grid: Grid) -> Slopes:
    s = model.n_conditions

    def slopes(points: Floats) -> tuple[Floats, Floats]:
        value, by = model.slopes(_unpack_points(points, model), grid)
        # a gap moves all cuts above it up, and by the mean that is taken off, all down
        above = by.cut[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
        size = by.cut.shape[1]
        share = np.arange(size - 1, 0, -1) / size
        gaps = above - share * by.cut.sum(axis=1, keepdims=True)
        gaps = gaps * np.exp(np.minimum(points[:, s:-2], _MOST_LOG_GAP))
        sds = np.column_stack([by.sd_rater, by.sd_rater_condition])
        sds = sds * slope(points[:, -2:], _SCALE) * np.sign(points[:, -2:])
        return np.maximum(value, _IMPOSSIBLE), np.hstack([by.beta, gaps, sds])

    return slopes


def _with_prior(model: MarginalLikelihood, grid: Grid, prior: OrdinalPrior) -> Density:
    likelihood = _likelihood(model, grid)

    def log_density(points: Floats) -> Floats:
        return floats(likelihood(points) + _log_prior(points, model, prior)[0])

    return log_density


def _with_prior_slopes(model: MarginalLikelihood, grid: Grid, prior: OrdinalPrior) -> Slopes:
    likelihood = _likelihood_slopes(model, grid)

    def slopes(points: Floats) -> tuple[Floats, Floats]:
        value, by = likelihood(points)
        more, more_by = _log_prior(points, model, prior)
        return floats(value + more), floats(by + more_by)

    return slopes


def _log_prior(
    points: Floats, model: MarginalLikelihood, prior: OrdinalPrior
) -> tuple[Floats, Floats]:
    """The log of the prior of coordinates (B, D), `folded`'s factors in it, and its slopes."""
    s = model.n_conditions
    widths = floats([prior.sd_rater, prior.sd_rater_condition])
    beta, gaps, x = points[:, :s], points[:, s:-2], points[:, -2:]
    wide = (np.exp(np.minimum(gaps, _MOST_LOG_GAP)) / prior.gap) ** 2
    sds = sd_of(x, _SCALE)
    value = -0.5 * ((beta / prior.beta) ** 2).sum(axis=1) + (gaps - 0.5 * wide).sum(axis=1)
    value += (np.log(slope(x, _SCALE)) - 0.5 * (sds / widths) ** 2).sum(axis=1)
    by_x = np.tanh(x) - sds / widths**2 * slope(x, _SCALE) * np.sign(x)
    return floats(value), np.hstack([-beta / prior.beta**2, 1.0 - wide, by_x])


def _start(counts: Floats) -> Floats:
    shares = (counts.sum(axis=0) + 0.5) / (counts.sum(axis=(0, 2))[:, None] + 0.5 * counts.shape[2])
    pooled = shares.mean(axis=0).cumsum()[:-1]
    cut = 1.3 * np.log(pooled / (1.0 - pooled))
    below = shares.cumsum(axis=1)[:, :-1]
    beta = (cut - 1.3 * np.log(below / (1.0 - below))).mean(axis=1) - cut.mean()
    gaps = np.log(np.maximum(np.diff(cut), 1e-3))
    return floats([*beta, *gaps, *x_of(floats([0.8, 0.4]), _SCALE)])


def _refuse_separation(counts: Floats) -> None:
    by_label = counts.sum(axis=0)
    alone = (by_label[:, [0, -1]] == by_label.sum(axis=1)[:, None]).any(axis=1)
    if alone.any():
        raise NotEstimable(
            f"condition {int(np.argmax(alone))} got one extreme label only, so that its logit has"
            " no finite maximum likelihood estimate",
            "use the Bayesian fit, whose prior keeps it finite",
        )
