"""Whether a leaderboard's anchors moved between its studies and versions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.formatting import enumerated, number, p_phrase
from analysis.report.content import Column, Table
from analysis.report.leaderboard.gathering import Question, linked_strengths
from analysis.report.leaderboard.standings import INTERVAL, contrast_cells
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.linking.heterogeneity import Residual, test_of
from analysis.statistics.linking.linked_studies import Component, components_of

ALPHA = 0.05
FEWEST = 20  # answers about an anchor from which on a period is shown
NOTE = (
    "A period is the answers of one study between two versions of the leaderboard. Changes are "
    "since the first period. In comparisons, rankings and best-worst choices an anchor's strength "
    "is relative to the mean of all anchors. Intervals are clustered by raters and items."
)
Row = dict[str, Any]


@dataclass(frozen=True)
class Anchors:
    """The systems that are expected to stay as they are, and the days of versions (ISO)."""

    systems: Sequence[str] = ()
    days: Sequence[str] = ()


NO_ANCHORS = Anchors()


@dataclass(frozen=True)
class Drift:
    """Rows of anchors by period, and the test that none of them moved."""

    rows: Sequence[Row] = ()
    statistic: float | None = None
    p: float | None = None
    why_not: str = ""
    moved: Sequence[str] = field(default_factory=tuple)


def drift_of(question: Question, anchors: Anchors) -> Drift:
    """Return how each anchor stands in each period.

    The test is an ANOVA-type one (Brunner, Dette and Munk 1997) of all changes at once, with
    variances clustered by raters and items. Ratings are compared by their means, other answers by
    strengths relative to the anchors' mean, which takes two anchors.
    """
    names = sorted(set(anchors.systems) & set(question.clips["system"]))
    if not names:
        return Drift()
    centred = question.estimand.in_pairs or question.estimand.among_others
    if centred and len(names) < 2:
        return Drift(why_not="strengths are relative: mark two anchors or more")
    ratings, periods = _in_periods(question, names, anchors.days)
    if len(periods) < 2:
        return Drift(why_not=f"there are fewer than two periods with {FEWEST} answers about each")
    component = _component(question, ratings, periods, names, centred)
    if component is None:
        return Drift(why_not="the anchors are not in every period")
    at = {
        (int(unit), component.systems[system]): place
        for place, (unit, system) in enumerate(
            zip(component.cells.unit, component.cells.system, strict=True)
        )
    }
    rows = {
        (unit, name): _cell(component, at, unit, name, names if centred else ())
        for unit in range(len(component.units))
        for name in names
    }
    changes = {(unit, name): row - rows[0, name] for (unit, name), row in rows.items() if unit}
    statistic, p = _test(component, np.array(list(changes.values())))
    moved = [] if p is None or p >= ALPHA else list(component.units)
    table = list(_rows(component, rows, changes, _facts(ratings)))
    return Drift(table, statistic, p, moved=moved)


def drift_tables(question: Question, drift: Drift, suffix: str) -> Iterator[Table]:
    """The table of anchors by period; none without anchors."""
    if not drift.rows:
        return
    decimals = question.estimand.decimals
    columns = [
        Column("system", "Anchor"),
        Column("period", "Period"),
        Column("answers", "Ratings", "count"),
        Column("raters", "Raters", "count"),
        Column("value", "Score", "number", decimals),
        Column("value", INTERVAL, "interval", decimals),
        Column("change", "Change", "number", decimals, sign=True),
        Column("change", INTERVAL, "interval", decimals),
    ]
    test = (
        f" Test that no anchor moved: F = {number(drift.statistic)}, {p_phrase(drift.p)}."
        if drift.statistic is not None and drift.p is not None
        else ""
    )
    title = f"Anchors over time: {question.title}"
    key, about = f"anchors{suffix}", question.title
    yield Table(key, title, columns, list(drift.rows), NOTE + test, about=about)


def drift_warnings(question: Question, drift: Drift, anchors: Anchors) -> Iterator[str]:
    """That anchors moved, or why that is not known."""
    if drift.moved:
        yield (
            f"{question.title}: the anchors moved ({p_phrase(drift.p)}) between "
            f"{enumerated(drift.moved)}. Older answers are not comparable with newer ones. To set "
            "them apart, enter the first day to use under Settings, or take the study off."
        )
    if drift.why_not:
        yield f"{question.title}: whether anchors moved is not known: {drift.why_not}."
    absent = set(anchors.systems) - set(question.clips["system"])
    if absent:
        yield f"{question.title}: anchors that nobody rated here: {enumerated(sorted(absent))}."


def _in_periods(
    question: Question, names: Sequence[str], days: Sequence[str]
) -> tuple[pd.DataFrame, list[str]]:
    """The ratings with their period as ``unit``, and the periods that have enough of all anchors.

    Answers of the day of a version count as before it.
    """
    ends = sorted(set(days))
    ratings = question.ratings
    number_of = {day: bisect_left(ends, day) for day in ratings["day"].unique()}
    joint = ratings["unit"] + "\x1f" + ratings["day"].map(number_of).astype(str)
    labels, first = {}, {}
    for key, own in ratings.groupby(joint)["day"]:
        unit = str(key).partition("\x1f")[0]
        labels[key] = f"{unit}, {own.min()} to {own.max()}"
        first[labels[key]] = (own.min(), question.units.index(unit))
    table = ratings.assign(unit=joint.map(labels))
    counts = _heard(table).groupby(["unit", "system"]).size()
    enough = [
        label
        for label in sorted(first, key=lambda each: first[each])
        if all(counts.get((label, name), 0) >= FEWEST for name in names)
    ]
    return table[table["unit"].isin(enough)], enough


def _heard(table: pd.DataFrame) -> pd.DataFrame:
    """Unit, system and rater of each clip in each answer."""
    sides = [table[["unit", side, "rater"]] for side in ("system", "versus") if side in table]
    return pd.concat([side.set_axis(["unit", "system", "rater"], axis=1) for side in sides])


def _component(
    question: Question,
    ratings: pd.DataFrame,
    periods: Sequence[str],
    names: Sequence[str],
    centred: bool,
) -> Component | None:
    """The anchors' cells in all periods; None where answers of a period do not connect them."""
    if centred:
        try:
            components = linked_strengths(question, ratings, periods).components
        except Undefined:
            return None
    else:
        own = ratings[ratings["system"].isin(names)]
        components = components_of(own.assign(clip=own["system"]), periods)
    (first, *_) = components
    there = set(zip(first.cells.unit.tolist(), first.cells.system.tolist(), strict=True))
    if sorted(first.units) != sorted(periods) or not set(names) <= set(first.systems):
        return None
    wanted = [first.systems.index(name) for name in names]
    whole = all((unit, at) in there for unit in range(len(first.units)) for at in wanted)
    return first if whole else None


