"""Simulated listening tests: who hears what, and what they answer, on the scales of the methods.

A score is the rounded and bounded sum of a condition's level, a rater's and an item's own level,
the rater's liking of the condition, the item's fit to it, and the rest. Conditions may differ in
how much the last three vary (``spread``). The first condition is the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse, special

from analysis.statistics.intervals import Clustered

RATER, RATER_CONDITION, ITEM, ITEM_CONDITION, REST = range(5)


def five_points(x: np.ndarray) -> np.ndarray:
    """MOS: 1 to 5 in whole steps."""
    return np.clip(np.rint(x), 1, 5)


def three_labels(x: np.ndarray) -> np.ndarray:
    """HLS: machine 0, unclear 0.5, human 1."""
    return np.clip(np.rint(2 * x) / 2, 0, 1)


def seven_points(x: np.ndarray) -> np.ndarray:
    """CMOS: -3 to 3 in whole steps."""
    return np.clip(np.rint(x), -3, 3)


def preferred(x: np.ndarray) -> np.ndarray:
    """AB: 1 where the condition is preferred to the other clip, else 0."""
    return (x > 0).astype(np.float64)


def hundred_points(x: np.ndarray) -> np.ndarray:
    """MUSHRA: 0 to 100 in whole steps."""
    return np.clip(np.rint(x), 0, 100)


@dataclass(frozen=True)
class Method:
    """A scale and its ends, with the SDs of its parts; means are tested against ``neutral``."""

    scale: Callable[[np.ndarray], np.ndarray]
    ends: tuple[float, float]
    sds: tuple[float, float, float, float, float]
    neutral: float | None = None


METHODS = {
    "MOS": Method(five_points, (1, 5), (0.42, 0.20, 0.16, 0.22, 0.60)),
    "HLS": Method(three_labels, (0, 1), (0.25, 0.12, 0.08, 0.10, 0.33)),
    "CMOS": Method(seven_points, (-3, 3), (0.30, 0.40, 0.20, 0.40, 1.00), 0.0),
    "AB": Method(preferred, (0, 1), (0.30, 0.40, 0.20, 0.40, 1.00), 0.5),
    "MUSHRA": Method(hundred_points, (0, 100), (6.0, 5.0, 3.0, 6.0, 9.0)),
}


@dataclass(frozen=True)
class Cell:
    """One kind of study. ``design``: full (every rater hears every item in every condition), once
    (every item once, the conditions in turn), some (``each`` random items a rater), uneven (the
    same with 2 to 40 a rater), busy (the same, but every tenth rater hears all items), apart (every
    item, one condition a rater).

    ``spread`` multiplies what each condition has of its own, ``item_spread`` the items' part of it
    instead. ``level`` of each condition is on the scale of the method; a ``shift`` of the first
    condition (and minus that of the last) is in true standard errors of a difference.
    """

    method: str
    design: str
    raters: int
    items: int
    level: tuple[float, ...]
    each: int = 0
    spread: tuple[float, ...] = ()
    item_spread: tuple[float, ...] = ()
    shift: float = 0.0
    kind: str = "equal"

    @property
    def name(self) -> str:
        """Method, design, sizes, and what is true."""
        each = f"x{self.each}" if self.each else ""
        sizes = f"{self.raters}x{self.items}{each}"
        return f"{self.method} {self.design} {sizes} C{len(self.level)} {self.kind}"


def places(cell: Cell, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Condition, rater and item of each rating (n,)."""
    raters, items, conditions = cell.raters, cell.items, len(cell.level)
    if cell.design == "full":
        rater, item, condition = (grid.ravel() for grid in np.indices((raters, items, conditions)))
        return condition, rater, item
    if cell.design in ("once", "apart"):
        rater, item = (grid.ravel() for grid in np.indices((raters, items)))
        turn = rng.permutation(raters)[rater]
        return (turn if cell.design == "apart" else turn + item) % conditions, rater, item
    each = np.full(raters, cell.each)
    if cell.design == "uneven":
        each = np.clip(rng.geometric(1 / cell.each, raters), 2, min(40, items))
    if cell.design == "busy":
        each[::10] = items
    deck: list[int] = []
    condition, rater, item = [], [], []
    for who, many in enumerate(each):
        mine, left = set[int](), []
        while len(mine) < many:
            deck = deck or list(rng.permutation(items * conditions))
            card = deck.pop()
            if card // conditions in mine:
                left.append(card)
                continue
            mine.add(card // conditions)
            condition.append(card % conditions)
            rater.append(who)
            item.append(card // conditions)
        deck += left
    return np.array(condition), np.array(rater), np.array(item)


def spreads(cell: Cell) -> tuple[np.ndarray, np.ndarray]:
    """By how much each condition's own parts, and its items', are multiplied (C,)."""
    own = cell.spread or (1.0,) * len(cell.level)
    return np.array(own), np.array(cell.item_spread or own)


def scores(
    cell: Cell,
    level: np.ndarray,
    at: tuple[np.ndarray, np.ndarray, np.ndarray],
    studies: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Scores (studies, n) of as many studies with the same places."""
    condition, rater, item = at
    method, conditions = METHODS[cell.method], len(level)
    sds, (mine, of_items) = method.sds, (spread[condition] for spread in spreads(cell))

    def normal(groups: int) -> np.ndarray:
        return rng.standard_normal((studies, groups), dtype=np.float32)

    own = sds[RATER_CONDITION] * normal(cell.raters * conditions)[:, rater * conditions + condition]
    of_item = normal(cell.items * conditions)[:, item * conditions + condition]
    y = level[condition] + mine * (own + sds[REST] * normal(len(condition)))
    y += of_items * sds[ITEM_CONDITION] * of_item
    y += sds[RATER] * normal(cell.raters)[:, rater]
    return method.scale(y + sds[ITEM] * normal(cell.items)[:, item])


def true_means(cell: Cell, level: np.ndarray) -> np.ndarray:
    """What the mean score of each condition is over all raters and items there could be (C,)."""
    method = METHODS[cell.method]
    sds, (own, of_items) = method.sds, spreads(cell)
    variance = own**2 * (sds[RATER_CONDITION] ** 2 + sds[REST] ** 2)
    variance += of_items**2 * sds[ITEM_CONDITION] ** 2
    sd = np.sqrt(sds[RATER] ** 2 + sds[ITEM] ** 2 + variance)
    normal = special.ndtri((np.arange(200_000) + 0.5) / 200_000)
    return np.array([method.scale(a + b * normal).mean() for a, b in zip(level, sd, strict=True)])


class Sums:
    """Clustered sums of many studies with the same places: means and three (C, C) per study."""

    def __init__(self, at: tuple[np.ndarray, np.ndarray, np.ndarray], conditions: int) -> None:
        self.condition, rater, item = at
        self.conditions = conditions
        both = np.unique(rater * (int(item.max()) + 1) + item, return_inverse=True)[1]
        self.n = np.bincount(self.condition, minlength=conditions)
        self.weight = 1 / self.n[self.condition]
        self.groups = [np.unique(codes, return_inverse=True)[1] for codes in (rater, item, both)]
        self.by_condition = _indicator(self.condition, conditions)
        self.by_group = []
        for codes in self.groups:
            wide = int(codes.max()) + 1
            self.by_group.append(_indicator(self.condition * wide + codes, conditions * wide))
        self.shares = [(self.weight @ g).reshape(conditions, -1) for g in self.by_group]
        self.raters, self.items = ((share > 0).sum(axis=1) for share in self.shares[:2])
        self.effective = [1 / (share**2).sum(axis=1) for share in self.shares[:2]]

    def of(self, y: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Means (B, C), and the sums (B, C, C) by rater, by item and by both, of scores (B, n)."""
        mean = (y * self.weight) @ self.by_condition
        rest = (y - mean[:, self.condition]) * self.weight
        grams = []
        for group in self.by_group:
            summed = (rest @ group).reshape(len(y), self.conditions, -1)
            grams.append(summed @ summed.transpose(0, 2, 1))
        return mean, grams

    def within(self, mean: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The variance of the scores (B, n) of each condition (B, C)."""
        return (((y - mean[:, self.condition]) ** 2) * self.weight) @ self.by_condition

    def clustered(
        self,
        mean: np.ndarray,
        grams: list[np.ndarray],
        within: np.ndarray,
        ends: tuple[float, float] | None = None,
    ) -> Clustered:
        """One study as the analysis has it (without what conditions have in common)."""
        none = np.zeros((self.conditions,) * 2, dtype=np.int64)
        return Clustered(
            mean,
            *grams,
            *(share @ share.T for share in self.shares),
            np.bincount(self.condition, weights=self.weight**2, minlength=self.conditions),
            within,
            self.n,
            self.raters,
            self.items,
            none,
            none,
            (self.shares[0].shape[1], self.shares[1].shape[1]),
            ends,
        )


def _indicator(codes: np.ndarray, wide: int) -> sparse.csr_array:
    n = len(codes)
    return sparse.csr_array((np.ones(n), (np.arange(n), codes)), shape=(n, wide))
