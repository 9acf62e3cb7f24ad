"""Which random effects a design allows beside its conditions, and how much work their fit is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from analysis.statistics.mixed import linear_model
from analysis.statistics.mixed.crossed import crossing, least
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats

QUICK = 2e10  # floating-point operations of one evaluation: a fit takes about 100 of them
PATIENT = 3e11


@dataclass(frozen=True)
class Effects:
    """Random effects by name, each as codes (n,) from 0 without gaps, and why others are not there.

    Levels of those ``inside`` (rater:condition, stimulus) occur in one condition only; those
    ``across`` are rater and item. ``left_out`` gives the reason by name, in words; ``too_large``
    are those that the design would tell, but whose fit is too much work.
    """

    inside: Mapping[str, Codes]
    across: Mapping[str, Codes]
    left_out: Mapping[str, str] = field(default_factory=dict)
    too_large: tuple[str, ...] = ()

    @property
    def codes(self) -> dict[str, Codes]:
        """All effects, in the order rater, rater:condition, item, stimulus."""
        every = {**self.inside, **self.across}
        return {name: every[name] for name in linear_model.ORDER if name in every}

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence on each effect that is not there."""
        return tuple(f"{name} was left out: {why}" for name, why in self.left_out.items())

    def without(self, *names: str, why: str) -> Effects:
        """The same without some effects, which are too much work."""
        gone = {name: why for name in names if name in self.inside or name in self.across}
        return Effects(
            {name: codes for name, codes in self.inside.items() if name not in gone},
            {name: codes for name, codes in self.across.items() if name not in gone},
            {**self.left_out, **gone},
            (*self.too_large, *gone),
        )

    @property
    def of_texts(self) -> bool:
        """Whether there are effects of texts or clips."""
        return not {linear_model.ITEM, linear_model.STIMULUS}.isdisjoint(self.codes)


def effects_of(rater: Codes, condition: Codes, item: Codes, stimulus: Codes) -> Effects:
    """The effects that ratings with these codes (n,) can tell from one another.

    An effect is left out where it never changes, never repeats, or is the same as another.
    """
    n = len(rater)
    inside = {
        linear_model.RATER_CONDITION: crossing(rater, condition),
        linear_model.STIMULUS: stimulus,
    }
    across = {linear_model.RATER: rater, linear_model.ITEM: item}
    left_out = linear_model.refused_by(_counts(rater, condition))
    for name, codes in {**inside, **across}.items():
        if name != linear_model.RATER and int(codes.max(initial=0)) + 1 in (1, n):
            left_out[name] = "it never changes" if codes.max(initial=0) == 0 else "it never repeats"
    if linear_model.ITEM not in left_out and int(crossing(item, stimulus).max()) == int(item.max()):
        left_out[linear_model.ITEM] = "every item has one stimulus"
    left_out = {name: why for name, why in left_out.items() if why}
    return Effects(
        {name: codes for name, codes in inside.items() if name not in left_out},
        {name: codes for name, codes in across.items() if name not in left_out},
        left_out,
    )


def affordable(effects: Effects, condition: Codes, most: float = QUICK) -> Effects:
    """The effects without stimulus, or without stimulus and item, where their fit is too much work.

    ``most`` is what `work` may be. Without them intervals are too narrow.
    """
    why = "this design is too large" + " for a quick fit" * (most <= QUICK)
    for gone in ((), (linear_model.STIMULUS,), (linear_model.STIMULUS, linear_model.ITEM)):
        fewer = effects.without(*gone, why=why)
        if work(fewer, condition) <= most:
            return fewer
    return fewer


def work(effects: Effects, condition: Codes) -> float:
    """Floating-point operations of one evaluation of the likelihood of `crossed.Crossed`, roughly.

    Effects of rater and rater by condition alone have a closed form: 0.
    """
    if not effects.of_texts:
        return 0.0
    return least(linear_model.sides_of(effects.codes), condition).work


def _counts(rater: Codes, condition: Codes) -> Floats:
    shape = (int(rater.max()) + 1, int(condition.max()) + 1)
    place = np.ravel_multi_index((rater, condition), shape)
    return np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
