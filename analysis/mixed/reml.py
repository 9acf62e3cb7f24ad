"""REML of a Gaussian mixed model: estimates, standard errors, Satterthwaite degrees of freedom.

The model comes as a function of its variance ratios that gives `Quadratics`; the residual variance
and the fixed effects are profiled out (Bates et al. 2015, J. Stat. Software 67(1), section 3.4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.mixed.descent import descend
from analysis.mixed.errors import NotEstimable
from analysis.mixed.nested import Quadratics
from analysis.mixed.stencils import Stencil
from analysis.mixed.sufficient import Floats, Truths, floats

Likelihood = Callable[[Floats], Quadratics]

_NOTHING = 1e-7  # a variance ratio below this is zero
_START = 0.2
_STEP = 0.02  # in the logarithm of a ratio
_REST = 1e-7  # a move of the logarithms that is none
_ROUNDS = 12
_NO_ERROR = 1e-9  # of the variance of the scores
_DUST = 1e-14  # of the variance of the scores


@dataclass(frozen=True)
class RemlFit:
    """A fitted Gaussian mixed model.

    ``estimate`` (C,) fixed effects in the unit of the scores and ``covariance`` (C, C) of them;
    ``sds`` the standard deviation of each random effect by name, then of ``residual``, all in the
    unit of the scores, 0 where the effect vanished; ``log_likelihood`` the restricted one (as
    lme4's); ``n`` ratings; ``notes`` sentences on what was left out. ``parameter_covariance``
    (P, P) and ``slopes`` (P, C, C), the derivatives of ``covariance``, are for `degrees`: P counts
    the random effects above 0, in the logarithm of their ratio, and the log residual variance.
    """

    estimate: Floats
    covariance: Floats
    sds: dict[str, float]
    log_likelihood: float
    n: int
    parameter_covariance: Floats
    slopes: Floats
    notes: tuple[str, ...] = ()

    @property
    def se(self) -> Floats:
        """The standard error of each fixed effect (C,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))

    def variances(self, contrasts: Floats) -> Floats:
        """The variances (M,) of the linear combinations ``contrasts`` (M, C)."""
        return floats(np.einsum("mi,ij,mj->m", contrasts, self.covariance, contrasts))

    def degrees(self, contrasts: Floats) -> Floats:
        """Satterthwaite degrees of freedom (M,) of the combinations ``contrasts`` (M, C).

        2 v^2 / (g' A g) with v the variance, g its gradient in the variance parameters and A their
        asymptotic covariance (Fai and Cornelius 1996; lmerTest, Kuznetsova et al. 2017, eq. 4-6).
        """
        gradient = np.einsum("mi,pij,mj->mp", contrasts, self.slopes, contrasts)
        spread = np.einsum("mp,pq,mq->m", gradient, self.parameter_covariance, gradient)
        return np.asarray(2.0 * self.variances(contrasts) ** 2 / spread)


def reml(
    likelihood: Likelihood,
    centre: Floats,
    n: int,
    effects: Sequence[str],
    *,
    free: Sequence[bool] | None = None,
    notes: tuple[str, ...] = (),
) -> RemlFit:
    """The REML fit of a model with K random ``effects`` whose parts ``likelihood`` (B, K) gives.

    ``centre`` (C,) is added to the fixed effects; ``n`` ratings; ``free`` False keeps an effect at
    0. Raises NotEstimable when no residual variation is left, or too little to tell variances.
    """
    allowed = np.ones(len(effects), dtype=bool) if free is None else np.array(free, dtype=bool)
    model = _Profiled(likelihood, n, len(effects))
    ratios = _maximum(model, allowed)
    positive = ratios > 0
    stencil = Stencil(np.log(ratios[positive]), _STEP)
    logdet, rss, cov, beta = model.parts(_spread(stencil.points, ratios))
    s2 = rss[0] / model.degrees
    if not s2 > _NO_ERROR * model.variance:
        raise NotEstimable(
            "ratings of the same rater and condition do not vary at all: no error to model",
            "keep one rating of each repeat, or report the means without a test",
        )
    hessian = _hessian(stencil, logdet + rss / s2, rss / s2, model.degrees)
    if not np.linalg.eigvalsh(hessian)[0] > 0:
        raise NotEstimable("so few ratings do not determine the variances", "collect more ratings")
    slopes = np.concatenate([s2 * stencil.gradient(cov), s2 * cov[:1]])
    sds = {name: float(np.sqrt(r * s2)) for name, r in zip(effects, ratios, strict=True)}
    deviance = logdet[0] + model.degrees * (1.0 + np.log(2.0 * np.pi * s2))
    return RemlFit(
        estimate=centre + beta[0],
        covariance=s2 * cov[0],
        sds={**sds, "residual": float(np.sqrt(s2))},
        log_likelihood=-0.5 * float(deviance),
        n=n,
        parameter_covariance=floats(2.0 * np.linalg.inv(hessian)),
        slopes=slopes,
        notes=notes + _vanished(effects, allowed & ~positive),
    )


