"""A table judged under several rules: what is kept for estimates, and what each rule costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING, TypedDict

import numpy as np
from numpy.typing import NDArray

from analysis.ratings.cells import LEFT_OUT_BY, TRAP_ROW
from analysis.statistics.screening.rule import Reasons, Rule
from analysis.statistics.screening.single_ratings import (
    Duplicate,
    MissingScore,
    NotCounted,
    Recorded,
    Repeat,
    Review,
    SessionStatus,
)
from analysis.statistics.screening.trap_rules import AttTraps, TaskTraps

if TYPE_CHECKING:
    import pandas as pd

    from listening.selectors import PlannedTrap

STRUCTURAL: tuple[Rule, ...] = (MissingScore(), Duplicate(), Repeat())
DEFAULT: tuple[Rule, ...] = (SessionStatus(), AttTraps(), NotCounted())


Spared = tuple[str, str]  # the key of a rule, and a rater of whom it leaves out nothing


class Exclusions(TypedDict):
    """The ratings, raters and blocks that a rule touches.

    ``ratings_told`` are those that no rule before it leaves out (their sum is what is left out in
    all), ``ratings_only_here`` those that no other rule leaves out.
    """

    rule: str
    version: str
    what: str
    ratings: int
    ratings_told: int
    ratings_only_here: int
    raters: int
    blocks: int


@dataclass(frozen=True)
class Screened:
    """A table with, for each rule, the reason why each row is left out (empty where kept)."""

    table: pd.DataFrame
    reasons: Mapping[Rule, Reasons]
    spared: Mapping[Spared, int] = field(default_factory=dict)  # ratings that came back so

    def kept(self, rules: Sequence[Rule]) -> pd.DataFrame:
        """The rows for estimates: no trap, and left out by no structural rule nor by these."""
        keep = (self.table["trap"] == "").to_numpy(dtype=bool)
        for rule in {*STRUCTURAL, *rules}:
            keep = keep & (self.reasons[rule] == "")
        return self.table[keep]

    def excluded(self) -> pd.DataFrame:
        """The rows that no estimate has, traps apart; ``left_out_by`` names the rules."""
        why = np.full(len(self.table), "", dtype=object)
        for rule, hit in self.hits(self.reasons).items():
            why[hit] += f" {rule.name}"
        table = self.table.assign(**{LEFT_OUT_BY: np.char.strip(why.astype(str))})
        return table[table[LEFT_OUT_BY] != ""]

    def hits(self, rules: Iterable[Rule]) -> dict[Rule, NDArray[np.bool_]]:
        """For each of these rules, which rows (n,) it leaves out, traps apart."""
        rated = (self.table["trap"] == "").to_numpy(dtype=bool)
        return {rule: (self.reasons[rule] != "") & rated for rule in rules}

    def counts(self) -> list[Exclusions]:
        """What each rule leaves out, in the order of the rules."""
        hits = self.hits(self.reasons)
        none = np.zeros(len(self.table))
        touched = np.sum(list(hits.values()), axis=0) if hits else none
        before = np.cumsum([none, *hits.values()], axis=0)
        return [
            {
                "rule": rule.name,
                "version": rule.version,
                "what": rule.describe(),
                "ratings": int(hit.sum()),
                "ratings_told": int((hit & (before[place] == 0)).sum()),
                "ratings_only_here": int((hit & (touched == 1)).sum()),
                "raters": int(self.table["rater"][hit].nunique()),
                "blocks": len(self.table[hit].drop_duplicates(["task", "session", "block"])),
            }
            for place, (rule, hit) in enumerate(hits.items())
        ]


def default_rules(table: pd.DataFrame, rules: Sequence[Rule] = DEFAULT) -> tuple[Rule, ...]:
    """The rules that hold unless others are asked for: these, and experts' verdicts if it has some.

    Without verdicts in the column ``review`` they are the very rules given. A table with the column
    ``left_out_by`` has been judged: what that says is left out, and nothing else.
    """
    if LEFT_OUT_BY in table:
        return recorded_rules(table)
    if Review().lacking(table) or any(rule.key == Review.key for rule in rules):
        return tuple(rules)
    return (*rules, Review())


def recorded_rules(table: pd.DataFrame) -> tuple[Rule, ...]:
    """Return a rule for each that the table's column ``left_out_by`` names, in their order.

    Structural rules, which always hold, are not among them.
    """
    structural = {rule.key for rule in STRUCTURAL}
    order: TopologicalSorter[str] = TopologicalSorter()
    for text in sorted(map(str, table[LEFT_OUT_BY].unique())):
        names = [name for name in text.split() if name != TRAP_ROW]
        for before, name in pairwise([*names[:1], *names]):
            order.add(name, *[before] * (before != name))
    every = order.static_order()
    return tuple(Recorded(name) for name in every if name.partition(":")[0] not in structural)


def study_rules(plans: Mapping[str, Sequence[PlannedTrap]]) -> tuple[Rule, ...]:
    """The default rules of a study: its own trap plans by task."""
    needed = tuple(
        (task, tuple((trap["kind"], trap["pass_at_least"], trap["count"]) for trap in traps))
        for task, traps in plans.items()
        if traps
    )
    own: tuple[Rule, ...] = (TaskTraps(needed),) if needed else ()
    return (SessionStatus(), *own, NotCounted())


def screen(
    table: pd.DataFrame, rules: Sequence[Rule] | None = None, spared: Sequence[Spared] = ()
) -> Screened:
    """The table judged under the structural rules and the given ones (None: `default_rules`).

    A rule whose key is ``spared`` for a rater leaves out nothing of that rater: somebody undid the
    exclusion. Structural rules spare nobody.
    """
    rules = default_rules(table) if rules is None else rules
    every = [*STRUCTURAL, *(rule for rule in rules if rule not in STRUCTURAL)]
    reasons = {rule: rule.reasons(table) for rule in every}
    return Screened(table, reasons, _spare(table, reasons, spared))


def _spare(
    table: pd.DataFrame, reasons: Mapping[Rule, Reasons], spared: Sequence[Spared]
) -> dict[Spared, int]:
    """Empties the reasons of who is spared, and counts the ratings (no traps) that it concerns."""
    rated = (table["trap"] == "").to_numpy(dtype=bool)
    counts = dict.fromkeys(spared, 0)
    for key, rater in spared:
        own = (table["rater"] == rater).to_numpy(dtype=bool)
        for rule, why in reasons.items():
            if rule.key == key and rule not in STRUCTURAL:
                hit = own & (why != "")
                counts[key, rater] += int((hit & rated).sum())
                why[hit] = ""
    return counts
