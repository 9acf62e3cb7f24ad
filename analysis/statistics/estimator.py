"""Estimate and Contrast, the Estimator that makes them, and the registry of estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from listening.common.registry import Registered, Registry

if TYPE_CHECKING:
    import pandas as pd

    from analysis.ratings.grouping import Breakdown


@dataclass(frozen=True)
class Estimate:
    """One number with its interval, its counts, and the group it is about.

    ``low`` and ``high`` are None when there is no interval; ``note`` then says why, and may carry a
    warning otherwise. ``group`` holds what else the number is about: task, criterion, voice,
    dimension and the like, in a fixed order. ``weighting`` says what the mean is a mean of.
    """

    estimand: str
    condition: str
    value: float
    low: float | None
    high: float | None
    level: float
    interval: str
    n_ratings: int
    n_raters: int
    n_items: int
    group: Mapping[str, str] = field(default_factory=dict)
    weighting: str = "ratings"
    note: str = ""

    def row(self) -> dict[str, Any]:
        """The estimate as one flat row of plain values, group columns included."""
        row: dict[str, Any] = {"estimand": self.estimand, "condition": self.condition}
        row |= dict(self.group)
        for name in NUMBERS:
            row[name] = getattr(self, name)
        return row


@dataclass(frozen=True)
class Contrast:
    """The difference ``condition`` minus ``versus``, with its interval, p and counts.

    ``low``, ``high`` and ``p`` (two-sided, against no difference) are this contrast's alone;
    ``low_all``, ``high_all`` and ``p_adjusted`` hold for all of its ``family`` at once, and
    ``claimed`` says whether that interval leaves 0 out (None: nothing is decided by this one).
    None, too, is what the interval does not have or could not be made.
    """

    estimand: str
    condition: str
    versus: str
    value: float
    low: float | None
    high: float | None
    level: float
    interval: str
    p: float | None
    n_ratings: int
    n_raters: int
    n_items: int
    group: Mapping[str, str] = field(default_factory=dict)
    weighting: str = "ratings"
    note: str = ""
    family: str = ""  # against the reference, among the systems; empty: not declared
    low_all: float | None = None
    high_all: float | None = None
    p_adjusted: float | None = None
    claimed: bool | None = None

    def row(self) -> dict[str, Any]:
        """The contrast as one flat row of plain values, group columns included."""
        row: dict[str, Any] = {"estimand": self.estimand, "condition": self.condition}
        row["versus"] = self.versus
        row |= dict(self.group)
        for name in NUMBERS:
            row[name] = getattr(self, name)
            if name == "interval":
                row |= {name: getattr(self, name) for name in OF_CONTRASTS}
        return row


OF_CONTRASTS = ("p", "family", "low_all", "high_all", "p_adjusted", "claimed")
NUMBERS = (
    "weighting",
    "value",
    "low",
    "high",
    "level",
    "interval",
    "n_ratings",
    "n_raters",
    "n_items",
    "note",
)


class Estimator(Registered):
    """What turns a table of ratings into estimates; a subclass with a ``key`` registers itself."""

    key: ClassVar[str]  # stored with every run: never renamed
    version: ClassVar[str]  # bumped when the numbers change
    methods: ClassVar[frozenset[str] | None] = None  # whose ratings it understands; None: all
    registry: ClassVar[Registry[Estimator]] = Registry(
        "estimator", "analysis.statistics.estimators"
    )

    @classmethod
    def for_breakdown(
        cls,
        breakdown: Breakdown,
        *,
        intervals: Sequence[str],
        weightings: Sequence[str],
        replicates: int,
        reference: str = "",
    ) -> Estimator:
        """The estimator set up for one table of a report; by default nothing can be set."""
        return cls()

    def fit(self, ratings: pd.DataFrame, *, level: float = 0.95, seed: int = 0) -> list[Estimate]:
        """The estimates of a ratings table; trap rows and rows without score are left out."""
        raise NotImplementedError

    def contrasts(
        self, ratings: pd.DataFrame, *, level: float = 0.95, seed: int = 0
    ) -> list[Contrast]:
        """The differences between conditions; none unless the estimator has them."""
        return []

    def shares(self, ratings: pd.DataFrame, *, level: float = 0.95) -> list[Estimate]:
        """The share of each label, per condition; none unless the estimator has them."""
        return []


def estimator(key: str) -> type[Estimator]:
    """The estimator of a key; raises KeyError that names the known ones."""
    known = Estimator.registry
    if key not in known:
        raise KeyError(f"no estimator {key}; known are {', '.join(known)}")
    return known[key]
