"""The stop rule of a study (`[stop]`): at which looks it is applied, and what then happens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

PLANNED_LOOKS, HALF_WIDTH, BUDGET = RULES = ("planned_looks", "half_width", "budget")
CLOSE, ASK = ACTS = ("close", "ask")
REFERENCE, SYSTEMS = COMPARED = ("reference", "systems")
FEWEST_LOOKS, MOST_LOOKS = 2, 20
FIELDS_OF_RULES = {  # fields of [stop] that belong to some of its rules
    "looks": (PLANNED_LOOKS, HALF_WIDTH),
    "difference": (PLANNED_LOOKS,),
    "futility": (PLANNED_LOOKS,),
    "compare": (PLANNED_LOOKS,),
    "criteria": (PLANNED_LOOKS, HALF_WIDTH),
    "target": (HALF_WIDTH,),
    "amount": (BUDGET,),
}
USUAL_LOOKS = {PLANNED_LOOKS: 5, HALF_WIDTH: 10}


@dataclass(frozen=True)
class StopRule:
    """A stop rule of a study; ``looks`` are shares of the planned sessions, the last 1."""

    rule: str
    act: str = CLOSE
    looks: tuple[float, ...] = ()
    difference: float | None = None  # in scores; None: what all raters find with a power of 80 %
    futility: bool = True
    compare: str = ""  # "": with the reference where there is one, else the systems
    criteria: tuple[str, ...] = ()  # those that decide; (): all
    target: float | None = None  # half-width, in scores
    amount: float | None = None  # in the currency of [study.payment]

    @property
    def stops_systems(self) -> bool:
        """Whether a system that is decided may receive no more raters, before the study ends."""
        return self.rule == PLANNED_LOOKS

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> StopRule | None:
        """The rule of a study, of what its row holds; None where it has none."""
        if not stored:
            return None
        looks = stored.get("looks") or USUAL_LOOKS.get(stored["rule"], 0)
        shares = looks if isinstance(looks, (list, tuple)) else even_shares(looks)
        return cls(
            rule=stored["rule"],
            act=stored.get("act", CLOSE),
            looks=tuple(float(share) for share in shares),
            difference=stored.get("difference"),
            futility=stored.get("futility", True),
            compare=stored.get("compare") or "",
            criteria=tuple(stored.get("criteria", ())),
            target=stored.get("target"),
            amount=stored.get("amount"),
        )

    def words(self, planned: int, currency: str = "") -> list[str]:
        """The rule in sentences, for a study with so many planned sessions (0: not planned)."""
        *first, last = (f"{size:,}" for size in self.sizes(planned)) if self.looks else ("0",)
        sizes = f"{', '.join(first)} and {last}" if first else last
        at = f"when {sizes} sessions are complete" if planned else f"at {len(self.looks)} looks"
        futile = " or futile" if self.futility else ""
        when = {
            PLANNED_LOOKS: (
                f"Comparisons are tested {at}. The rule applies when every comparison is "
                f"significant{futile}."
            ),
            HALF_WIDTH: (
                f"The rule applies when the 95% CI of every mean is at most ± {self.target or 0:g}."
            ),
            BUDGET: (
                "The rule applies when another session would exceed the budget of "
                f"{self.amount or 0:,.2f} {currency}."
            ),
        }[self.rule]
        act = "The study then closes." if self.act == CLOSE else "You then decide."
        alone = (
            "Before that, a system whose comparisons are all decided receives no more raters"
            f"{'' if self.act == CLOSE else ' if you agree'}. This needs raters who hear one "
            "system at a time."
        )
        return [when, act, *([alone] if self.stops_systems else [])]

    def sizes(self, planned: int) -> list[int]:
        """The numbers of finished sessions at which each look is due, of so many planned."""
        return [ceil(share * planned - 1e-9) for share in self.looks]

    def due(self, finished: int, planned: int) -> int:
        """The number of the latest look that is due, from 1; 0 where none is yet."""
        return sum(finished >= size for size in self.sizes(planned)) if planned else 0


def takes(rule: str, name: str) -> bool:
    """Whether a rule has a field of this name in [stop]."""
    return rule in FIELDS_OF_RULES.get(name, RULES)


def even_shares(looks: int) -> tuple[float, ...]:
    """So many equal steps to 1."""
    return tuple(k / looks for k in range(1, looks + 1))
