"""How fast raters answer: typical times, haste, and who speeds up, one row per rater and task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from analysis.formatting import first_of
from analysis.name_spans import family_prefix
from analysis.report.content import Column, Content, Figure, Table
from analysis.report.part import PartInput
from analysis.statistics.agreement import Pace, pace_of_raters
from analysis.statistics.agreement.rating_units import numbers

if TYPE_CHECKING:
    import pandas as pd

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
    low, middle, high = np.quantile(typical, [0.1, 0.5, 0.9])
    sentences = [
        f"{family_prefix(title)}a typical answer takes {middle:.1f} s (8 of 10 raters between "
        f"{low:.1f} and "
        f"{high:.1f} s)."
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
