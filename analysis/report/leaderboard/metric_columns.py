"""The metrics of a leaderboard: the mean of each system over its clips, beside its human score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.ratings.metric_scores import directions, of_metrics, titles
from analysis.report.leaderboard.gathering import StudyInput


@dataclass(frozen=True)
class MetricColumns:
    """Means by (metric, system), which metrics are better when lower or have no direction."""

    names: Sequence[str]
    means: Mapping[tuple[str, str], float]
    direction: Mapping[str, bool | None]
    titles: Mapping[str, str]
    notes: Sequence[str]

    def key(self, metric: str) -> str:
        """The column's key in the rows."""
        return f"metric {metric}"


def metric_columns(studies: Sequence[StudyInput], ratings: pd.DataFrame) -> MetricColumns:
    """The scores that exist of the rated clips; a clip of several studies counts once."""
    scores = _by_audio(studies)
    clips = ratings[["system", "clip"]].drop_duplicates()
    joined = clips.merge(scores, on="clip", how="inner")
    valued = joined.dropna(subset=["value"])
    once = valued.groupby(["metric", "system", "clip"], sort=True)["value"].mean()
    means = once.groupby(level=["metric", "system"]).mean()
    pairs = zip(means.index.to_list(), means.to_list(), strict=True)
    names = list(dict.fromkeys(once.index.get_level_values("metric")))
    direction: dict[str, bool | None] = {}
    for study in studies:
        direction |= {name: up for name, up in directions(study.scores).items() if up is not None}
    called = titles_of(studies, names)
    return MetricColumns(
        names=names,
        means={(str(key[0]), str(key[1])): float(each) for key, each in pairs},
        direction={name: direction.get(name) for name in names},
        titles=called,
        notes=[*_versions(joined, called), *_gaps(clips, once, called)],
    )


def titles_of(studies: Sequence[StudyInput], names: Sequence[str]) -> dict[str, str]:
    """What each metric is called by the studies; its name where they differ or two are alike."""
    said: dict[str, set[str]] = {name: set() for name in names}
    for study in studies:
        for name, title in titles(study.scores).items():
            if name in said and title:
                said[name].add(title)
    one = {name: next(iter(found)) for name, found in said.items() if len(found) == 1}
    often = Counter(one.values())
    return {name: one[name] if often[one.get(name, "")] == 1 else name for name in names}


def _by_audio(studies: Sequence[StudyInput]) -> pd.DataFrame:
    parts = []
    for study in studies:
        audio = {clip["stimulus"]: clip["sha256"] for clip in study.facts["clips"]}
        own = of_metrics(study.scores)
        parts.append(
            pd.DataFrame(
                {
                    "clip": own["stimulus"].map(audio),
                    "metric": own["metric"].astype(str),
                    "version": own["version"].astype(str),
                    "value": own["value"],
                }
            ).dropna(subset=["clip"])
        )
    return pd.concat(parts, ignore_index=True)


def _versions(joined: pd.DataFrame, called: Mapping[str, str]) -> Iterator[str]:
    """Metrics whose numbers are of several versions."""
    for name, title in called.items():
        versions = sorted(set(joined.loc[joined["metric"] == name, "version"]))
        if len(versions) > 1:
            yield f"{title} was computed by several versions ({', '.join(versions)}): score again."


def _gaps(clips: pd.DataFrame, once: pd.Series, called: Mapping[str, str]) -> Iterator[str]:
    """Metrics that lack some clips."""
    there = once.groupby(level=["metric", "system"]).size()
    wanted = clips.groupby("system").size()
    for name, title in called.items():
        of_systems = [(str(s), int(there.get((name, s), 0)), int(n)) for s, n in wanted.items()]
        short = [f"{system} {has} of {n}" for system, has, n in of_systems if has < n]
        if short:
            more = f" and {len(short) - 6} more" if len(short) > 6 else ""
            yield f"{title} is not there for every clip: {'; '.join(short[:6])}{more}."
