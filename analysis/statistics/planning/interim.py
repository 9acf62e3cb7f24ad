"""Whether a running study's comparisons are decided, by bounds that hold however often one looks.

The unit is the rater: one number each (their mean of a condition, or their difference of two), in
the order in which raters finished. All comparisons of a task and criterion share the level
(Bonferroni), so that whichever of them is looked at, it holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from analysis.arrays import Floats
from analysis.ratings.estimands import estimand_of
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.planning.confidence_sequences import ConfidenceSequence, bounded_sequence
from analysis.statistics.planning.study_design import PlanningError

if TYPE_CHECKING:
    from listening.selectors import PlannedColumn, RaterMean

DECIDED, EQUAL, LATER, NEVER, EARLY = "decided", "equal", "later", "never", "early"
MOST_PAIRED = 10  # conditions; of more, each one's own mean is bounded instead of all pairs
FEWEST = 5  # raters, before which there is nothing to tell
FURTHEST = 3000  # raters that a forecast looks ahead
TRUNCATION = 0.9  # rater means differ little within the ends of a scale


@dataclass(frozen=True)
class Line(FlatRow):
    """One comparison so far: bounds ``low``..``high`` for ``value``, in score units, and a verdict.

    ``versus`` is empty where a condition's own mean is bounded (then there is no verdict but
    ``early`` or ``later``). ``raters`` have given both. ``needed`` is about how many raters would
    decide it, if those to come answer like those so far; None when not known.
    """

    condition: str
    versus: str
    value: float | None
    low: float | None
    high: float | None
    raters: int
    verdict: str
    needed: int | None = None


@dataclass(frozen=True)
class Interim:
    """The comparisons of one task and criterion, the raters behind them, and the shared level.

    ``neutral`` is the score that says neither is better; ``planned`` about how many raters the
    study's plan has room for (None: not to be told yet); ``kind`` pairs, versus or means.
    """

    kind: str
    level: float
    each: float  # the level of every single line
    neutral: float
    raters: int
    planned: int | None
    lines: list[Line] = field(default_factory=list)


def interim(
    means: Sequence[RaterMean],
    ends: tuple[float, float],
    *,
    columns: Sequence[PlannedColumn] = (),
    estimand: str = "mos",
    references: Sequence[str] = (),
    matters: float | None = None,
    level: float = 0.95,
) -> Interim:
    """The state of every comparison, from rater means (rater, condition, versus_condition, score,
    ratings) in the order in which raters finished.

    Conditions are compared with the reference where there is one, else all with each other; of
    comparison methods each pair's mean with the middle of the scale. ``columns`` are the planned
    ones (condition, versus_condition, ratings): the level is shared by what is planned, not by what
    happens to be rated. ``matters`` (score units) is the smallest difference that matters: bounds
    within it decide that there is none. Raises PlanningError for ends that are none, a level
    outside 0..1, or a difference that is not above 0.
    """
    if matters is not None and not matters > 0:
        raise PlanningError("the smallest difference that matters must be above 0")
    if not 0 < level < 1 or not ends[1] > ends[0]:
        raise PlanningError("give a level between 0 and 1, and the scale's lower and upper end")
    rows: list[RaterMean | PlannedColumn] = [*means, *columns]
    compared = estimand_of(estimand).in_pairs and any(row["versus_condition"] for row in rows)
    raters = list(dict.fromkeys(row["rater"] for row in means))
    names = sorted({_name(row, compared) for row in rows})
    table = _table(means, compared, names, raters)
    pairs = [] if compared else _pairs([name[0] for name in names], references)
    if pairs and not _raters_shared(table, pairs):
        pairs = []
    each = 1 - (1 - level) / max(len(pairs) or len(names), 1)
    planned_raters = _planned_raters(means, columns, len(raters))
    comparisons = _Comparisons(each, planned_raters, len(raters), matters)
    if pairs:
        lines = [_pair_line(comparisons, table, pair, ends) for pair in pairs]
        return Interim("pairs", level, each, 0.0, len(raters), planned_raters, lines)
    null = estimand_of(estimand).neutral if compared else None
    lines = [
        comparisons.line(name[0], name[1] if compared else "", _known(table[name]), ends, null)
        for name in names
    ]
    kind = "versus" if compared else "means"
    return Interim(kind, level, each, null or 0.0, len(raters), planned_raters, lines)


def _raters_shared(
    table: Mapping[tuple[str, ...], Floats], pairs: Sequence[tuple[str, str]]
) -> bool:
    """Has any rater given both conditions of any pair (or is there no rater yet)?"""
    seen = [~np.isnan(column) for column in table.values()]
    if not any(column.any() for column in seen):
        return True
    return any((~np.isnan(table[(a,)]) & ~np.isnan(table[(b,)])).any() for a, b in pairs)


def _planned_raters(
    means: Sequence[RaterMean], columns: Sequence[PlannedColumn], raters: int
) -> int | None:
    """About how many raters the plan has room for, if all give as much as those so far."""
    ratings, planned = (sum(row["ratings"] for row in rows) for rows in (means, columns))
    return int(np.ceil(planned / ratings * raters)) if ratings and planned else None


def _pair_line(
    comparisons: _Comparisons,
    table: Mapping[tuple[str, ...], Floats],
    pair: tuple[str, str],
    ends: tuple[float, float],
) -> Line:
    a, b = pair
    span = ends[1] - ends[0]
    return comparisons.line(a, b, _known(table[(a,)] - table[(b,)]), (-span, span), 0.0)


def _name(row: RaterMean | PlannedColumn, compared: bool) -> tuple[str, ...]:
    """The condition of a row; where two are compared, both."""
    return (row["condition"], row["versus_condition"]) if compared else (row["condition"],)


def _known(x: Floats) -> Floats:
    return np.asarray(x[~np.isnan(x)], dtype=np.float64)


def _pairs(names: list[str], references: Sequence[str]) -> list[tuple[str, str]]:
    """What is compared; nothing where there would be too many pairs."""
    known = [name for name in references if name in names]
    if known:
        others = [name for name in names if name != known[0]]
        return [(name, known[0]) for name in others]
    return list(combinations(names, 2)) if len(names) <= MOST_PAIRED else []


def _table(
    means: Sequence[RaterMean],
    compared: bool,
    names: Sequence[tuple[str, ...]],
    raters: Sequence[str],
) -> dict[tuple[str, ...], Floats]:
    """Each condition's (or pair's) rater means (R,), NaN where a rater did not give any."""
    place = {rater: number for number, rater in enumerate(raters)}
    total = {name: np.zeros(len(place)) for name in names}
    count = {name: np.zeros(len(place)) for name in names}
    for row in means:
        name, at = _name(row, compared), place[row["rater"]]
        total[name][at] += row["score"] * row["ratings"]
        count[name][at] += row["ratings"]
    nothing = np.full(len(place), np.nan)
    return {
        name: np.divide(total[name], count[name], out=nothing.copy(), where=count[name] > 0)
        for name in names
    }


@dataclass(frozen=True)
class _Comparisons:
    """Bounds and verdict of one sequence of rater-level numbers."""

    level: float
    planned_raters: int | None
    raters: int
    matters: float | None

    def line(
        self, a: str, b: str, x: Floats, ends: tuple[float, float], null: float | None
    ) -> Line:
        if not len(x):
            return Line(a, b, None, None, None, 0, EARLY)
        bounds = bounded_sequence(x, ends, level=self.level, truncation=TRUNCATION)
        value, low, high = (float(s[-1]) for s in (bounds.value, bounds.low, bounds.high))
        if not np.isfinite(low):
            return Line(a, b, value, None, None, len(x), EARLY)
        if null is None:
            verdict, needed = (LATER if len(x) >= FEWEST else EARLY), None
        else:
            verdict, needed = self._verdict(bounds, x, ends, null)
        return Line(a, b, value, low, high, len(x), verdict, needed)

    def _verdict(
        self, bounds: ConfidenceSequence, x: Floats, ends: tuple[float, float], null: float
    ) -> tuple[str, int | None]:
        verdict_now, at = self._decision(bounds, null)
        if verdict_now:
            return verdict_now, at
        if len(x) < FEWEST:
            return EARLY, None
        if self.planned_raters is None or self.raters >= self.planned_raters:
            return NEVER, None
        ahead = min(int(np.ceil(self.planned_raters * len(x) / self.raters)), FURTHEST)
        verdict, needed = self._decision(
            bounded_sequence(np.resize(x, ahead), ends, level=self.level, truncation=TRUNCATION),
            null,
        )
        if verdict and needed is not None:
            return LATER, int(np.ceil(needed * self.raters / len(x)))
        return NEVER, None

    def _decision(self, bounds: ConfidenceSequence, null: float) -> tuple[str, int | None]:
        """What the bounds decide, and after how many raters they did first."""
        apart = (bounds.low > null) | (bounds.high < null)
        if apart.any():
            return DECIDED, int(np.argmax(apart)) + 1
        if self.matters is not None:
            near = (bounds.low > null - self.matters) & (bounds.high < null + self.matters)
            if near.any():
                return EQUAL, int(np.argmax(near)) + 1
        return "", None