class _Profiled:
    """The likelihood with fixed effects and residual variance profiled out."""

    def __init__(self, likelihood: Likelihood, n: int, n_effects: int) -> None:
        self._likelihood = likelihood
        none = likelihood(np.zeros((1, n_effects)))
        self.degrees = n - none.b.shape[1]
        if self.degrees < 1:
            raise NotEstimable("there are no more ratings than means", "collect more ratings")
        self.variance = float(none.c[0]) / n
        if not none.c[0] > 0:
            raise NotEstimable(
                "the scores of each condition are all the same: no variation to model",
                "report the means without a test",
            )

    def parts(self, ratios: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """log |V| + log |A|, residual sum of squares, (X'V^-1X)^-1 and effects at ratios (B, K)."""
        q = self._likelihood(ratios)
        cov = floats(np.linalg.inv(q.a))
        beta = np.einsum("bij,bj->bi", cov, q.b)
        rss = floats(q.c - np.einsum("bi,bi->b", q.b, beta))
        rss = np.maximum(rss, _DUST * self.variance)  # nothing left to explain, but for rounding
        return floats(q.logdet + np.linalg.slogdet(q.a)[1]), rss, cov, beta

    def deviance(self, ratios: Floats) -> Floats:
        """Minus twice the profiled restricted log-likelihood, but for a constant, (B,)."""
        logdet, rss, _, _ = self.parts(ratios)
        return np.asarray(logdet + self.degrees * np.log(rss))


def _maximum(model: _Profiled, allowed: Truths) -> Floats:
    ratios = np.where(allowed, _START, 0.0)
    if allowed.any():
        ratios[allowed] = descend(
            lambda x: _value_and_slope(model, x, allowed),
            ratios[allowed],
            [(0.0, None)] * int(allowed.sum()),
            flat=1e-4,
        )
    ratios[ratios < _NOTHING] = 0.0
    for _ in range(_ROUNDS):
        if not _newton(model, ratios):
            break
    return ratios


def _value_and_slope(model: _Profiled, x: Floats, allowed: Truths) -> tuple[float, Floats]:
    step = 1e-5 * (x + 0.01)
    back = np.minimum(step, x)
    moved = np.concatenate([x[None], x + np.diag(step), x - np.diag(back)])
    points = np.zeros((len(moved), len(allowed)))
    points[:, allowed] = moved
    values = model.deviance(points)
    ahead, behind = values[1 : 1 + len(x)], values[1 + len(x) :]
    return float(values[0]), np.asarray((ahead - behind) / (step + back))


def _newton(model: _Profiled, ratios: Floats) -> bool:
    """Newton steps with one Hessian in the logarithms of the positive ratios, in place.

    False when they came to rest; True when the Hessian must be taken again.
    """
    positive = ratios > 0
    if not positive.any():
        return False
    x = np.log(ratios[positive])
    stencil = Stencil(x, _STEP)
    values = model.deviance(_spread(stencil.points, ratios))
    hessian, slope = stencil.hessian(values), stencil.gradient(values)
    curved = np.linalg.eigvalsh(hessian)[0] > 0
    for _ in range(_ROUNDS):
        move = -np.linalg.solve(hessian, slope) if curved else -slope / np.abs(hessian).max()
        x = x + move * min(1.0, 2.0 / max(float(np.abs(move).max()), 1e-30))
        if np.abs(move).max() > 0.1 or (np.exp(x) < _NOTHING).any():
            break
        if np.abs(move).max() < _REST:
            ratios[positive] = np.exp(x)
            return False
        slope = Stencil(x, _STEP).gradient(model.deviance(_spread(Stencil(x, _STEP).lone, ratios)))
    ratios[positive] = np.exp(x)
    ratios[ratios < _NOTHING] = 0.0
    return True


def _spread(logs: Floats, ratios: Floats) -> Floats:
    points = np.zeros((len(logs), len(ratios)))
    points[:, ratios > 0] = np.exp(logs)
    return points


def _hessian(stencil: Stencil, deviance: Floats, scaled_rss: Floats, degrees: int) -> Floats:
    """The Hessian of the unprofiled deviance in the log ratios and the log residual variance."""
    inner = stencil.hessian(deviance)
    border = -stencil.gradient(scaled_rss)
    return np.block([[inner, border[:, None]], [border[None, :], np.array([[float(degrees)]])]])


def _vanished(effects: Sequence[str], gone: Truths) -> tuple[str, ...]:
    return tuple(
        f"no variance was found for {name}: it is estimated as 0"
        for name, is_gone in zip(effects, gone, strict=True)
        if is_gone
    )
