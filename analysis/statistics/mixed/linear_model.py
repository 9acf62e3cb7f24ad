"""The Gaussian mixed model by REML, with those random effects that the design allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from analysis.ratings.large_tables import LARGE
from analysis.statistics.mixed.crossed import Crossed, Side, are_one, crossing, least
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.reml import REST, RemlFit, reml
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, Nested, Sums, sums

QUICK = 2e10  # floating-point operations of one evaluation: a fit takes about 100 of them
PATIENT = 3e11


@dataclass(frozen=True)
class Effects:
    """Random effects by name, each as codes (n,) from 0 without gaps, and why others are not there.

    Levels of those ``inside`` (rater:condition, stimulus) occur in one condition only; those
    ``across`` are rater and item. ``left_out`` gives the reason by name, in words; ``too_large``
    are those that the design would tell, but whose fit is too much work. ``by_moments``: there are
    too many ratings for REML, and `large_fit` has all effects.
    """

    inside: Mapping[str, Codes]
    across: Mapping[str, Codes]
    left_out: Mapping[str, str] = field(default_factory=dict)
    too_large: tuple[str, ...] = ()
    by_moments: bool = False

    @property
    def codes(self) -> dict[str, Codes]:
        """All effects, in the order rater, rater:condition, item, stimulus."""
        every = {**self.inside, **self.across}
        return {name: every[name] for name in ORDER if name in every}

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence on each effect that is not there."""
        return tuple(f"{name} was left out: {why}" for name, why in self.left_out.items())

    def without(self, *names: str, why: str) -> Effects:
        """The same without some effects, which are too much work."""
        dropped = {name: why for name in names if name in self.inside or name in self.across}
        return Effects(
            {name: codes for name, codes in self.inside.items() if name not in dropped},
            {name: codes for name, codes in self.across.items() if name not in dropped},
            {**self.left_out, **dropped},
            (*self.too_large, *dropped),
        )

    @property
    def of_texts(self) -> bool:
        """Whether there are effects of texts or clips."""
        return not {ITEM, STIMULUS}.isdisjoint(self.codes)


def effects_of(rater: Codes, condition: Codes, item: Codes, stimulus: Codes) -> Effects:
    """The effects that ratings with these codes (n,) can tell from one another.

    An effect is left out where it never changes, never repeats, or is the same as another.
    """
    n = len(rater)
    inside = {
        RATER_CONDITION: crossing(rater, condition),
        STIMULUS: stimulus,
    }
    across = {RATER: rater, ITEM: item}
    left_out = refused_by(_counts(rater, condition))
    every = {**inside, **across}
    for name, codes in every.items():
        if not (name == RATER or left_out.get(name)) and int(codes.max(initial=0)) + 1 in (1, n):
            left_out[name] = "it never changes" if codes.max(initial=0) == 0 else "it never repeats"
    if ITEM not in left_out and int(crossing(stimulus, item).max()) == int(item.max()):
        left_out[ITEM] = "every item has one stimulus"
    for text, of_rater in product((ITEM, STIMULUS), (RATER, RATER_CONDITION)):
        known = {name: codes for name, codes in every.items() if not left_out.get(name)}
        if {text, of_rater} <= set(known) and are_one(known[text], known[of_rater]):
            left_out[text] = f"it is the same as {of_rater}"
    left_out = {name: why for name, why in left_out.items() if why}
    return Effects(
        {name: codes for name, codes in inside.items() if name not in left_out},
        {name: codes for name, codes in across.items() if name not in left_out},
        left_out,
    )


def affordable(effects: Effects, condition: Codes, most: float = QUICK) -> Effects:
    """The effects without stimulus, or without stimulus and item, where their fit is too much work.

    ``most`` is what `work` may be. Without them intervals are too narrow. Of more than `LARGE`
    ratings all stay, to be fitted by moments.
    """
    if len(condition) > LARGE and RATER in effects.codes and effects.of_texts:
        return replace(effects, by_moments=True)
    why = "this design is too large" + " for a quick fit" * (most <= QUICK)
    for dropped in ((), (STIMULUS,), (STIMULUS, ITEM)):
        fewer = effects.without(*dropped, why=why)
        if work(fewer, condition) <= most:
            return fewer
    return fewer


def work(effects: Effects, condition: Codes) -> float:
    """Floating-point operations of one evaluation of the likelihood of `crossed.Crossed`, roughly.

    Effects of rater and rater by condition alone have a closed form: 0.
    """
    if not effects.of_texts:
        return 0.0
    return least(sides_of(effects.codes), condition).work


