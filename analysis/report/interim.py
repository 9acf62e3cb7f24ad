"""What may be said while a study is open: bounds that allow looking, as plain data.

A claim needs two things: the bounds over raters decide it (`analysis.statistics.planning.interim`),
and the comparison that the closed study will have says so of the same ratings. So nothing is said
early that would not be said if the study ended now, and looking often does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import pandas as pd

from analysis.arrays import Floats
from analysis.ratings.breakdowns import Family, families, items_of, labelled_families
from analysis.ratings.estimands import Estimand, estimand_of
from analysis.report.interim_answer import without_bounds
from analysis.report.parts.answer.narrative import pairs_of
from analysis.report.ranking import Ranking, rankings
from analysis.report.report_schema import InterimMean, InterimPair, InterimRow
from analysis.statistics.planning.confidence_sequences import bounded_sequence
from analysis.statistics.planning.interim import MOST_PAIRED, TRUNCATION

if TYPE_CHECKING:
    from analysis.report.part import PartInput
    from listening.selectors import InterimQuestion

FINISHED = "finished"  # as listening calls a session that came to its end
Ends = tuple[float, float]
Names = tuple[str, str]


def interim_families(inputs: PartInput, questions: Sequence[InterimQuestion]) -> list[InterimRow]:
    """The bounds so far of each family of the kept ratings, in the order of the families.

    ``questions`` give each task and criterion's ends of the scale (score units) and planned
    comparisons, which the level is shared by. Where a question is missing, or answers are no
    numbers, ``kind`` is none. Bounds are betting confidence sequences over raters: Waudby-Smith and
    Ramdas (2024), J. Royal Stat. Soc. B 86(1).
    """
    question_of = {(q["task"], q["criterion"]): q for q in questions}
    stand = {s.family_key: s for s in rankings(inputs)}
    rows = []
    for family in families(inputs.ratings):
        question = question_of.get((family.group["task"], family.group["criterion"]))
        if question is None or not _inside(family, question["ends"]):
            rows.append(_row(family, inputs.options.level))
        elif family.in_pairs:
            rows.append(_of_pairs(family, question, inputs.options.level))
        else:
            ranking = stand[int(family.table.index[0])]
            rows.append(_of_systems(ranking, question))
    return rows + [_row(each, inputs.options.level) for each in labelled_families(inputs.ratings)]


def _row(family: Family, level: float) -> InterimRow:
    """A family of which nothing may be claimed."""
    return {
        **without_bounds(family.title, level),
        "estimand": family.estimand,
        "task": family.group["task"],
        "criterion": family.group["criterion"],
        "raters": len(first_sessions(family.table)),
    }


def _inside(family: Family, ends: Ends) -> bool:
    scores = family.table["score"]
    return bool(ends[0] <= scores.min() and scores.max() <= ends[1])


# --- Raters in the order in which they finished ---------------------------------------------------


def first_sessions(table: pd.DataFrame) -> list[str]:
    """The session with which each rater counts, in the order in which they finished.

    Who is still listening has no final mean; who came back counts once, with the first session.
    """
    done = table[table["session_status"] == FINISHED]
    ended = done.groupby("session", sort=True)["rated_at"].max().sort_values(kind="stable")
    rater_of = done.drop_duplicates("session").set_index("session")["rater"]
    return ended.index[~rater_of.loc[ended.index].duplicated()].tolist()


def rated_by_finished(table: pd.DataFrame) -> pd.DataFrame:
    """Return the ratings of the sessions with which raters count (`first_sessions`)."""
    return table[table["session"].isin(first_sessions(table))]


def _by_rater(table: pd.DataFrame, columns: str | list[str]) -> pd.DataFrame:
    """Mean scores: raters in the order of finishing down, conditions (or pairs) across."""
    order = first_sessions(table)
    mine = rated_by_finished(table)
    means = mine.groupby(["session", *([columns] if isinstance(columns, str) else columns)])
    return means["score"].mean().unstack(columns).reindex(order)


# --- Conditions rated one by one ------------------------------------------------------------------


class _Bounds(TypedDict):
    """Bounds of a mean over raters, or of a difference; ``None`` while nobody has finished."""

    value: float | None
    low: float | None
    high: float | None
    raters: int


def _difference(one: _Bounds, other: _Bounds) -> _Bounds:
    """The difference of two means by the ends of their bounds."""
    both = [each[end] for each in (one, other) for end in ("value", "low", "high")]
    raters = min(one["raters"], other["raters"])
    if any(each is None for each in both):
        return _Bounds(value=None, low=None, high=None, raters=raters)
    a, a_low, a_high, b, b_low, b_high = (float(each or 0.0) for each in both)
    return _Bounds(value=a - b, low=a_low - b_high, high=a_high - b_low, raters=raters)


def _bounds(x: Floats, ends: Ends, level: float) -> _Bounds:
    x = x[~np.isnan(x)]
    if not len(x):
        return _Bounds(value=None, low=None, high=None, raters=0)
    last = bounded_sequence(x, ends, level=level, truncation=TRUNCATION).last()
    return _Bounds(value=last["value"], low=last["low"], high=last["high"], raters=len(x))


def _of_systems(s: Ranking, question: InterimQuestion) -> InterimRow:
    table, ends = _by_rater(s.family.table, "condition"), question["ends"]
    reference = s.reference.name
    rated = rated_by_finished(s.family.table)
    means = {str(name): _bounds(table[name].to_numpy(), ends, s.level) for name in table}
    aside = {reference, *s.anchors}
    planned = {column["condition"] for column in question["columns"]} | set(means)
    candidates = len(planned - aside)
    systems = [name for name in s.systems if name in means]
    against = [(name, reference) for name in systems] if reference in means else []
    pairs = [
        *_differences(table, against, candidates, candidates + 1, ends, s.level),
        *_differences(
            table,
            list(combinations(systems, 2)),
            candidates * (candidates - 1) // 2,
            candidates,
            ends,
            s.level,
        ),
    ]
    return {
        **_row(s.family, s.level),
        "kind": "systems",
        "reference": reference,
        "means": _in_order(means, s.low_is_best, rated),
        "pairs": [
            _pair(names, bounds, 0.0, s.differ(*names), rated[rated["condition"].isin(names)])
            for names, bounds in pairs
        ],
    }


def _differences(
    table: pd.DataFrame,
    pairs: Sequence[Names],
    comparisons: int,
    conditions: int,
    ends: Ends,
    level: float,
) -> Iterator[tuple[Names, _Bounds]]:
    """Bounds of differences that hold for all ``comparisons`` planned at once (Bonferroni).

    Within raters; where there are too many, or raters who gave both are lacking, by the bounds of
    the two means, which then share the level among the ``conditions`` planned.
    """
    rated = table.notna()
    paired = conditions <= MOST_PAIRED and all((rated[a] & rated[b]).any() for a, b in pairs)
    if paired:
        each, span = 1 - (1 - level) / max(comparisons, 1), ends[1] - ends[0]
        for a, b in pairs:
            x = (table[a] - table[b]).to_numpy()
            yield (a, b), _bounds(x, (-span, span), each)
        return
    each = 1 - (1 - level) / max(conditions, 1)
    alone = {
        name: _bounds(table[name].to_numpy(), ends, each)
        for name in dict.fromkeys(name for pair in pairs for name in pair)
    }
    yield from (((a, b), _difference(alone[a], alone[b])) for a, b in pairs)


def _in_order(
    means: Mapping[str, _Bounds], low_is_best: bool, rated: pd.DataFrame
) -> list[InterimMean]:
    def place(item: tuple[str, _Bounds]) -> tuple[bool, float, str]:
        value = item[1]["value"]
        return value is None, (value or 0.0) * (1 if low_is_best else -1), item[0]

    return [
        InterimMean(condition=name, **bounds, **_counts(rated[rated["condition"] == name]))
        for name, bounds in sorted(means.items(), key=place)
    ]


class _Counts(TypedDict, total=False):
    ratings: int
    items: int


def _counts(rated: pd.DataFrame) -> _Counts:
    return _Counts(ratings=len(rated), items=int(items_of(rated).nunique()))


def _pair(
    names: Names, bounds: _Bounds, neutral: float, significant: bool, rated: pd.DataFrame
) -> InterimPair:
    low, high = bounds["low"], bounds["high"]
    decided = low is not None and high is not None and (low > neutral or high < neutral)
    return InterimPair(
        condition=names[0],
        versus=names[1],
        **bounds,
        decided=decided,
        claimed=decided and significant,
        **_counts(rated),
    )


# --- Clips heard in pairs -------------------------------------------------------------------------


def _of_pairs(family: Family, question: InterimQuestion, level: float) -> InterimRow:
    """Each pair's mean for the one named first, as `pairs_of` turns it."""
    estimand = estimand_of(family.estimand)
    neutral = float(estimand.neutral or 0.0)
    rated = rated_by_finished(family.table)
    table = _by_rater(family.table, ["condition", "versus_condition"])
    columns = [(c["condition"], c["versus_condition"]) for c in question["columns"]]
    planned = {frozenset(pair) for pair in (*columns, *table.columns)}
    each = 1 - (1 - level) / max(len(planned), 1)
    rows = []
    for pair in pairs_of(family, level):
        names = (pair.condition, pair.versus)
        bounds = _bounds(_seen_from(table, names, estimand), question["ends"], each)
        significant = pair.p is not None and pair.p < 1 - level
        sides = rated[["condition", "versus_condition"]].isin(names).all(axis=1)
        rows.append(_pair(names, bounds, neutral, significant, rated[sides]))
    return {**_row(family, level), "kind": "pairs", "neutral": neutral, "pairs": rows}


def _seen_from(table: pd.DataFrame, names: Names, estimand: Estimand) -> Floats:
    """Rater means of a pair, seen from its first side, whichever side a rating names first."""
    nothing = pd.Series(np.nan, index=table.index)
    one = table.get(names, nothing)
    other = estimand.mirrored(table.get(names[::-1], nothing))
    means: Floats = pd.concat([one, other], axis=1).mean(axis=1).to_numpy(dtype=np.float64)
    return means
