"""A look of a study's stop rule: what the complete, counted sessions say, and what that decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analysis.formatting import counted
from analysis.ratings.breakdowns import Family, families
from analysis.ratings.estimands import estimand_of
from analysis.ratings.repeats import turn_pairs
from analysis.report.content import pick_cells
from analysis.report.interim import FINISHED
from analysis.report.part import PartInput
from analysis.report.ranking import Ranking, rankings
from analysis.report.stop_words import HALF_WIDTH
from analysis.statistics.pairs.means_of_pairs import means_against
from analysis.statistics.planning.planned_looks import (
    FUTILE,
    SIGNIFICANT,
    Compared,
    Pair,
    verdicts_of,
)
from analysis.statistics.screening.screened import screen

if TYPE_CHECKING:
    from analysis.statistics.options import Options
    from listening.selectors import LookFacts, StopFacts

GO_ON, STOP, END = "go_on", "stop", "end"  # as listening calls the decisions
SYSTEMS = "systems"
Unit = tuple[str, str, str]  # a task's condition (and ""), or both conditions of a pair
LEAST_STEP = 0.01  # of the share of sessions between the last two looks


@dataclass(frozen=True)
class Look:
    """What a look counted and showed, and its decision with a sentence why.

    ``stopped`` are the systems (of pairs: the pairs) that no open comparison needs any more.
    """

    sessions: int
    families: list[dict[str, Any]]
    decision: str
    why: str
    stopped: list[dict[str, str]] = field(default_factory=list)


def counted_input(table: pd.DataFrame, options: Options) -> PartInput:
    """The ratings of complete sessions that no rule leaves out, as parts are given them."""
    complete = table[table["session_status"] == FINISHED].reset_index(drop=True)
    screened = screen(complete, options.rules, options.spared)
    turned, _ = turn_pairs(complete, np.zeros(len(complete), dtype=bool), options.reference)
    kept = screened.kept(options.rules)
    kept = turned.loc[kept.index] if len(kept) else kept
    return PartInput(kept, screened, options)


def look_of(inputs: PartInput, stop: StopFacts, number: int, *, last: bool) -> Look | None:
    """The look of this number; None where exclusions left no more sessions than the look before.

    ``inputs`` hold the complete, counted ratings (`counted_input`). At the ``last`` look all error
    that is left is spent.
    """
    sessions = int(inputs.ratings["session"].nunique())
    before = stop["made"][-1]["share"] if stop["made"] else 0.0
    if sessions / max(stop["planned"], 1) <= before + 1e-9 and not last:
        return None
    share = share_of(sessions, stop, before)
    if stop["rule"] == HALF_WIDTH:
        rows = [_widths(each, stop) for each in compared_families(inputs, stop)]
    else:
        rows = [
            _verdicts(each, inputs, stop, number, share, last)
            for each in compared_families(inputs, stop)
        ]
    decision, why = _decision(rows, stop)
    if last:
        return Look(sessions, rows, END, f"All planned sessions are there. {why}")
    stopped = _newly_stopped(rows, stop) if decision == GO_ON else []
    return Look(sessions, rows, decision, why, stopped)


def _newly_stopped(rows: Sequence[Mapping[str, Any]], stop: StopFacts) -> list[dict[str, str]]:
    """What no comparison of a task that is open needs, and no look before has stopped."""
    if not stop["stops_systems"]:
        return []
    needed: set[Unit] = set()
    compared: dict[Unit, None] = {}
    for row in rows:
        for comparison in row["comparisons"]:
            units = units_of(row["task"], comparison, in_pairs=row["in_pairs"])
            compared |= dict.fromkeys(units)
            if comparison["verdict"] not in (SIGNIFICANT, FUTILE):
                needed |= units
    before = stopped_units(stop["made"])
    return [
        dict(zip(("task", "condition", "versus"), unit, strict=True))
        for unit in sorted(compared)
        if unit not in needed and unit not in before
    ]


def units_of(task: str, comparison: Mapping[str, Any], *, in_pairs: bool) -> frozenset[Unit]:
    """What is recruited for a comparison: both conditions, or the pair where pairs are rated."""
    condition, versus = comparison["condition"], comparison["versus"]
    if in_pairs:
        return frozenset({(task, condition, versus)})
    return frozenset({(task, condition, ""), (task, versus, "")})


def stopped_units(made: Sequence[LookFacts]) -> set[Unit]:
    """What looks have stopped."""
    return {(s["task"], s["condition"], s["versus"]) for look in made for s in look["stopped"]}


def share_of(sessions: int, stop: StopFacts, before: float) -> float:
    """The share of the planned sessions at a look, above that of the look before."""
    return max(sessions / max(stop["planned"], 1), before + LEAST_STEP)


@dataclass(frozen=True)
class ComparedFamily:
    """A family with its comparisons, or with its means where the rule is about their intervals."""

    family: Family
    compared: list[Compared]
    means: list[tuple[str, float | None]]  # a condition (or pair) and the half-width of its mean
    level: float

    def share_of_raters(self, each: Compared, stopped: Set[Unit]) -> float:
        """The raters of a comparison with a stopped system, as a share of those of the most."""
        table, task = self.family.table, self.family.group["task"]
        row = {"condition": each.condition, "versus": each.versus}
        if not units_of(task, row, in_pairs=self.family.in_pairs) & stopped:
            return 1.0
        if self.family.in_pairs:
            sides = np.sort(table[["condition", "versus_condition"]].to_numpy(dtype=str), axis=1)
            units, wanted = [" ".join(pair) for pair in sides], [" ".join(sorted(each.pair))]
        else:
            units, wanted = list(table["condition"].astype(str)), [*each.pair]
        raters = pd.Series(self.family.rater).groupby(units).nunique()
        return float(raters.reindex(wanted, fill_value=0).min() / raters.max())


def compared_families(inputs: PartInput, stop: StopFacts) -> list[ComparedFamily]:
    """Those that decide: of the criteria that the rule names, else all."""
    ranked: dict[int, Ranking] = {}
    for each in rankings(inputs):
        ranked.setdefault(each.family_key, each)
    level = inputs.options.level
    found = []
    for family in families(inputs.ratings):
        if stop["criteria"] and family.group["criterion"] not in stop["criteria"]:
            continue
        if family.in_pairs:
            pairs = list(_pairs(family, level))
            means = [(f"{p.condition} versus {p.versus}", p.half_width) for p in pairs]
            found.append(ComparedFamily(family, pairs, means, level))
        else:
            ranking = ranked[int(family.table.index[0])]
            means = [(mean.condition, _half(mean.low, mean.high)) for mean in ranking.means]
            compared = list(_differences(ranking, stop["compare"], level))
            found.append(ComparedFamily(family, compared, means, level))
    return found


def _differences(ranking: Ranking, which: str, level: float) -> Iterator[Compared]:
    """Each system minus the reference; without one, or where asked for, each pair of systems."""
    reference = ranking.reference.name
    names = sorted(ranking.systems)
    pairs = [(name, reference) for name in names]
    if not reference or which == SYSTEMS:
        pairs = list(combinations(names, 2))
    for a, b in pairs:
        gap = ranking.between(a, b)
        yield Compared(a, b, gap.value, gap.low, gap.high, gap.p, level=level)


def _pairs(family: Family, level: float) -> Iterator[Compared]:
    """The mean of each pair that met, for the name that comes first in the alphabet."""
    table, estimand = family.table, estimand_of(family.estimand)
    known = (table["versus_condition"] != "") & (table["versus_condition"] != table["condition"])
    use, rows = table[known], known.to_numpy(dtype=bool)
    if not len(use):
        return
    one, other = (use[name].to_numpy(dtype=str) for name in ("condition", "versus_condition"))
    score = use["score"].to_numpy(dtype=np.float64)
    if not estimand.discriminates:
        score = np.where(one <= other, score, estimand.mirrored(score))
    sides = np.sort(np.stack([one, other], axis=1), axis=1)
    names, pair = np.unique(sides, axis=0, return_inverse=True)
    null = float(estimand.neutral or 0.0)
    means = means_against(
        *(score, pair.reshape(-1), family.rater[rows], family.item[rows]),
        null=null,
        ends=family.ends,
        level=level,
    )
    for (a, b), mean in zip(names, means, strict=True):
        yield Compared(str(a), str(b), mean.value, mean.low, mean.high, mean.p, null, level)


def _half(low: float | None, high: float | None) -> float | None:
    return None if low is None or high is None or high <= low else (high - low) / 2


def _row(each: ComparedFamily) -> dict[str, Any]:
    return {
        "title": each.family.title,
        **pick_cells(each.family.group, "task", "criterion"),
        "estimand": each.family.estimand,
        "level": each.level,
        "in_pairs": each.family.in_pairs,
        "raters": int(each.family.table["rater"].nunique()),
        "comparisons": [],
        "widest": None,
    }


def _verdicts(
    each: ComparedFamily,
    inputs: PartInput,
    stop: StopFacts,
    number: int,
    share: float,
    last: bool,
) -> dict[str, Any]:
    made = stop["made"]
    title = each.family.title
    verdicts = verdicts_of(
        each.compared,
        [*(look["share"] for look in made), share],
        [*(look["number"] for look in made), number],
        before=significant_before(made, title),
        futile_before=futile_before(made, title),
        comparisons=_most_compared(made, title),
        level=each.level,
        futility=stop["futility"],
        difference=stop["difference"],
        last=last,
    )
    return _row(each) | {"comparisons": [verdict.row() for verdict in verdicts]}


def significant_before(made: Sequence[LookFacts], title: str) -> dict[Pair, int]:
    """The comparisons of a family that were significant at a look, and at which."""
    return {
        (row["condition"], row["versus"]): row["look"]
        for look in made
        for family in look["families"]
        if family["title"] == title
        for row in family["comparisons"]
        if row["look"]
    }


def futile_before(made: Sequence[LookFacts], title: str) -> set[Pair]:
    """The comparisons of a family that were futile at a look that stopped a system of theirs."""
    stopped = stopped_units(made)
    return {
        (row["condition"], row["versus"])
        for look in made
        for family in look["families"]
        if family["title"] == title
        for row in family["comparisons"]
        if row["verdict"] == FUTILE
        and units_of(family["task"], row, in_pairs=family.get("in_pairs", False)) & stopped
    }


def _most_compared(made: Sequence[LookFacts], title: str) -> int:
    """How many comparisons of the family a look had at most: exclusions do not make them fewer."""
    counts = [
        len(family["comparisons"])
        for look in made
        for family in look["families"]
        if family["title"] == title
    ]
    return max(counts, default=0)


def _widths(each: ComparedFamily, stop: StopFacts) -> dict[str, Any]:
    """The widest interval of a family's means; None where one has none."""
    halves = [half for _, half in each.means]
    widest = None if None in halves or not halves else max(h for h in halves if h is not None)
    return _row(each) | {"widest": widest}


def _decision(rows: Sequence[Mapping[str, Any]], stop: StopFacts) -> tuple[str, str]:
    if stop["rule"] == HALF_WIDTH:
        target, widest = stop["target"] or 0.0, [row["widest"] for row in rows]
        if not widest or None in widest:
            return GO_ON, "Not every mean has an interval yet."
        half = max(widest)
        is_done = half <= target
        comparison = "at most" if is_done else "more than"
        why = f"The widest interval is ± {half:.3g}, {comparison} the target of ± {target:g}."
        return (STOP if is_done else GO_ON), why
    verdicts = [row["verdict"] for family in rows for row in family["comparisons"]]
    significant, futile = verdicts.count(SIGNIFICANT), verdicts.count(FUTILE)
    open_ = len(verdicts) - significant - futile
    if not verdicts:
        return GO_ON, "There is nothing to compare yet."
    of = f"Of {counted(len(verdicts), 'comparison')}"
    why = f"{of}, {significant} significant, {futile} futile, {open_} open."
    return (GO_ON if open_ else STOP), why
