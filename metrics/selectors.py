"""The only reads that leave the room: score_rows, and scores_mark, which changes with them."""

from __future__ import annotations

import hashlib
from typing import TypedDict

from django.db.models import Count, Max

from metrics.base import Metric, make_metric, registry
from metrics.models import MetricScore


class ScoreRow(TypedDict):
    """One metric's score of one stimulus; value None: the metric has no value for this audio."""

    sha256: str
    stimulus: str
    metric: str
    version: str
    value: float | None


def score_rows(study_slug: str, metric: str | None = None) -> list[ScoreRow]:
    """Stored scores of a study's stimuli by one metric (or all), in the stimuli's order.

    Only the present version of each metric with its default parameters; a stimulus that was not
    scored yet, or whose run broke, has no row.
    """
    from listening.selectors import stimulus_rows

    metrics = [make_metric(key) for key in ([metric] if metric else registry())]
    stimuli = stimulus_rows(study_slug)
    hashes = list({row["sha256"] for row in stimuli})
    rows = []
    for each in metrics:
        values = stored_values(each, hashes)
        rows += [
            ScoreRow(
                sha256=row["sha256"],
                stimulus=row["stimulus"],
                metric=each.key,
                version=each.version,
                value=values[row["sha256"]],
            )
            for row in stimuli
            if row["sha256"] in values
        ]
    return rows


def stored_values(metric: Metric, hashes: list[str]) -> dict[str, float | None]:
    """The metric's stored value of each audio hash that it has scored."""
    scores = MetricScore.objects.filter(
        metric=metric.key,
        version=metric.version,
        parameters=metric.parameters_dict(),
        sha256__in=hashes,
        failed=False,
    )
    return dict(scores.values_list("sha256", "value"))


def scores_mark(study_slug: str) -> str:
    """A mark that changes when scores of a study's stimuli come or are made again."""
    from listening.selectors import stimulus_rows

    hashes = {row["sha256"] for row in stimulus_rows(study_slug)}
    stored = MetricScore.objects.filter(sha256__in=hashes)
    facts = stored.values("metric", "version").annotate(n=Count("pk"), at=Max("computed_at"))
    told = sorted(f"{f['metric']} {f['version']} {f['n']} {f['at']}" for f in facts)
    versions = sorted(f"{key} {metric.version}" for key, metric in registry().items())
    return hashlib.sha256("\n".join([*told, *versions]).encode()).hexdigest()[:16]
