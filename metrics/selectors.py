"""The only reads that leave the room: score_rows."""

from __future__ import annotations

from typing import TypedDict

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
