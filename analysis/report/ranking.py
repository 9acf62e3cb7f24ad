"""How the conditions of one family stand: means, differences and tiers, out of a report's rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

from analysis.ratings.breakdowns import Cell, Family, cells, families
from analysis.ratings.estimands import Estimand, estimand_of, family_title
from analysis.ratings.grouping import Breakdown
from analysis.ratings.reference import Reference, reference_of
from analysis.report.content import row_from
from analysis.statistics.comparisons.tiers import Tiers, tiers_of
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.intervals import TWO_WAY, Clustered, clustered

if TYPE_CHECKING:
    from analysis.report.part import PartInput

_OVERALL = str(Breakdown())


@dataclass(frozen=True)
class Mean:
    """A condition's mean with its clustered interval (None: none, ``note`` says why), and naive."""

    condition: str
    value: float
    low: float | None
    high: float | None
    naive_low: float | None
    naive_high: float | None
    by_raters: float | None  # the mean in which every rater weighs the same
    n_ratings: int
    n_raters: int
    n_items: int
    note: str


@dataclass(frozen=True)
class Difference:
    """``condition`` minus ``versus``: two-way clustered interval and p, and the naive Welch ones.

    ``low_all``, ``high_all`` and ``p_adjusted`` hold for all of the declared ``family`` at once;
    ``claimed`` says that this interval leaves 0 out. ``low``, ``high`` and ``p`` are of this one
    alone. None where undefined; ``note`` says why. Without a family nothing is claimed.
    """

    condition: str
    versus: str
    value: float
    low: float | None
    high: float | None
    p: float | None
    family: str
    low_all: float | None
    high_all: float | None
    p_adjusted: float | None
    claimed: bool
    naive_low: float | None
    naive_high: float | None
    naive_p: float | None
    note: str

    def turned(self) -> Difference:
        """The same as ``versus`` minus ``condition``."""
        ends = {
            f"{kind}low{rest}": getattr(self, f"{kind}high{rest}")
            for kind, rest in (("", ""), ("", "_all"), ("naive_", ""))
        }
        ends |= {
            f"{kind}high{rest}": getattr(self, f"{kind}low{rest}")
            for kind, rest in (("", ""), ("", "_all"), ("naive_", ""))
        }
        return replace(
            self,
            condition=self.versus,
            versus=self.condition,
            value=0.0 - self.value,
            **cast(Any, {n: None if end is None else 0.0 - end for n, end in ends.items()}),
        )


@dataclass(frozen=True)
class Ranking:
    """The conditions of one task, criterion and estimand (compared clips: and one other side).

    ``means`` are in order, the best first; ``differences`` by (condition, versus) as the report
    has them. ``cell`` holds the ratings as codes; its ``names`` are in order of the alphabet.
    """

    family: Family
    cell: Cell
    title: str
    level: float
    means: tuple[Mean, ...]
    differences: Mapping[tuple[str, str], Difference]
    wanted_reference: str = ""  # the reference that was asked for

    @property
    def family_key(self) -> int:
        """Which family it is of, however often that is made: the table's first row of it."""
        return int(self.family.table.index[0])

    @property
    def estimand(self) -> str:
        """The estimand's key, such as mos."""
        return self.family.estimand

    @property
    def what(self) -> Estimand:
        return estimand_of(self.family.estimand)

    @property
    def name(self) -> str:
        """The estimand's name, such as MOS."""
        return self.what.name

    @property
    def decimals(self) -> int:
        """How many decimals its numbers are written with."""
        return self.what.decimals

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of its scale, where it has some and every score is between."""
        y = self.cell.y
        return self.what.ends_for(float(y.min()), float(y.max())) if len(y) else None

    @property
    def alpha(self) -> float:
        """The chance of error that p is compared with: 1 - level."""
        return 1 - self.level

    @property
    def versus(self) -> str:
        """What the conditions were compared with; empty where clips were rated one by one."""
        return self.cell.group.get("versus_condition", "")

    @property
    def low_is_best(self) -> bool:
        return self.what.lowest_is_best

    @cached_property
    def by_name(self) -> dict[str, Mean]:
        return {mean.condition: mean for mean in self.means}

    @cached_property
    def clustered(self) -> Clustered:
        """The means with all that clustered variances need, in the order of ``cell.names``."""
        cell = self.cell
        codes = cell.condition, cell.rater, cell.item
        return clustered(cell.y, *codes, len(cell.names), ends=cell.ends)

    @cached_property
    def tested(self) -> list[str]:
        """Conditions, the best first, that have two ratings, raters and items at least."""
        return [m.condition for m in self.means if min(m.n_ratings, m.n_raters, m.n_items) > 1]

    @cached_property
    def reference(self) -> Reference:
        """The condition that the others are compared with, if one of those tested is it."""
        return reference_of(self.tested, self.wanted_reference, self.cell.roles)

    @cached_property
    def anchors(self) -> frozenset[str]:
        """The conditions that are no candidates: made worse on purpose."""
        return self.cell.roles_of(self.wanted_reference)[1]

    @cached_property
    def systems(self) -> list[str]:
        """The candidates among the tested, the best first: neither the reference nor anchors."""
        aside = {self.reference.name, *self.anchors}
        return [name for name in self.tested if name not in aside]

    @cached_property
    def tiers(self) -> Tiers | None:
        """Letters and tiers of what is in a declared family; None where no pair has a test."""
        names = [name for name in self.tested if name not in self.anchors]
        differences = {(a, b): self.between(a, b) for a, b in combinations(names, 2)}
        if all(gap.p_adjusted is None for gap in differences.values()):
            return None
        values = {name: self.by_name[name].value for name in names}
        p = {pair: gap.p_adjusted for pair, gap in differences.items()}
        return tiers_of(values, p, self.alpha, self.low_is_best)

    def between(self, a: str, b: str) -> Difference:
        """The difference a minus b, however the report has it."""
        if (a, b) in self.differences:
            return self.differences[a, b]
        return self.differences[b, a].turned()

    def differ(self, a: str, b: str) -> bool:
        return self.between(a, b).claimed


def rankings(inputs: PartInput) -> list[Ranking]:
    """Each group of conditions that are compared, in the order of `breakdowns.families`.

    Numbers are those of ``given.report`` where it has two-way clustered ones, else made anew; once
    for all parts of a report.
    """
    return inputs.once(rankings, lambda: list(_standings(inputs)))


def _standings(inputs: PartInput) -> Iterator[Ranking]:
    estimates, contrasts = _rows(inputs)
    means, differences = _means(estimates), _differences(contrasts)
    for family in families(inputs.ratings):
        for cell in cells(family, Breakdown()):
            title = family_title({"estimand": family.estimand, **cell.group})
            there = set(cell.names)
            listed = [each for each in means.get(title, []) if each.condition in there]
            yield Ranking(
                family,
                cell,
                title,
                inputs.options.level,
                tuple(sorted(listed, key=lambda mean: _place(mean, family.estimand))),
                {(d.condition, d.versus): d for d in differences.get(title, [])},
                inputs.options.reference,
            )


def on_one_footing(rankings_: Iterable[Ranking]) -> list[Ranking]:
    """Those whose conditions can be compared with one another and are two at least.

    Rated one by one, or every one compared with the same other; at least two of them tested.
    """
    each = list(rankings_)
    sides = Counter(s.family_key for s in each)
    alone = [s for s in each if not s.versus or sides[s.family_key] == 1]
    return [s for s in alone if len(s.tested) > 1]


def may_be_compared(family: Family) -> bool:
    """Whether a family has conditions on one footing; quick to answer."""
    table = family.table
    if family.in_pairs and table["versus_condition"].nunique() > 1:
        return False
    return bool(table["condition"].nunique() > 1)


def key_of(part: str, number: int, title: str) -> str:
    """A key for a table or figure that fits a file name: part, number, and the family's title."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in title.lower()).split()
    return f"{part}-{number}-{'-'.join(words)[:48].strip('-') or 'all'}"


