"""The metrics of a table of scores, and what a report calls each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from analysis.ratings.metric_scores import directions, of_metrics, ranges, titles

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Metric:
    """One metric (or version of it) as a report names it; ``rises`` None: nobody says.

    ``ends`` are the least and the greatest value that it can have, None where there is no such end.
    """

    name: str
    metric: str
    version: str
    rises: bool | None
    ends: tuple[float | None, float | None] | None = None  # None: nobody says
    title: str = ""  # what sentences and figures call it


def metrics_of(scores: pd.DataFrame | None) -> tuple[Metric, ...]:
    """Every metric of a table of scores, named with its version where there are several."""
    if scores is None:
        return ()
    known = of_metrics(scores)
    upward, ends, called = directions(known), ranges(known), titles(known)
    both = known[["metric", "version"]].drop_duplicates().sort_values(["metric", "version"])
    several = both["metric"].duplicated(keep=False)
    found = [
        Metric(
            f"{metric} {version}" if more else metric,
            metric,
            version,
            upward[metric],
            ends[metric],
            f"{called[metric]} {version}" if more and called[metric] else called[metric],
        )
        for metric, version, more in zip(both["metric"], both["version"], several, strict=True)
    ]
    often = Counter(each.title for each in found)
    return tuple(
        replace(each, title=each.title if often[each.title] == 1 and each.title else each.name)
        for each in found
    )


def metric_titles(scores: pd.DataFrame | None) -> dict[str, str]:
    """What a report calls each metric that has another title than its name, by that name."""
    return {each.name: each.title for each in metrics_of(scores) if each.title != each.name}
