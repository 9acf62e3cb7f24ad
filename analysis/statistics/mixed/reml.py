"""REML of a Gaussian mixed model: estimates, standard errors, Satterthwaite degrees of freedom.

The model comes as a function of its variance ratios that gives `Quadratics`; the residual variance
and the fixed effects are profiled out (Bates et al. 2015, J. Stat. Software 67(1), section 3.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.optimise import Stencil, minimise
from analysis.statistics.mixed.sufficient_statistics import Floats, Quadratics, Truths, floats

Likelihood = Callable[[Floats], Quadratics]
_Parts = tuple[Floats, Floats, Floats, Floats]

_NOTHING = 1e-7  # a variance ratio below this is zero
_START = 0.2
_MOST = 1e6  # a variance ratio
_STEP = 0.005  # in the logarithm of a ratio
_AHEAD = 1e-3  # in standard errors, roughly: see `_Scale`
REST = 1e-6  # the last step in the logarithms of the ratios
_FLAT = 0.004  # a slope in the same unit, of half the deviance
_ROUNDS = 12
_LEAST_CURVATURE = 1e-6  # a curvature in the logarithms that is more than rounding
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
    levels: Mapping[str, int],
    *,
    free: Sequence[bool] | None = None,
    rest: float = REST,
    notes: tuple[str, ...] = (),
) -> RemlFit:
    """The REML fit of a model with K random effects whose parts ``likelihood`` (B, K) gives.

    ``levels`` names the effects and says how many levels each has; ``centre`` (C,) is added to the
    fixed effects; ``n`` ratings; ``free`` False keeps an effect at 0; the last step, in the
    logarithms of the ratios, is at most ``rest``, and what is left then is about its square. Raises
    NotEstimable when no residual variation is left, or too little to tell variances.
    """
    allowed = np.ones(len(levels), dtype=bool) if free is None else np.array(free, dtype=bool)
    model = _ProfiledLikelihood(likelihood, n, len(levels))
    ratios = _near_maximum(model, allowed, _Scale(floats(list(levels.values())), n))
    ratios, stencil, around = _refine_ratios(model, ratios, rest)
    logdet, rss, cov, beta = (part[0] for part in model.parts(ratios[None]))
    positive = ratios > 0
    s2 = float(rss) / model.degrees
    if not s2 > _NO_ERROR * model.variance:
        raise NotEstimable(
            "ratings of the same rater and condition do not vary at all: no error to model",
            "keep one rating of each repeat, or report the means without a test",
        )
    hessian = _hessian(stencil, around[0] + around[1] / s2, around[1] / s2, model.degrees)
    if not np.linalg.eigvalsh(hessian)[0] > _LEAST_CURVATURE:
        raise NotEstimable("so few ratings do not determine the variances", "collect more ratings")
    slopes = np.concatenate([s2 * stencil.gradient(around[2]), s2 * cov[None]])
    sds = {name: float(np.sqrt(r * s2)) for name, r in zip(levels, ratios, strict=True)}
    deviance = float(logdet) + model.degrees * (1.0 + np.log(2.0 * np.pi * s2))
    return RemlFit(
        estimate=centre + beta,
        covariance=s2 * cov,
        sds={**sds, "residual": float(np.sqrt(s2))},
        log_likelihood=-0.5 * float(deviance),
        n=n,
        parameter_covariance=floats(2.0 * np.linalg.inv(hessian)),
        slopes=slopes,
        notes=notes + _vanished_notes(list(levels), allowed & ~positive),
    )


class _ProfiledLikelihood:
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

    def parts(self, ratios: Floats) -> _Parts:
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


class _Scale:
    """Coordinates from 0 of ratios (K,) in which a step of 1 is about a standard error.

    With m ratings a level and L levels, log(1 + m ratio) has about the variance 2 / L.
    """

    def __init__(self, levels: Floats, n: int) -> None:
        self._each, self._size = n / levels, np.sqrt(levels / 2.0)

    def ratios(self, z: Floats) -> Floats:
        """The ratios (..., K) at coordinates z (..., K)."""
        return floats(np.expm1(z / self._size) / self._each)

    def coordinates(self, ratio: float) -> Floats:
        """The coordinates (K,) of one ratio for all effects."""
        return floats(self._size * np.log1p(self._each * ratio))


def _near_maximum(model: _ProfiledLikelihood, allowed: Truths, scale: _Scale) -> Floats:
    """Ratios (K,) near the maximum, 0 where an effect is not allowed or vanishes."""
    ratios = np.zeros(len(allowed))
    if not allowed.any():
        return ratios
    move = _AHEAD * np.eye(len(allowed))[allowed]

    def value_and_slope(at: Floats) -> tuple[float, Floats]:
        whole = np.zeros(len(allowed))
        whole[allowed] = at
        points = scale.ratios(np.concatenate([whole[None], whole + move]))
        points[:, ~allowed] = 0.0
        half = model.deviance(points) / 2.0
        return float(half[0]), floats((half[1:] - half[0]) / _AHEAD)

    # bounds on both sides make the first step that of the slope, which the scale makes a good one
    bounds = [(0.0, float(most)) for most in scale.coordinates(_MOST)[allowed]]
    at = minimise(value_and_slope, scale.coordinates(_START)[allowed], bounds, flat=_FLAT)
    whole = np.zeros(len(allowed))
    whole[allowed] = at
    ratios[allowed] = scale.ratios(whole)[allowed]
    return np.where(ratios < _NOTHING, 0.0, ratios)


def _refine_ratios(
    model: _ProfiledLikelihood, ratios: Floats, rest: float
) -> tuple[Floats, Stencil, _Parts]:
    """Newton steps in the logarithms of the positive ratios, until one is at most ``rest``.

    The ratios after it, and the stencil before it with the likelihood's parts at its points.
    """
    for left in range(_ROUNDS, -1, -1):
        positive = ratios > 0
        x = np.log(ratios[positive])
        stencil = Stencil(x, _STEP)
        parts = model.parts(_spread(stencil.points, ratios))
        if not left or not len(x):
            break
        move = _move(stencil, parts[0] + model.degrees * np.log(parts[1]))
        ratios = ratios.copy()
        ratios[positive] = np.exp(x + move)
        ratios[ratios < _NOTHING] = 0.0
        if np.abs(move).max() <= rest and (ratios > 0).sum() == len(x):
            break
    return ratios, stencil, parts


def _move(stencil: Stencil, values: Floats) -> Floats:
    """The Newton step to lower values, or one down the slope; no longer than 2."""
    hessian, slope = stencil.hessian(values), stencil.gradient(values)
    if np.linalg.eigvalsh(hessian)[0] > 0:
        move = -np.linalg.solve(hessian, slope)
    else:
        move = -slope / max(float(np.abs(hessian).max()), _DUST)
    return floats(move * min(1.0, 2.0 / max(float(np.abs(move).max()), _DUST)))


def _spread(logs: Floats, ratios: Floats) -> Floats:
    points = np.zeros((len(logs), len(ratios)))
    points[:, ratios > 0] = np.exp(logs)
    return points


def _hessian(stencil: Stencil, deviance: Floats, scaled_rss: Floats, degrees: int) -> Floats:
    """The Hessian of the unprofiled deviance in the log ratios and the log residual variance."""
    inner = stencil.hessian(deviance)
    border = -stencil.gradient(scaled_rss)
    return np.block([[inner, border[:, None]], [border[None, :], np.array([[float(degrees)]])]])


def _vanished_notes(effects: Sequence[str], vanished: Truths) -> tuple[str, ...]:
    return tuple(
        f"no variance was found for {name}: it is estimated as 0"
        for name, is_gone in zip(effects, vanished, strict=True)
        if is_gone
    )
