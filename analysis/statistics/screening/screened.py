"""A table judged under several rules: what is kept for estimates, and what each rule costs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
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
        keep = self.keeps(rules)
        return self.table if keep.all() else self.table[keep]

    def keeps(self, rules: Sequence[Rule]) -> NDArray[np.bool_]:
        """Which rows (n,) `kept` has."""
        keep = self._rated.copy()
        for rule in {*STRUCTURAL, *rules}:
            keep &= ~self._left_out[rule]
        return keep

    def mark(self, rules: Sequence[Rule]) -> bytes:
        """What tells the rows of `kept` apart from those that other rules keep."""
        return hashlib.sha256(np.packbits(self.keeps(rules)).tobytes()).digest()

    @cached_property
    def _rated(self) -> NDArray[np.bool_]:
        return (self.table["trap"] == "").to_numpy(dtype=bool)

    @cached_property
    def _left_out(self) -> dict[Rule, NDArray[np.bool_]]:
        none = np.broadcast_to(np.zeros(1, dtype=bool), len(self.table))
        return {
            rule: none if why.strides == (0,) else np.asarray(why != "", dtype=bool)
            for rule, why in self.reasons.items()
        }

    def excluded(self) -> pd.DataFrame:
        """The rows that no estimate has, traps apart; ``left_out_by`` names the rules."""
        why = np.full(len(self.table), "", dtype=object)
        for rule, hit in self.hits(self.reasons).items():
            why[hit] += f" {rule.name}"
        out = why != ""
        rows: pd.DataFrame = self.table[out]
        return rows.assign(**{LEFT_OUT_BY: np.char.strip(why[out].astype(str))})

    def hits(self, rules: Iterable[Rule]) -> dict[Rule, NDArray[np.bool_]]:
        """For each of these rules, which rows (n,) it leaves out, traps apart."""
        return {rule: self._left_out[rule] & self._rated for rule in rules}

    def counts(self) -> list[Exclusions]:
        """What each rule leaves out, in the order of the rules."""
        hits = self.hits(self.reasons)
        touched = np.zeros(len(self.table), dtype=np.int16)
        before = {}
        for rule, hit in hits.items():
            before[rule] = int((hit & (touched == 0)).sum())
            touched += hit
        return [
            {
                "rule": rule.name,
                "version": rule.version,
                "what": rule.describe(),
                "ratings": int(hit.sum()),
                "ratings_told": before[rule],
                "ratings_only_here": int((hit & (touched == 1)).sum()),
                "raters": int(self.table["rater"][hit].nunique()),
                "blocks": len(self.table[hit].drop_duplicates(["task", "session", "block"])),
            }
            for rule, hit in hits.items()
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
    counts = _spare(table, reasons, spared)
    return Screened(table, {rule: _in_few_bytes(why) for rule, why in reasons.items()}, counts)


def _in_few_bytes(why: Reasons) -> Reasons:
    """The reasons (n,); where all are empty, one that stands for all and cannot be written to."""
    if (why != "").any():
        return why
    return np.broadcast_to(np.array([""], dtype=object), len(why))


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
