"""Fatigue, order and speed: ratings and traps over the session, and how fast raters answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.formatting import first_of, interval_text, number
from analysis.name_spans import family_prefix
from analysis.ratings.breakdowns import Family
from analysis.ratings.estimands import estimand_of
from analysis.ratings.table import TRAINING
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import FamilyInput, PartInput
from analysis.report.parts.raters.rest_tables import inner_range
from analysis.statistics.agreement import (
    Agreement,
    Pace,
    Rated,
    by_position,
    carry_over,
    coded,
    order_effect,
    pace_of_raters,
    rated_units,
    trend,
)
from analysis.statistics.agreement.rating_units import numbers
from analysis.statistics.agreement.versus_rest import rest_means
from analysis.statistics.pairs.pair_ratings import HEARD_SECOND

if TYPE_CHECKING:
    import pandas as pd


STRETCHES = 10  # of a session, for the figure
FIFTHS = 5  # of a session, for traps
TRIALS = 10  # a trend is told per so many
NOTICEABLE = 0.05  # of the scores' range, from the first to the last trial
EFFECTS = (
    Column("measure", "Effect"),
    Column("value", "Value", "number", sign=True),
    Column("interval", "Interval", "interval"),
    Column("n_raters", "Raters", "count"),
    Column("n_ratings", "Ratings", "count"),
    Column("note", "Note"),
)
PLACES = (
    Column("place", "Trials"),
    Column("value", "Traps passed", "percent"),
    Column("passed_percent", "Interval, %", "interval", 0),
    Column("n_raters", "Raters", "count"),
    Column("n_ratings", "Traps", "count"),
    Column("note", "Note"),
)
ORDER_METHODS = (
    "The trend over trials and the carry-over from the clip before (its mean by the other raters; "
    "above 0: assimilation, below 0: contrast) are slopes within raters and clips, clustered over "
    "raters."
)


def effects_of_order(each: FamilyInput) -> Content:
    """Effects of time and order on the ratings of one family."""
    rated, level, title = rated_units(each.family), each.level, each.title
    columns = (rated.unit, rated.rater, rated.score)
    rows, sentences, warnings, figures = [], [], [], []
    if not np.isnan(rated.position).all():
        slope = trend(*columns, rated.position, level=level)
        rows.append(_row(slope, f"Change of a rating over {TRIALS} trials", TRIALS))
        before = carry_over(
            rated.unit, rated.rater, rated.session, rated.score, rated.position, level=level
        )
        rows.append(_row(before, "Change per score unit that the clip before was better"))
        sentences += _trend_in_words(title, slope)
        warnings += _strong(title, slope, rated)
        figures = _order_figure(title, rated, level)
    second = _second(each.family, level)
    if second is not None:
        rows.append(_row(second, "Advantage of the clip heard second"))
    tables = []
    if rows:
        tables.append(Table("order", "Fatigue and order", EFFECTS, rows, about=title))
    tables += _traps(each)
    return Content(sentences, figures, tables, warnings, [ORDER_METHODS] if rows else [])


def stretches(position: Floats, count: int) -> tuple[Codes, list[tuple[int, int]]]:
    """For each position (n,) its stretch of the session, and the first and last trial of each.

    Up to ``count`` stretches with about as many ratings in each: fewer raters come far.
    """
    cuts = np.quantile(position, np.arange(1, count) / count, method="higher")
    _, stretch = np.unique(np.searchsorted(cuts, position, side="right"), return_inverse=True)
    ends = []
    for code in range(int(stretch.max()) + 1):
        mine = position[stretch == code]
        ends.append((int(mine.min()), int(mine.max())))
    return stretch.astype(np.int64), ends


def _order_figure(title: str, rated: Rated, level: float) -> list[Figure]:
    """How far ratings lie from what others gave the same clips, over the session."""
    ratings = coded(rated.unit, rated.rater, rated.score)
    apart = ratings.y - rest_means(ratings)
    known = ~np.isnan(rated.position) & ~np.isnan(apart)
    if not known.any():
        return []
    stretch, ends = stretches(rated.position[known], STRETCHES)
    rows: list[dict[str, Any]] = []
    for place in by_position(stretch, rated.rater[known], apart[known], level=level):
        first, last = ends[int(place.place)]
        numbers = {"low": place.low, "high": place.high}
        counts = {"n_ratings": place.n_ratings, "n_raters": place.n_raters}
        x = (first + last) / 2
        rows.append({"group": "all raters", "x": x, "y": place.value, **numbers, **counts})
    if len(rows) < 2:
        return []
    return [
        Figure(
            "over-trials",
            "Ratings over the session",
            "lines",
            rows,
            x="Trial",
            y="Above what others gave the same clips",
            at=(0.0,),
            note="Each point holds about as many ratings; later ones fewer raters.",
            about=title,
        )
    ]


def _row(effect: Agreement, words: str, times: float = 1) -> dict[str, Any]:
    row = {"measure": words, **plain_row(effect)}
    for name in ("value", "low", "high"):
        row[name] = None if row[name] is None else row[name] * times
    return row


def _trend_in_words(title: str, slope: Agreement) -> list[str]:
    if slope.value is None:
        return []
    change = number(slope.value * TRIALS, True, 3)
    if slope.low is None or slope.high is None:
        return [
            f"{family_prefix(title)}ratings change by {change} over {TRIALS} trials ({slope.note})."
        ]
    ends = interval_text(slope.low * TRIALS, slope.high * TRIALS, None, 3)
    size = f"{change} over {TRIALS} trials {ends}"
    if slope.low <= 0 <= slope.high:
        return [f"{family_prefix(title)}no trend of the ratings over the session is seen ({size})."]
    way = "fall" if slope.value < 0 else "rise"
    return [f"{family_prefix(title)}for the same clips, ratings {way} over the session, by {size}."]


def _strong(title: str, slope: Agreement, rated: Rated) -> list[str]:
    if slope.value is None or slope.low is None or slope.high is None:
        return []
    spread, length = float(np.ptp(rated.score)), float(np.nanmax(rated.position))
    least = min(abs(slope.low), abs(slope.high)) * length
    if slope.low <= 0 <= slope.high or least < NOTICEABLE * spread:
        return []
    return [
        f"{family_prefix(title)}from the first to the last trial a rating moves by {least:.2f} "
        "or more. That "
        "biases no comparison as long as each rater hears the conditions in random order."
    ]


def _second(family: Family, level: float) -> Agreement | None:
    """The advantage of the second clip, for comparisons whose order is known and varies."""
    order = family.table["presented_first"].map(HEARD_SECOND)
    estimand = estimand_of(family.estimand)
    if not estimand.prefers or order.nunique() < 2:
        return None
    rows = order.notna().to_numpy(dtype=bool)
    table = family.table[rows]
    score = estimand.centred(table["score"].to_numpy(dtype=np.float64))
    first = (order[rows] < 0).to_numpy(dtype=bool)
    return order_effect(score, first, table["rater"].to_numpy(dtype=object), level=level)


def _traps(each: FamilyInput) -> Sequence[Table]:
    """The share of traps passed over the session, once per task (its first criterion)."""
    table = before_rules(each.inputs.table, each.family)
    answered = table["trap_passed"].notna() & table["position"].notna()
    use = table[answered & ~table["trap"].isin(["", TRAINING])]
    if len(use) < FIFTHS:
        return []
    stretch, ends = stretches(numbers(use, "position"), FIFTHS)
    passed = use["trap_passed"].astype(bool).to_numpy().astype(np.float64)
    raters = use["rater"].to_numpy(dtype=object)
    rows = []
    for place in by_position(stretch, raters, passed, level=each.level):
        first, last = ends[int(place.place)]
        name = f"{first}–{last}" if last > first else str(first)
        row = plain_row(place)
        for end in ("low", "high"):  # a t interval of a share may run past its ends
            bound = row[end]
            row[f"passed_percent_{end}"] = None if bound is None else 100 * min(max(bound, 0), 1)
        rows.append({**row, "place": name})
    note = "All raters, those included whom the rules leave out. Intervals are cut at 0 and 100 %."
    about = f"Traps · {each.family.group['task']}"
    return [Table("traps", "Traps passed over the session", PLACES, rows, note, about)]


QUICK_MS = 1000.0
HASTY_SHARE = 0.2
FAR_OUT = -3.0
MOST_DRAWN = 25
TRIAL = ["session", "rater", "block", "position"]
COLUMNS = (
    Column("rater", "Rater"),
    Column("n_ratings", "Trials", "count"),
    Column("typical_s", "Typical, s", "number", 1),
    Column("typical_s_interval", "Interval", "interval", 1),
    Column("median_s", "Median, s", "number", 1),
    Column("quick", "Under 1 s", "percent"),
    Column("z", "Against the panel (z)", "number", 1, sign=True),
    Column("speeding_up", "Last third / first", "number", 2),
    Column("note", "Note"),
)
NOTE = (
    "Typical: geometric mean. z: log time against the panel's median in robust SDs, below 0 is "
    "faster. Last third / first: below 1 the rater got faster. A trial counts once, however many "
    "clips or criteria it has."
)
METHODS = (
    "Answer times are summarised per rater by their geometric mean; haste is the share of answers "
    "under 1 s and the robust z of the mean log time over raters (1.4826 MAD)."
)


def answer_times(inputs: PartInput) -> Iterator[Content]:
    """The pace of the raters of each task that has answer times."""
    kept = inputs.kept[inputs.kept["latency_ms"].notna()]
    several = kept["study"].nunique() > 1
    for (study, task), rows in kept.groupby(["study", "task"], sort=True):
        title = f"{study} · {task}" if several else str(task)
        yield _of_task(title, trials(rows), inputs.options.level)


def trials(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per trial: a trial of several clips or criteria has one answer time."""
    placed = rows["position"].notna()
    return rows[~(placed & rows.duplicated(TRIAL))]


