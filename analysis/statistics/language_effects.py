"""Whether systems differ between languages, and whether the difference depends on the system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from analysis.arrays import Floats
from analysis.ratings.breakdowns import Family, coded_column, items_of
from analysis.statistics.comparisons.simultaneous import Decision, decide
from analysis.statistics.intervals import Clustered, clustered


@dataclass(frozen=True)
class LanguageEffect:
    """The later language minus the earlier one, over conditions that were rated in both.

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


def languages_in(family: Family) -> list[str]:
    """The languages of a family's ratings, sorted; empty texts are none."""
    return sorted({str(name) for name in family.table["language"].unique()} - {""})


def language_effects(
    family: Family, *, level: float = 0.95, seed: int = 0
) -> Iterator[LanguageEffect]:
    """Each pair of languages of a family, over the conditions that were rated in both.

    A cell is a condition in a language. Its mean has the two-way clustered variance over raters and
    items (`clustered_variance`), so raters and items may be the same in both languages or not.
    Contrasts of cells are tested as in `simultaneous.decide`. Families of pairs have none.
    """
    if family.in_pairs:
        return
    for earlier, later in combinations(languages_in(family), 2):
        both = family.table["language"].isin([earlier, later])
        table = family.table[both]
        languages = table.groupby("condition")["language"].transform("nunique")
        table = table[languages == 2]
        if table.empty:
            continue
        condition, names = coded_column(table["condition"])
        is_later = (table["language"] == later).to_numpy(dtype=np.int64)
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
        yield LanguageEffect(
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
