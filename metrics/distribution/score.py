"""The score of a set between recordings and noise, by feature, factor and all in all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from metrics.distribution.feature import FACTORS
from metrics.distribution.spread import Spread, pooled

GROUPS = 10  # of clips, left out in turn for the interval
LEAST_CLIPS = 3
NORMAL = 1.959964  # of 95 %
Groups = Sequence[Sequence[Spread]]  # a set's spreads, clips dealt out to groups
Sets = Mapping[str, Spread]  # reference or noise sets by name, of one feature


@dataclass(frozen=True)
class FeatureScore:
    """A feature's score, 0 to 100, and which recordings and which noise are nearest."""

    value: float
    reference: str
    noise: str
    reference_distance: float
    noise_distance: float


@dataclass(frozen=True)
class DistributionScore:
    """Mean over factors, each the mean over its features, with an interval over clips (95 %)."""

    value: float | None
    low: float | None
    high: float | None
    factors: Mapping[str, float]
    features: Mapping[str, FeatureScore]
    clips: int
    warnings: Sequence[str] = field(default_factory=tuple)


def feature_score(ours: Spread, references: Sets, noises: Sets) -> FeatureScore:
    """100 N / (N + R): N is how far the nearest noise is, R how far the nearest recordings are.

    NaN where both are 0. Source: Minixhofer et al. (2025), TTSDS2, and its package's code.
    """
    to_reference = {name: ours.apart(other) for name, other in references.items()}  # type: ignore[arg-type]
    to_noise = {name: ours.apart(other) for name, other in noises.items()}  # type: ignore[arg-type]
    reference, noise = (
        min(to_reference, key=to_reference.__getitem__),
        min(to_noise, key=to_noise.__getitem__),
    )
    near, far = to_reference[reference], to_noise[noise]
    value = 100 * far / (near + far) if near + far else math.nan
    return FeatureScore(value, reference, noise, near, far)


def distribution_score(
    ours: Mapping[str, Groups],
    references: Mapping[str, Sets],
    noises: Mapping[str, Sets],
    factor_of: Mapping[str, str],
    clips: int,
) -> DistributionScore:
    """The score of a set of clips by each feature that all three kinds of sets have.

    ``ours``: by feature, what is kept of the clips of each of up to ten groups. The interval
    leaves out each group in turn; references and noise count as given.
    """
    whole = {name: pooled(parts(groups)) for name, groups in ours.items()}
    features = scored(whole, references, noises)
    factors = factors_of(features, factor_of)
    warnings = warned(whole, features)
    if clips < LEAST_CLIPS or not factors:
        warnings.append(
            f"{clips} clips: {LEAST_CLIPS} are needed" if factors else "nothing to compare"
        )
        return DistributionScore(None, None, None, factors, features, clips, warnings)
    value = float(np.mean(list(factors.values())))
    left = []
    for out in [n for n in range(GROUPS) if any(each[n] for each in ours.values())]:
        others = {name: pooled(parts(groups, out)) for name, groups in ours.items()}
        without = factors_of(scored(others, references, noises), factor_of)
        if set(without) == set(factors):
            left.append(float(np.mean(list(without.values()))))
    if len(left) < LEAST_CLIPS:
        return DistributionScore(value, None, None, factors, features, clips, warnings)
    margin = NORMAL * math.sqrt((len(left) - 1) * float(np.var(left)))
    low, high = max(value - margin, 0.0), min(value + margin, 100.0)
    return DistributionScore(value, low, high, factors, features, clips, warnings)


def parts(groups: Groups, out: int = -1) -> list[Spread]:
    """What is kept of all groups but one."""
    return [part for n, group in enumerate(groups) if n != out for part in group]


def scored(
    ours: Mapping[str, Spread | None], references: Mapping[str, Sets], noises: Mapping[str, Sets]
) -> dict[str, FeatureScore]:
    """The score of each feature that our set, a reference and a noise have."""
    found = {
        name: feature_score(spread, references[name], noises[name])
        for name, spread in ours.items()
        if spread is not None and references.get(name) and noises.get(name)
    }
    return {name: each for name, each in found.items() if math.isfinite(each.value)}


def factors_of(
    features: Mapping[str, FeatureScore], factor_of: Mapping[str, str]
) -> dict[str, float]:
    """Each factor's mean over its features, in the order of `FACTORS`."""
    named = {
        factor: [each.value for name, each in features.items() if factor_of[name] == factor]
        for factor in FACTORS
    }
    return {factor: float(np.mean(values)) for factor, values in named.items() if values}


def warned(ours: Mapping[str, Spread | None], features: Mapping[str, FeatureScore]) -> list[str]:
    """What makes the score weak: features that are missing, covariances of too few vectors."""
    missing = [name for name in ours if name not in features]
    found = [f"no score by {', '.join(missing)}"] if missing else []
    for name, spread in ours.items():
        wanted = 2 * spread.size if spread and spread.size > 1 else 0
        if spread and spread.count < wanted:
            found.append(f"{name}: {spread.count} vectors, {wanted} or more are needed")
    return found