def _place(mean: Mean, estimand: str) -> tuple[float, str]:
    return (mean.value if estimand_of(estimand).lowest_is_best else -mean.value), mean.condition


Rows = list[Mapping[str, Any]]


def _rows(inputs: PartInput) -> tuple[Rows, Rows]:
    """The overall estimates and differences, two-way clustered ones among them."""
    if "estimates" in inputs.report:
        estimates, contrasts = (
            [row for row in inputs.report[name] if row["breakdown"] == _OVERALL]
            for name in ("estimates", "contrasts")
        )
        return estimates, contrasts
    estimator = MeanScore(intervals=("two_way",), reference=inputs.options.reference)
    level = inputs.options.level
    return (
        [estimate.row() for estimate in estimator.fit(inputs.ratings, level=level)],
        [contrast.row() for contrast in estimator.contrasts(inputs.ratings, level=level)],
    )


def _means(rows: Rows) -> dict[str, list[Mean]]:
    """The means of each family, by its title."""
    by_title: dict[str, dict[str, dict[str, Mapping[str, Any]]]] = {}
    for row in rows:
        mine = by_title.setdefault(family_title(row), {}).setdefault(row["condition"], {})
        mine[_kind(row)] = row
    return {title: list(map(_mean, conditions.values())) for title, conditions in by_title.items()}


def _mean(kinds: Mapping[str, Mapping[str, Any]]) -> Mean:
    main, naive, raters = kinds["main"], kinds.get("naive", {}), kinds.get("raters", {})
    bounds = {f"naive_{end}": naive.get(end) for end in ("low", "high")}
    return row_from(Mean, main, **bounds, by_raters=raters.get("value"))


def _differences(rows: Rows) -> dict[str, list[Difference]]:
    """The differences of each family, by its title."""
    by_title: dict[str, dict[tuple[str, str], dict[str, Mapping[str, Any]]]] = {}
    for row in rows:
        pair = row["condition"], row["versus"]
        by_title.setdefault(family_title(row), {}).setdefault(pair, {})[_kind(row)] = row
    return {title: list(map(_difference, pairs.values())) for title, pairs in by_title.items()}


def _difference(kinds: Mapping[str, Mapping[str, Any]]) -> Difference:
    main, naive = kinds["main"], kinds.get("naive", {})
    of_naive = {f"naive_{name}": naive.get(name) for name in ("low", "high", "p")}
    return row_from(Difference, main, **of_naive, claimed=bool(main["claimed"]))


def _kind(row: Mapping[str, Any]) -> str:
    if row["weighting"] == "raters":
        return "raters"
    if row["interval"] == TWO_WAY:
        return "main"
    return "naive" if row["interval"].startswith("naive") else "other"