def _of_task(title: str, rows: pd.DataFrame, level: float) -> Content:
    paces = pace_of_raters(
        rows["rater"].to_numpy(dtype=object),
        numbers(rows, "latency_ms"),
        numbers(rows, "position") if rows["position"].notna().all() else None,
        quick_ms=QUICK_MS,
        level=level,
    )
    about = f"Answer times · {title}"
    table = [
        {
            **pace.row(),
            "typical_s": pace.typical_ms / 1000,
            "typical_s_interval_low": _seconds(pace.low_ms),
            "typical_s_interval_high": _seconds(pace.high_ms),
            "median_s": pace.median_ms / 1000,
        }
        for pace in paces
    ]
    typical = np.array([pace.typical_ms for pace in paces]) / 1000
    low, middle, high, whom = inner_range(typical)
    sentences = [
        f"{family_prefix(title)}a typical answer takes {middle:.1f} s ({whom} between {low:.1f} "
        f"and {high:.1f} s)."
    ]
    changes = np.array([p.speeding_up for p in paces if p.speeding_up is not None])
    if len(changes) > 2:
        change = float(np.median(changes))
        faster = "faster" if change < 1 else "slower"
        sentences.append(
            f"{family_prefix(title)}from the first to the last third of their trials raters become "
            f"{abs(1 - change):.0%} {faster} in the median."
        )
    return Content(
        sentences=sentences,
        figures=_figure(about, paces),
        tables=[Table("pace", "Answer times", COLUMNS, table, NOTE, about=about, folded=True)],
        warnings=_hasty(title, paces),
        methods=[METHODS],
    )


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _figure(about: str, paces: Sequence[Pace]) -> list[Figure]:
    """The fastest raters; nothing where everybody takes the same time."""
    fastest = sorted(paces, key=lambda pace: (pace.typical_ms, pace.rater))
    if fastest[0].typical_ms == fastest[-1].typical_ms:
        return []
    cut = len(fastest) - MOST_DRAWN
    note = f"The {MOST_DRAWN} fastest; {cut} more are in the table." if cut > 0 else ""
    rows = [
        {"name": pace.rater, "value": pace.typical_ms / 1000}
        | {"low": _seconds(pace.low_ms), "high": _seconds(pace.high_ms)}
        for pace in fastest[:MOST_DRAWN]
    ]
    title = "Typical answer time of each rater, the fastest first"
    return [Figure("pace", title, "intervals", rows, x="Seconds", note=note, about=about)]


def _hasty(title: str, paces: Sequence[Pace]) -> list[str]:
    hasty = [
        pace.rater
        for pace in paces
        if pace.quick > HASTY_SHARE or (pace.z is not None and pace.z < FAR_OUT)
    ]
    if not hasty:
        return []
    return [
        f"{family_prefix(title)}{len(hasty)} of {len(paces)} raters are hasty (over "
        f"{HASTY_SHARE:.0%} of "
        f"answers under {QUICK_MS / 1000:g} s, or far faster than the panel): {first_of(hasty)}."
    ]


class Result(Protocol):
    """What has an interval and can be a row."""

    def row(self) -> dict[str, Any]: ...


def before_rules(table: pd.DataFrame, family: Family) -> pd.DataFrame:
    """The family's rows of the whole table, with traps, repeats and what the rules leave out."""
    same = table["estimand"] == family.estimand
    for name, value in family.group.items():
        same &= table[name] == value
    return table[same]


def plain_row(result: Result) -> dict[str, Any]:
    """A result as a row, in which ``made_by`` names how its interval was made."""
    row = result.row()
    made_by = row.pop("interval")
    return {**row, "made_by": made_by}
