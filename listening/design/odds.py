"""Odds of passing checks and traps by guessing: what a rater who does not listen gets past."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb, inf, prod

from listening.design.traps import TrapKind, TrapPlan, passing_labels
from listening.methods.base import Scale

Scales = Scale | Mapping[str, Scale]  # of the only criterion, or of each in their order


def at_least(right: int, trials: int, chance: float) -> float:
    """Probability of `right` or more of `trials` when each is right with this chance."""
    if not 0 <= chance <= 1 or trials < 0:
        raise ValueError(f"{trials} trials with a chance of {chance:g} cannot be")
    terms = (
        comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
        for k in range(max(right, 0), trials + 1)
    )
    return min(1.0, sum(terms))


def in_attempts(once: float, attempts: int) -> float:
    """Probability of passing at least one of so many attempts, each drawn anew."""
    return 1.0 - float((1.0 - once) ** attempts)


@dataclass(frozen=True)
class TrapOdds:
    """How often three raters who hear nothing pass the traps of one block.

    `guessing` takes any label with the same chance; `knowing` takes only labels that some trap
    expects; `same` gives one answer all the time, the one that passes most.
    """

    guessing: float
    knowing: float
    same: float


def trap_odds(plan: TrapPlan, scales: Scales, *, sets: int = 1) -> TrapOdds:
    """The odds for a block of so many sets, judged as `validity.judge_block` judges it.

    Stands for the labels that the plan expects; stimuli with labels of their own are not known
    here. Raters of several blocks: `at_least(blocks to pass, blocks, odds)`.
    """
    accepted = {kind: _accepted(kind, scales) for kind in plan.kinds}
    likely: dict[str, set[str]] = {}
    for kind, labels in accepted.items():
        likely.setdefault(kind.criterion, set()).update(labels)

    def passing(chances: Mapping[TrapKind, float]) -> float:
        return prod(at_least(k.pass_at_least * sets, k.count * sets, c) for k, c in chances.items())

    choices = {kind: _choices(_scale_of(kind, scales)) for kind in plan.kinds}
    few = {kind: min(choices[kind], len(likely[kind.criterion]) or inf) for kind in plan.kinds}
    few |= {kind: inf for kind in plan.kinds if choices[kind] == inf}  # nobody guesses a text
    return TrapOdds(
        guessing=passing({kind: len(accepted[kind]) / choices[kind] for kind in plan.kinds}),
        knowing=passing({kind: len(accepted[kind]) / few[kind] for kind in plan.kinds}),
        same=prod(_same(accepted, name, choices) for name in likely),
    )


def _scale_of(kind: TrapKind, scales: Scales) -> Scale:
    if isinstance(scales, Scale):
        return scales
    first = next(iter(scales))
    return scales[kind.criterion or first]


def _accepted(kind: TrapKind, scales: Scales) -> frozenset[str]:
    return frozenset(passing_labels(_scale_of(kind, scales), kind.expected, kind.tolerance))


def _choices(scale: Scale) -> float:
    """How many different answers the scale takes."""
    if scale.widget == "text":
        return inf
    if scale.widget == "many":
        return 2.0 ** len(scale.labels) - 1
    if scale.span is not None:
        low, high, step = scale.span
        return float(round((high - low) / step) + 1)
    if not scale.labels:
        raise ValueError("This scale has no labels, so nothing can be said about guessing on it.")
    return float(len(scale.labels))


def _same(
    accepted: Mapping[TrapKind, frozenset[str]], criterion: str, choices: Mapping[TrapKind, float]
) -> float:
    """1 when one label passes every trap of the criterion, else 0."""
    asked = [k for k in accepted if k.criterion == criterion and k.pass_at_least > 0]
    if any(choices[kind] == inf for kind in asked):
        return 0.0
    common = [accepted[kind] for kind in asked]
    return 1.0 if not common or frozenset.intersection(*common) else 0.0
