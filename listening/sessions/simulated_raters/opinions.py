"""What a scripted rater thinks: latent qualities, rater effects, and the label that follows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import erf, sqrt
from random import Random

from listening.methods.att import SCORES

# Latent quality: 0 is the middle of a single-clip scale, ±2 are its ends.
ATT_CUTS = (-0.3, 0.3)
REFERENCE_QUALITY = 1.4
ANCHOR_QUALITY = -1.8
TEST_RANGE = (-1.2, 1.0)


@dataclass(frozen=True)
class Spread:
    """Standard deviations of everything that moves an opinion away from a condition's quality."""

    rater: float = 0.35
    rater_condition: float = 0.20
    stimulus: float = 0.25
    noise: float = 0.50

    def single(self, *, stimulus: bool = True) -> float:
        """Of one clip's utility over raters, and over stimuli unless these are held fixed."""
        own = self.stimulus**2 if stimulus else 0.0
        return sqrt(self.rater**2 + self.rater_condition**2 + self.noise**2 + own)

    def difference(self, *, stimulus: bool = True) -> float:
        """Of the difference of two clips' utilities: what a rater adds to both cancels out."""
        own = self.stimulus**2 if stimulus else 0.0
        return sqrt(2 * (self.rater_condition**2 + self.noise**2 + own))


@dataclass(frozen=True)
class KnownClip:
    """What the crowd knows about a clip that it recognises by its address."""

    condition: str
    stimulus: str
    expected: frozenset[str] = frozenset()  # labels that pass, for trap clips
    duration_s: float = 0.0


@dataclass(frozen=True)
class Truth:
    """The qualities from which all opinions are drawn; the same seed gives the same raters."""

    seed: int
    qualities: Mapping[str, float]
    spread: Spread = field(default_factory=Spread)

    def stimulus_effect(self, stimulus: str) -> float:
        return Random(f"{self.seed}/stimulus/{stimulus}").gauss(0, self.spread.stimulus)

    def single_score(
        self, scores: Mapping[str, float], condition: str, stimulus: str | None = None
    ) -> float:
        """Expected score over all raters, of one stimulus or over all that the condition has."""
        effect = 0.0 if stimulus is None else self.stimulus_effect(stimulus)
        sd = self.spread.single(stimulus=stimulus is None)
        return _expected(cuts_of(scores), scores, self.qualities[condition] + effect, sd)

    def difference_score(
        self,
        scores: Mapping[str, float],
        condition: str,
        versus: str,
        stimuli: tuple[str, str] | None = None,
    ) -> float:
        """Expected score of `condition` over `versus`, of two stimuli or over all they have."""
        mean = self.qualities[condition] - self.qualities[versus]
        if stimuli is not None:
            mean += self.stimulus_effect(stimuli[0]) - self.stimulus_effect(stimuli[1])
        return _expected(
            cuts_of(scores), scores, mean, self.spread.difference(stimulus=stimuli is None)
        )


def drawn_qualities(roles: Mapping[str, str], seed: int) -> dict[str, float]:
    """A quality for each condition: references high, anchors low, the others evenly between."""
    fixed = {"reference": REFERENCE_QUALITY, "anchor": ANCHOR_QUALITY, "trap": 0.0}
    tests = sorted(key for key, role in roles.items() if role not in fixed)
    Random(f"{seed}/qualities").shuffle(tests)
    low, high = TEST_RANGE
    step = (high - low) / max(len(tests) - 1, 1)
    middle = len(tests) == 1
    qualities = {key: (low + high) / 2 if middle else low + k * step for k, key in enumerate(tests)}
    qualities |= {key: fixed[role] for key, role in roles.items() if role in fixed}
    return dict(sorted(qualities.items()))


@dataclass(frozen=True)
class Cuts:
    """A scale's labels from low to high, and the utilities at which one gives way to the next."""

    labels: tuple[str, ...]
    cuts: tuple[float, ...]

    def label_at(self, utility: float) -> str:
        return self.labels[bisect_right(self.cuts, utility)]


def cuts_of(labels: Iterable[str]) -> Cuts:
    """Numbers are rounded to the nearest step; Human, Unclear, Machine and others are cut."""
    known = list(labels)
    if set(SCORES) == set(known):
        return Cuts(tuple(sorted(SCORES, key=lambda label: SCORES[label])), ATT_CUTS)
    try:
        numbers = sorted(float(label) for label in known)
    except ValueError:
        count = len(known)
        return Cuts(tuple(known), tuple(3 * k / count - 1.5 for k in range(1, count)))
    by_number = {float(label): label for label in known}
    middle = (numbers[0] + numbers[-1]) / 2
    cuts = tuple((a + b) / 2 - middle for a, b in pairwise(numbers))
    return Cuts(tuple(by_number[n] for n in numbers), cuts)


def _expected(cuts: Cuts, scores: Mapping[str, float], mean: float, sd: float) -> float:
    below = [0.0, *(_normal_cdf((cut - mean) / sd) for cut in cuts.cuts), 1.0]
    shares = [high - low for low, high in pairwise(below)]
    return sum(share * scores[label] for share, label in zip(shares, cuts.labels, strict=True))


def _normal_cdf(z: float) -> float:
    return 0.5 * (1 + erf(z / sqrt(2)))


class Opinions:
    """One scripted rater's answers to clips that it recognises."""

    def __init__(self, truth: Truth, number: int, *, attention: float = 0.97) -> None:
        self.truth = truth
        self.attention = attention  # how often a known answer is given as it should be
        self.own = f"{truth.seed}/rater/{number}"
        self.random = Random(self.own)
        self.leaning = self.random.gauss(0, truth.spread.rater)

    def utility(self, clip: KnownClip) -> float:
        """How good the clip sounded, this time, to this rater."""
        spread = self.truth.spread
        taste = Random(f"{self.own}/{clip.condition}").gauss(0, spread.rater_condition)
        effect = self.truth.stimulus_effect(clip.stimulus)
        quality = self.truth.qualities[clip.condition]
        return quality + self.leaning + taste + effect + self.random.gauss(0, spread.noise)

    def label(self, labels: Sequence[str], clips: Sequence[KnownClip]) -> str:
        """The answer to a trial: where labels go below zero two clips are compared."""
        clip = clips[-1]
        expected = sorted(clip.expected.intersection(labels))
        if expected and self.random.random() < self.attention:
            return self.random.choice(expected)
        cuts = cuts_of(labels)
        if len(clips) > 1 and any(label.startswith("-") for label in labels):
            return cuts.label_at(self.utility(clips[-1]) - self.utility(clips[-2]))
        return cuts.label_at(self.utility(clip))

    def any_label(self, labels: Sequence[str]) -> str:
        """The answer of somebody who does not listen."""
        return self.random.choice(list(labels))
