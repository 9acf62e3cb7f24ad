"""The main estimates under no rule, under each rule alone, under all; and how the order changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from analysis.ratings.estimands import bare_title, estimand_of
from analysis.ratings.grouping import Breakdown
from analysis.ratings.table import rows_where
from analysis.statistics.estimator import estimator
from analysis.statistics.options import Options
from analysis.statistics.screening.offered import optional_rules
from analysis.statistics.screening.rule import Rule
from analysis.statistics.screening.rule_text import rule_text
from analysis.statistics.screening.screened import Screened

NO_RULE, ALL_RULES = "no rule", "all rules"
_SAME = 1e-9  # means nearer than this are a tie

Place = tuple[str, str]  # a condition, and what it is compared with (may be empty)
Scheme = tuple[str, Sequence[Rule]]  # a name and the rules that hold under it


def schemes(rules: Sequence[Rule]) -> list[Scheme]:
    """No rule, each rule alone (by its key; by its text where two have the same), all rules."""
    keys = [rule.name for rule in rules]
    named = [rule.name if keys.count(rule.name) == 1 else rule_text(rule) for rule in rules]
    named_schemes: list[Scheme] = [(NO_RULE, ())]
    named_schemes += [(name, (rule,)) for name, rule in zip(named, rules, strict=True)]
    if len(rules) != 1:
        named_schemes.append((ALL_RULES, tuple(rules)))
    return named_schemes


def one_more(screened: Screened, rules: Sequence[Rule]) -> tuple[Screened, list[Scheme]]:
    """The table judged by rules that are not in force, too; and each of them added to those."""
    table, held = screened.table, {rule.name for rule in rules}
    methods, kinds = set(table["method"]), set(table["trap"]) - {""}
    reasons = dict(screened.reasons)
    added: list[Scheme] = []
    for rule in optional_rules(methods, kinds):
        if rule.key not in held and not rule.lacking(table):
            reasons[rule] = rule.reasons(table)
            added.append((f"with {rule.key}", (*rules, rule)))
    return Screened(table, reasons), added


def in_force(rules: Sequence[Rule]) -> str:
    """The name of the scheme that the report itself rests on."""
    return schemes(rules)[-1][0] if rules else NO_RULE


def sensitivity(
    screened: Screened, options: Options, under: Iterable[Scheme] | None = None
) -> list[dict[str, Any]]:
    """The overall estimates under each scheme as rows, its name in the column ``screening``."""
    kind = estimator(options.estimator)
    overall = kind.for_breakdown(
        Breakdown(),
        intervals=options.intervals[:1],
        weightings=("ratings",),
        replicates=options.replicates,
    )
    rows = []
    known: dict[bytes, list[dict[str, Any]]] = {}  # of schemes that keep the same ratings
    for name, rules in schemes(options.rules) if under is None else under:
        mark = screened.mark(rules)
        if mark not in known:
            ratings = screened.kept(rules)
            if kind.methods is not None:
                ratings = rows_where(ratings, ratings["method"].isin(kind.methods))
            lines = overall.fit(ratings, level=options.level, seed=options.seed)
            known[mark] = [line.row() for line in lines]
        rows += [{"screening": name, **row} for row in known[mark]]
    return rows


@dataclass(frozen=True)
class Order:
    """The conditions of one family under one scheme: the main row of each, and its rank.

    Ranks count within what is compared with the same; 1 is the best, ties share the better rank.
    """

    rows: Mapping[Place, Mapping[str, Any]]
    ranks: Mapping[Place, int]

    @property
    def n_ratings(self) -> int:
        return sum(row["n_ratings"] for row in self.rows.values())


@dataclass(frozen=True)
class Change:
    """How one scheme differs from another: pairs in another order, and the biggest change.

    ``distance`` is the normalised Kendall distance: the share of the pairs of conditions whose
    order is turned round, a pair tied under one scheme alone counting half; None without a pair.
    """

    distance: float | None
    swapped: Sequence[tuple[Place, Place]]
    biggest: float | None  # the change of a mean, main minus other turned to other minus main
    where: Place | None


def orders(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Order]]:
    """Family title -> scheme -> `Order`, of the rows of `sensitivity`, in their order."""
    by_title: dict[str, dict[str, dict[Place, Mapping[str, Any]]]] = {}
    for row in rows:
        title = bare_title(row)
        place = (row["condition"], row.get("versus_condition", ""))
        held = by_title.setdefault(title, {}).setdefault(row["screening"], {})
        if place not in held or held[place]["interval"].startswith("naive"):
            held[place] = row
    return {
        title: {name: Order(held, _ranks(held)) for name, held in each.items()}
        for title, each in by_title.items()
    }


def change(main: Order, other: Order) -> Change:
    """How ``other`` differs from ``main``, over the conditions that both have."""
    both = [place for place in main.rows if place in other.rows]
    turned, swapped, pairs = 0.0, [], 0
    for a, b in combinations(both, 2):
        if a[1] != b[1]:
            continue
        pairs += 1
        first, second = _sign(main, a, b), _sign(other, a, b)
        if first * second < 0:
            swapped.append((a, b))
        turned += abs(first - second) / 2
    moved = {place: other.rows[place]["value"] - main.rows[place]["value"] for place in both}
    where = max(moved, key=lambda place: abs(moved[place])) if moved else None
    return Change(
        distance=turned / pairs if pairs else None,
        swapped=swapped,
        biggest=moved[where] if where else None,
        where=where,
    )


def _sign(order: Order, a: Place, b: Place) -> int:
    difference = order.rows[a]["value"] - order.rows[b]["value"]
    return 0 if abs(difference) <= _SAME else 1 if difference > 0 else -1


def _ranks(rows: Mapping[Place, Mapping[str, Any]]) -> dict[Place, int]:
    ranks = {}
    for place, row in rows.items():
        sign = -1 if estimand_of(row["estimand"]).lowest_is_best else 1
        better = [
            other["value"] * sign > row["value"] * sign + _SAME
            for (_, versus), other in rows.items()
            if versus == place[1]
        ]
        ranks[place] = 1 + sum(better)
    return ranks
