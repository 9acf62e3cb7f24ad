"""Proposals for exact draws: mixtures of multivariate t, fitted to weighted pilot draws.

Population Monte Carlo (Cappe, Douc, Guillin, Marin and Robert 2008, Statistics and Computing 18,
section 4): each round draws from the mixture, weighs the draws by the density, and makes one step
of EM with these weights. A mixture follows a bent ridge, which one t around the mode cannot.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import linalg, special

from analysis.statistics.mixed.sufficient_statistics import Floats, floats

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
        kept = np.flatnonzero(shares > _LEAST_SHARE)
        centres, roots = [], []
        for m in kept:
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
            shares[kept] / shares[kept].sum(),
            np.array(centres),
            np.array(roots),
            self.degrees[kept],
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