def _cell(
    component: Component,
    at: dict[tuple[int, str], int],
    unit: int,
    name: str,
    relative_to: Sequence[str],
) -> Floats:
    """An anchor in a period, as a contrast of cells."""
    row = np.zeros(len(component.mean))
    row[at[unit, name]] = 1.0
    for other in relative_to:
        row[at[unit, other]] -= 1.0 / len(relative_to)
    return row


def _test(component: Component, changes: Floats) -> tuple[float | None, float | None]:
    """F and p of the hypothesis that all changes are 0, whatever contrasts say so."""
    _, size, basis = np.linalg.svd(changes, full_matrices=False)
    rows = basis[size > 1e-9 * size.max(initial=1.0)]
    spreads = np.array([component.influence.spread(row) for row in rows])
    whole = float(spreads[:, 0].sum())
    if whole <= 0:
        return None, None
    df = whole / float(np.sum(spreads[:, 0] / spreads[:, 1]))
    q = float(np.sum((rows @ component.mean) ** 2))
    return test_of(Residual(q, component.influence.covariance(rows), np.zeros((0, 0)), df))


def _facts(ratings: pd.DataFrame) -> dict[tuple[str, str], tuple[int, int]]:
    """Answers and raters by period and system."""
    groups = _heard(ratings).groupby(["unit", "system"])["rater"].agg(["size", "nunique"])
    return {(str(u), str(s)): (int(n), int(r)) for (u, s), n, r in groups.itertuples(name=None)}


def _rows(
    component: Component,
    cells: dict[tuple[int, str], Floats],
    changes: dict[tuple[int, str], Floats],
    facts: dict[tuple[str, str], tuple[int, int]],
) -> Iterator[Row]:
    for (unit, name), cell in sorted(cells.items(), key=lambda each: (each[0][1], each[0][0])):
        period = component.units[unit]
        answers, raters = facts[period, name]
        row: Row = {"system": name, "period": period, "answers": answers, "raters": raters}
        row |= contrast_cells("value", component, cell)
        yield row | contrast_cells("change", component, changes.get((unit, name)))
