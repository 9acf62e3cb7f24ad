"""Whether scores differ between groups such as languages, and whether that depends on systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from analysis.arrays import Floats
from analysis.ratings.breakdowns import Family, coded_column, items_of
from analysis.statistics.comparisons.simultaneous import Decision, decide
from analysis.statistics.intervals import Clustered, clustered


@dataclass(frozen=True)
class GroupEffect:
    """The later group minus the earlier one, over conditions that were rated in both.

    ``mean`` is the mean of that difference over the conditions, ``conditions`` the difference of
    each, and ``interactions`` how far each difference is from the mean of all. Intervals and p of
    ``conditions`` hold for all of them at once, as do those of ``interactions``. With two
    conditions there is one interaction, half the difference between their differences.
    """

    title: str
    earlier: str
    later: str
    mean: Decision
    conditions: tuple[Decision, ...]
    interactions: tuple[Decision, ...]

    @property
    def p_interaction(self) -> float | None:
        """The p of no interaction at all: the smallest adjusted one; None without a test."""
        known = [each.p for each in self.interactions if each.p is not None]
        return min(known) if known else None


def groups_in(family: Family, column: str = "language") -> list[str]:
    """The groups of a family's ratings, sorted; empty texts are none."""
    return sorted({str(name) for name in family.table[column].unique()} - {""})


def group_effects(
    family: Family,
    column: str = "language",
    pairs: Iterable[tuple[str, str]] | None = None,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Iterator[GroupEffect]:
    """Each pair of groups of a family, or these, over the conditions that were rated in both.

    ``column`` says which group a rating belongs to; empty texts are none. A cell is a condition in
    a group. Its mean has the two-way clustered variance over raters and items
    (`clustered_variance`), so raters and items may be the same in both groups or not. Contrasts of
    cells are tested as in `simultaneous.decide`. Families of pairs have none.
    """
    if family.in_pairs:
        return
    for earlier, later in pairs or combinations(groups_in(family, column), 2):
        table = family.table[family.table[column].isin([earlier, later])]
        groups = table.groupby("condition")[column].transform("nunique")
        table = table[groups == 2]
        if table.empty:
            continue
        condition, names = coded_column(table["condition"])
        is_later = (table[column] == later).to_numpy(dtype=np.int64)
        rater, _ = coded_column(table["rater"])
        item, _ = coded_column(items_of(table))
        y = table["score"].to_numpy(dtype=np.float64)
        means = clustered(
            y, 2 * condition + is_later, rater, item, 2 * len(names), ends=family.ends
        )
        of_each = np.kron(np.eye(len(names)), np.array([-1.0, 1.0]))
        mean = of_each.mean(axis=0, keepdims=True)
        test = partial(_decisions, means=means, earlier=earlier, level=level, seed=seed)
        count = {1: 0, 2: 1}.get(len(names), len(names))  # of two the other one is the same
        yield GroupEffect(
            title=family.title,
            earlier=earlier,
            later=later,
            mean=test(mean, [later])[0],
            conditions=test(of_each, names),
            interactions=test((of_each - mean)[:count], names[:count]),
        )


def _decisions(
    rows: Floats, names: Sequence[str], *, means: Clustered, earlier: str, level: float, seed: int
) -> tuple[Decision, ...]:
    labels = [(name, earlier) for name in names]
    return tuple(decide(rows, labels, means, level=level, seed=seed)) if labels else ()
