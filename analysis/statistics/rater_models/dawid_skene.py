"""Raters' confusion matrices and the true label of each unit, by EM (Dawid and Skene 1979)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Codes, Floats


def counted(group: Codes, label: Codes, weight: Floats, n_groups: int, n_labels: int) -> Floats:
    """Weights (n,) summed by group and label (G, K)."""
    sums = np.bincount(group * n_labels + label, weights=weight, minlength=n_groups * n_labels)
    return np.asarray(sums.reshape(n_groups, n_labels), dtype=np.float64)


_ROUNDS, _TOLERANCE = 500, 1e-8


@dataclass(frozen=True)
class DawidSkene:
    """``posterior`` (U, K) of each unit's true label, ``prior`` (K,), and ``confusion`` (R, K, K):
    the chance that a rater gives label l where k is true. ``log_likelihood`` of the labels.
    """

    posterior: Floats
    prior: Floats
    confusion: Floats
    log_likelihood: float
    converged: bool
    rounds: int

    @property
    def informedness(self) -> Floats:
        """By rater (R,): mean recall over the labels, 1 always right, 0 as by guessing."""
        k = self.prior.size
        recall = np.diagonal(self.confusion, axis1=1, axis2=2).mean(axis=1)
        return np.asarray((recall - 1 / k) / (1 - 1 / k), dtype=np.float64)


def dawid_skene(
    unit: Codes,
    rater: Codes,
    label: Codes,
    n_labels: int,
    *,
    pseudo: float = 0.0,
    rounds: int = _ROUNDS,
) -> DawidSkene:
    """Labels (n,) given by raters to units, as codes from 0; begun from the shares of each unit.

    ``pseudo`` is added to every count of a confusion matrix, so that a rater with few labels is
    not taken for certain; 0 is maximum likelihood, as published.
    """
    n_units, n_raters = int(unit.max(initial=-1)) + 1, int(rater.max(initial=-1)) + 1
    posterior = counted(unit, label, np.ones(len(label)), n_units, n_labels)
    posterior /= posterior.sum(axis=1, keepdims=True)
    likelihood, done = -np.inf, 0
    for done in range(1, rounds + 1):  # noqa: B007
        prior = posterior.mean(axis=0)
        confusion = np.zeros((n_raters, n_labels, n_labels))
        for k in range(n_labels):
            confusion[:, k] = counted(rater, label, posterior[unit, k], n_raters, n_labels)
        confusion += pseudo
        total = confusion.sum(axis=2, keepdims=True)
        confusion = np.divide(
            confusion, total, out=np.full_like(confusion, 1 / n_labels), where=total > 0
        )
        log_joint = _log_joint(unit, rater, label, prior, confusion)
        largest = log_joint.max(axis=1, keepdims=True)
        joint = np.exp(log_joint - largest)
        before, likelihood = likelihood, float((np.log(joint.sum(axis=1)) + largest[:, 0]).sum())
        posterior = joint / joint.sum(axis=1, keepdims=True)
        if abs(likelihood - before) < _TOLERANCE * max(1.0, abs(likelihood)):
            break
    return DawidSkene(posterior, prior, confusion, likelihood, done < rounds, done)


def _log_joint(unit: Codes, rater: Codes, label: Codes, prior: Floats, confusion: Floats) -> Floats:
    """The log chance (U, K) of each true label together with all that was given to the unit."""
    n_units = int(unit.max(initial=-1)) + 1
    log_confusion, log_prior = (np.log(np.maximum(each, 1e-300)) for each in (confusion, prior))
    columns = [
        np.bincount(unit, weights=log_confusion[rater, k, label], minlength=n_units)
        for k in range(len(prior))
    ]
    return np.asarray(np.column_stack(columns) + log_prior, dtype=np.float64)