def _counts(rater: Codes, condition: Codes) -> Floats:
    shape = (int(rater.max()) + 1, int(condition.max()) + 1)
    place = np.ravel_multi_index((rater, condition), shape)
    return np.bincount(place, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


MIXED = "mixed model"


class ComponentVariance:
    """Variances of means and differences by components fitted once to n ratings.

    ``y`` scores, ``condition``, ``rater`` and ``item`` codes (n,) from 0. An item within a
    condition is taken as one clip. Raises NotEstimable with reason and remedy.
    """

    def __init__(self, y: Floats, condition: Codes, rater: Codes, item: Codes) -> None:
        rater, item = (np.unique(x, return_inverse=True)[1].astype(np.int64) for x in (rater, item))
        effects = effects_of(rater, condition, item, crossing(item, condition))
        effects = affordable(effects, condition, QUICK)
        if effects.by_moments:
            raise NotEstimable("there are too many ratings for REML", "use the part models")
        if effects.of_texts:
            design = np.eye(int(condition.max()) + 1)[condition]
            fit = crossed_reml(y, design, condition, effects.codes)
        else:
            fit = nested_reml(sums(y, rater, condition))
        self._fit: RemlFit = fit
        known: Mapping[str, Codes] = {**effects.codes, RATER: rater}
        self._effects = {
            name: known[name] for name in fit.sds if name != "residual" and fit.sds[name] > 0
        }

    @property
    def name(self) -> str:
        """The interval's name, with the effects that were found."""
        effects = ", ".join(self._effects) or "no random effect"
        return f"{MIXED} ({effects}): REML variances, Satterthwaite t"

    def se_and_degrees(self, weights: Floats) -> tuple[float, float]:
        """Standard error and degrees of freedom of sum of weights (n,) times scores."""
        sds = self._fit.sds
        parts = [
            sds[name] ** 2 * float((np.bincount(codes, weights=weights) ** 2).sum())
            for name, codes in self._effects.items()
        ]
        variance = sum(parts) + sds["residual"] ** 2 * float((weights**2).sum())
        gradient = np.array([*parts, variance])
        spread = float(gradient @ self._fit.parameter_covariance @ gradient)
        return variance**0.5, 2.0 * variance**2 / spread


RATER, RATER_CONDITION, ITEM, STIMULUS = "rater", "rater:condition", "item", "stimulus"
ORDER = (RATER, RATER_CONDITION, ITEM, STIMULUS)


def nested_reml(sums: Sums) -> RemlFit:
    """REML of score = mean[cell] + rater + rater:condition + error (ATT's model, M1).

    An effect that the design cannot tell from another is left out, and ``notes`` says so. Raises
    NotEstimable for a single rater, or where nothing varies.
    """
    if len(sums.count) < 2:
        raise NotEstimable(
            "there is one rater, so that the variance between raters is unknown",
            "collect ratings from more raters",
        )
    refused = refused_effects(sums)
    cells = int((sums.by_condition(sums.count) > 0).sum())
    return reml(
        Nested(sums).at,
        sums.centre,
        sums.n,
        {RATER: len(sums.count), RATER_CONDITION: cells},
        free=[not refused[name] for name in (RATER, RATER_CONDITION)],
        notes=tuple(f"{name} was left out: {why}" for name, why in refused.items() if why),
    )


def crossed_reml(
    y: Floats, design: Floats, condition: Codes, effects: Mapping[str, Codes]
) -> RemlFit:
    """REML of y (N,) = design (N, C) beta + effects of raters and of texts (M2).

    ``condition`` (N,) codes; ``effects`` names the codes (N,) of each random effect, from 0 without
    gaps: `RATER` and `ITEM`, and, nested in them and inside conditions, `RATER_CONDITION` and
    `STIMULUS`. Every effect must repeat: one with as many levels as ratings raises NotEstimable,
    as do a design without full column rank and designs that do not fit into memory.
    """
    for name, codes in effects.items():
        if codes.max(initial=0) == 0:
            raise NotEstimable(
                f"there is one {name}, so that the variance between them is unknown",
                f"collect ratings with more than one, or leave {name} out",
            )
        if len(np.unique(codes)) == len(y):
            raise NotEstimable(f"every rating has its own {name}", f"leave {name} out")
    plan = least(sides_of(effects), condition)
    if not np.isfinite(plan.work):
        raise NotEstimable("so many raters and texts do not fit into memory", "leave texts out")
    model = Crossed(y, design, condition, sides_of(effects), plan)
    if model.rank < design.shape[1]:
        raise NotEstimable("some means are combinations of others", "compare fewer things")
    levels = {name: int(effects[name].max()) + 1 for name in ORDER if name in effects}
    rest = _NEAR if plan.work > _MUCH else REST
    return reml(model.at, model.centre, len(y), levels, rest=rest)


_MUCH = 1e9  # operations of one evaluation of the likelihood
_NEAR = 0.001  # a last step of that size leaves an error of some 1e-5 in the log of a ratio


def sides_of(effects: Mapping[str, Codes]) -> list[Side]:
    """The sides that have effects: raters, then texts."""
    pairs = ((RATER, RATER_CONDITION), (ITEM, STIMULUS))
    sides = [(effects.get(coarse), effects.get(fine)) for coarse, fine in pairs]
    return [Side(*pair) for pair in sides if any(codes is not None for codes in pair)]


def refused_effects(sums: Sums) -> dict[str, str]:
    """Why rater and rater:condition cannot be estimated from ratings; empty where they can."""
    return refused_by(sums.by_condition(sums.count))


def refused_by(count: Floats) -> dict[str, str]:
    """As `refused_effects`, from the numbers of ratings by rater and condition (R, S)."""
    return {RATER: _rater_refused(count), RATER_CONDITION: _interaction_refused(count)}


def _rater_refused(count: Floats) -> str:
    if (count.sum(axis=1) <= 1).all():
        return "no rater rated twice, so that it cannot be told from the error"
    return ""


def _interaction_refused(count: Floats) -> str:
    if (count <= 1).all():
        return "no rater rated a condition twice, so that it cannot be told from the error"
    if ((count > 0).sum(axis=1) <= 1).all() and not _rater_refused(count):
        return "no rater rated two conditions, so that it cannot be told from the rater"
    return ""
