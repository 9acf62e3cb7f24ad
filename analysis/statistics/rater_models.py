"""Models of how good raters are, beside rules: of labels and of scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.arrays import Codes, Floats


def sum_weights(group: Codes, label: Codes, weight: Floats, n_groups: int, n_labels: int) -> Floats:
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
    unit: Codes, rater: Codes, label: Codes, n_labels: int, *, pseudo: float = 0.0
) -> DawidSkene:
    """Labels (n,) given by raters to units, as codes from 0; begun from the shares of each unit.

    ``pseudo`` is added to every count of a confusion matrix, so that a rater with few labels is
    not taken for certain; 0 is maximum likelihood, as published.
    """
    n_units, n_raters = int(unit.max(initial=-1)) + 1, int(rater.max(initial=-1)) + 1
    posterior = sum_weights(unit, label, np.ones(len(label)), n_units, n_labels)
    posterior /= posterior.sum(axis=1, keepdims=True)
    likelihood, done = -np.inf, 0
    for done in range(1, _ROUNDS + 1):  # noqa: B007
        prior = posterior.mean(axis=0)
        confusion = np.zeros((n_raters, n_labels, n_labels))
        for k in range(n_labels):
            confusion[:, k] = sum_weights(rater, label, posterior[unit, k], n_raters, n_labels)
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
    return DawidSkene(posterior, prior, confusion, likelihood, done < _ROUNDS, done)


def _log_joint(unit: Codes, rater: Codes, label: Codes, prior: Floats, confusion: Floats) -> Floats:
    """The log chance (U, K) of each true label together with all that was given to the unit."""
    n_units = int(unit.max(initial=-1)) + 1
    log_confusion, log_prior = (np.log(np.maximum(each, 1e-300)) for each in (confusion, prior))
    columns = [
        np.bincount(unit, weights=log_confusion[rater, k, label], minlength=n_units)
        for k in range(len(prior))
    ]
    return np.asarray(np.column_stack(columns) + log_prior, dtype=np.float64)


DEGREES = 6.0  # of the inverse chi-squared that noise variances are drawn from
SWEEPS, BURN_IN = 900, 300


@dataclass(frozen=True)
class Severity:
    """Posterior means and equal-tailed intervals (R,): ``bias`` (above 0: milder) and ``noise`` SD.

    ``quality`` (U,) of the units; ``weight`` (R,) is the posterior mean of 1 / noise^2 against the
    panel's mean.
    """

    bias: Floats
    bias_low: Floats
    bias_high: Floats
    noise: Floats
    noise_low: Floats
    noise_high: Floats
    weight: Floats
    quality: Floats
    level: float


def severity(
    unit: Codes,
    rater: Codes,
    y: Floats,
    *,
    level: float = 0.95,
    seed: int = 0,
    sweeps: int = SWEEPS,
) -> Severity:
    """Scores y (n,) = quality(unit) + bias(rater) + noise(rater) * normal.

    Bias is normal around 0 with a variance of its own; noise variances are scaled inverse
    chi-squared around the panel's (6 degrees), so that a rater with few ratings is drawn to the
    panel and none gets all weight; quality is normal around the panel's mean. Every conditional is
    known, so that a sweep is exact (Gelman et al. 2013, ch. 11); the first third is thrown away.
    """
    state = _State(unit, rater, y, np.random.default_rng(seed))
    samples: dict[str, list[Floats]] = {name: [] for name in ("bias", "noise", "weight", "quality")}
    for sweep in range(sweeps):
        state.sweep()
        if sweep >= sweeps * BURN_IN // SWEEPS:
            samples["bias"].append(state.bias)
            samples["noise"].append(np.sqrt(state.variance))
            samples["weight"].append(1 / state.variance)
            samples["quality"].append(state.quality)
    return _summarise_samples(samples, level)


class _State:
    """The unknowns of the model, each drawn anew given the others in every sweep."""

    def __init__(self, unit: Codes, rater: Codes, y: Floats, rng: np.random.Generator) -> None:
        self.unit, self.rater, self.y, self.rng = unit, rater, y, rng
        self.units, self.raters = int(unit.max(initial=-1)) + 1, int(rater.max(initial=-1)) + 1
        self.counts = np.bincount(rater, minlength=self.raters)
        whole = float(y.var()) + 1e-6
        self.quality = np.zeros(self.units)
        self.bias, self.variance = np.zeros(self.raters), np.full(self.raters, whole)
        self.middle, self.spread = float(y.mean()), whole
        self.spread_bias, self.scale = whole / 4, whole

    def sweep(self) -> None:
        """Quality of the units, bias of the raters, their noise; and what these are drawn from."""
        self._draw_quality()
        self._draw_bias()
        rest = (self.y - self.quality[self.unit] - self.bias[self.rater]) ** 2
        squares = np.bincount(self.rater, rest, self.raters)
        freedom = self.rng.chisquare(DEGREES + self.counts)
        self.variance = (DEGREES * self.scale + squares) / freedom
        rate = DEGREES / 2 * float((1 / self.variance).sum()) + 1e-6
        self.scale = self.rng.gamma(self.raters * DEGREES / 2 + 1e-3, 1 / rate)

    def _draw_quality(self) -> None:
        weight, rng = (1 / self.variance)[self.rater], self.rng
        own = np.bincount(self.unit, weight, self.units) + 1 / self.spread
        sums = np.bincount(self.unit, weight * (self.y - self.bias[self.rater]), self.units)
        mean = (sums + self.middle / self.spread) / own
        self.quality = mean + rng.standard_normal(self.units) / np.sqrt(own)
        self.middle = rng.normal(self.quality.mean(), np.sqrt(self.spread / self.units))
        around = float(((self.quality - self.middle) ** 2).sum())
        self.spread = _variance(rng, around, self.units)

    def _draw_bias(self) -> None:
        weight = 1 / self.variance
        own = self.counts * weight + 1 / self.spread_bias
        sums = np.bincount(self.rater, self.y - self.quality[self.unit], self.raters)
        bias = weight * sums / own + self.rng.standard_normal(self.raters) / np.sqrt(own)
        self.bias = np.asarray(bias - bias.mean(), dtype=np.float64)
        self.spread_bias = _variance(self.rng, float((self.bias**2).sum()), self.raters)


def _summarise_samples(samples: dict[str, list[Floats]], level: float) -> Severity:
    ends = [(1 - level) / 2, (1 + level) / 2]
    draws = {name: np.array(each) for name, each in samples.items()}
    bias, noise = (np.quantile(draws[name], ends, axis=0) for name in ("bias", "noise"))
    weight = draws["weight"].mean(axis=0)
    return Severity(
        bias=draws["bias"].mean(axis=0),
        bias_low=bias[0],
        bias_high=bias[1],
        noise=draws["noise"].mean(axis=0),
        noise_low=noise[0],
        noise_high=noise[1],
        weight=weight / weight.mean(),
        quality=draws["quality"].mean(axis=0),
        level=level,
    )


def _variance(rng: np.random.Generator, squares: float, n: int) -> float:
    """A draw of a variance from its sum of squares, with a weak prior of 1 degree."""
    return float((squares + 1e-4) / rng.chisquare(n + 1))
