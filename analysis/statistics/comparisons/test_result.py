"""What classical tests and effect sizes give back; Undefined: what cannot be computed, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from analysis.arrays import Floats

RATINGS = "ratings"
IGNORES_RATERS = (
    "takes ratings as independent: ratings of one rater, or of one item, go together, "
    "so p is too small and the interval too narrow"
)
ITEMS_FIXED = "takes the items as given: the claim holds for these items and new raters"
RATERS_FIXED = "takes the raters as given: the claim holds for these raters and new items"
_WARNINGS = {RATINGS: IGNORES_RATERS, "raters": ITEMS_FIXED, "items": RATERS_FIXED}


class Undefined(ValueError):
    """A quantity that these data do not determine; the message says why, in words."""


@dataclass(frozen=True)
class Effect:
    """An effect size by name, with an interval at ``level`` where there is one."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    note: str = ""


@dataclass(frozen=True)
class TestResult:
    """One classical test: statistic, degrees of freedom, p, estimate, effect size and counts.

    ``statistic``, ``p``, ``estimate`` and the like are None where undefined; ``note`` then says
    why. ``n`` counts the values of each sample, or the units once for a paired test; ``unit`` says
    what one value is: ratings, or means per rater or item. ``warning`` says what the test takes as
    given. ``also`` holds other conventions of the same test by name (with a continuity correction,
    exact, as scipy counts it).
    """

    __test__ = False  # not for pytest to collect

    test: str
    statistic_name: str
    statistic: float | None = None
    df: float | None = None
    p: float | None = None
    n: tuple[int, ...] = ()
    df2: float | None = None
    estimand: str = ""
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    effect_name: str = ""
    effect: float | None = None
    effect_low: float | None = None
    effect_high: float | None = None
    unit: str = RATINGS
    warning: str = field(init=False)
    note: str = ""
    also: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "warning", warning_of(self.unit))

    def row(self) -> dict[str, Any]:
        """The result as one flat row of plain values; ``n`` is a text such as ``23 + 25``."""
        row = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "also"}
        return {**row, "n": " + ".join(map(str, self.n)), **self.also}

    def noted(self, note: str) -> TestResult:
        """The result with another note after its own."""
        return replace(self, note="; ".join(filter(None, [self.note, note])))

    def with_effect(self, effect: Effect) -> TestResult:
        """The result with an effect size and its interval."""
        return replace(
            self,
            effect_name=effect.name,
            effect=effect.value,
            effect_low=effect.low,
            effect_high=effect.high,
        )


def finite(*samples: ArrayLike) -> list[Floats]:
    """The samples as float arrays; Undefined where a value is missing or infinite."""
    arrays = [np.asarray(sample, dtype=np.float64) for sample in samples]
    if not all(np.all(np.isfinite(array)) for array in arrays):
        raise Undefined("a value is missing or infinite: leave it out first")
    return arrays


def warning_of(unit: str) -> str:
    """What a test over these units takes as given: ratings, raters (their means) or items."""
    return _WARNINGS.get(unit, "")
