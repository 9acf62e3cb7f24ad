"""TestResult, what a classical test gives back, and Undefined, what cannot be computed and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
UNIT_WARNINGS = {RATINGS: IGNORES_RATERS, "raters": ITEMS_FIXED, "items": RATERS_FIXED}


class Undefined(ValueError):
    """A quantity that these data do not determine; the message says why, in words."""


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
    statistic: float | None
    df: float | None
    p: float | None
    n: tuple[int, ...]
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
    warning: str = ""
    note: str = ""
    also: Mapping[str, float] = field(default_factory=dict)

    def row(self) -> dict[str, Any]:
        """The result as one flat row of plain values; ``n`` is a text such as ``23 + 25``."""
        row = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "also"}
        return {**row, "n": " + ".join(map(str, self.n)), **dict(self.also)}


def refused(
    test: str, statistic_name: str, n: tuple[int, ...], why: str, **rest: Any
) -> TestResult:
    """A result without numbers whose note says why (estimates that exist go into ``rest``)."""
    return TestResult(test, statistic_name, None, None, None, n, note=why, **rest)


def finite(*samples: ArrayLike) -> list[Floats]:
    """The samples as float arrays; Undefined where a value is missing or infinite."""
    arrays = [np.asarray(sample, dtype=np.float64) for sample in samples]
    if not all(np.all(np.isfinite(array)) for array in arrays):
        raise Undefined("a value is missing or infinite: leave it out first")
    return arrays


def warning_of(unit: str) -> str:
    """What a test over these units takes as given: ratings, raters (their means) or items."""
    return UNIT_WARNINGS.get(unit, "")
