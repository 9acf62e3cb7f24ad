"""Which blocks are valid under a named, versioned rule; what each verdict rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from listening.design.traps import TrapPlan

RULE = "traps"
VERSION = "1"


@dataclass(frozen=True)
class Verdict:
    """Whether a block may count, under which rule, and why not."""

    valid: bool
    reason: str = ""
    rule: str = RULE
    version: str = VERSION


def judge_block(plan: TrapPlan, outcomes: Iterable[tuple[str, bool]]) -> Verdict:
    """A block is valid when each kind of trap was passed as often as the plan asks.

    `outcomes` are (kind, passed) of the block's answered traps. A block that holds several sets
    must pass for each of them; the Audio Turing Test's rule is flawed 1 of 1 and human 1 of 2.
    """
    seen = list(outcomes)
    passed = Counter(kind for kind, ok in seen if ok)
    shown = Counter(kind for kind, _ in seen)
    for kind in plan.kinds:
        sets = max(1, shown[kind.kind] // kind.count)
        needed = kind.pass_at_least * sets
        if passed[kind.kind] < needed:
            got, of = passed[kind.kind], shown[kind.kind]
            return Verdict(False, f"passed {got} of {of} “{kind.kind}” traps, {needed} needed")
    return Verdict(True)
