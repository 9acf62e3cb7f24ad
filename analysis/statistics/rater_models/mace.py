"""MACE: who gives the true label and who spams, by variational Bayes (Hovy et al. 2013)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from analysis.arrays import Codes, Floats
from analysis.statistics.rater_models.label_sums import counted

ALPHA, BETA = 0.5, 0.5  # of competence, and of what spam looks like, as published
_ROUNDS, _TOLERANCE = 300, 1e-7
RESTARTS = 5


@dataclass(frozen=True)
class Mace:
    """``posterior`` (U, K) of each unit's true label; ``competence`` (R,): how often a rater does
    not spam; ``spam`` (R, K): what the rater gives then.
    """

    posterior: Floats
    competence: Floats
    spam: Floats
    log_likelihood: float
    converged: bool


def mace(
    unit: Codes,
    rater: Codes,
    label: Codes,
    n_labels: int,
    *,
    seed: int = 0,
    restarts: int = RESTARTS,
) -> Mace:
    """Labels (n,) given by raters to units, as codes from 0; the best of some starts by seed.

    A label is the true one where the rater does not spam, else drawn from the rater's own spam.
    Priors: competence Beta(0.5, 0.5), spam Dirichlet(0.5), true labels even.
    """
    rng = np.random.default_rng(seed)
    n_raters = int(rater.max(initial=-1)) + 1
    found: list[Mace] = []
    for start in range(restarts):
        noise = 0.0 if start == 0 else 0.5
        competence = np.full(n_raters, 0.6) * (1 - noise * rng.random(n_raters))
        spam = np.tile(np.bincount(label, minlength=n_labels) + 1.0, (n_raters, 1))
        spam *= 1 - noise * rng.random(spam.shape)
        spam /= spam.sum(axis=1, keepdims=True)
        found.append(_fitted(unit, rater, label, n_labels, competence, spam))
    return max(found, key=lambda each: each.log_likelihood)


def _fitted(
    unit: Codes, rater: Codes, label: Codes, n_labels: int, competence: Floats, spam: Floats
) -> Mace:
    n_raters, n_units = len(competence), int(unit.max(initial=-1)) + 1
    good, bad = competence, 1 - competence
    likelihood, posterior, converged = -np.inf, np.zeros((n_units, n_labels)), False
    for _ in range(_ROUNDS):
        by_spam = bad[rater] * spam[rater, label]  # (n,)
        log_other = np.log(by_spam + 1e-300)
        log_same = np.log(by_spam + good[rater] + 1e-300)
        joint = counted(unit, label, log_same - log_other, n_units, n_labels)
        joint = joint + np.bincount(unit, weights=log_other, minlength=n_units)[:, None]
        largest = joint.max(axis=1, keepdims=True)
        shares = np.exp(joint - largest)
        before = likelihood
        likelihood = float((np.log(shares.sum(axis=1) / n_labels) + largest[:, 0]).sum())
        posterior = shares / shares.sum(axis=1, keepdims=True)
        right = posterior[unit, label] * np.exp(np.log(good[rater] + 1e-300) - log_same)
        own: Floats = np.bincount(rater, weights=right, minlength=n_raters).astype(np.float64)
        all_of: Floats = np.bincount(rater, minlength=n_raters).astype(np.float64)
        good, bad = _expected(own + ALPHA, all_of - own + ALPHA)
        held = counted(rater, label, 1 - right, n_raters, n_labels) + BETA
        spam = np.exp(special.digamma(held) - special.digamma(held.sum(axis=1))[:, None])
        competence = (own + ALPHA) / (all_of + 2 * ALPHA)
        if abs(likelihood - before) < _TOLERANCE * max(1.0, abs(likelihood)):
            converged = True
            break
    return Mace(
        posterior, competence, held / held.sum(axis=1, keepdims=True), likelihood, converged
    )


def _expected(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """exp E log of a Beta(a, b) and of its rest."""
    total = special.digamma(a + b)
    return np.exp(special.digamma(a) - total), np.exp(special.digamma(b) - total)
