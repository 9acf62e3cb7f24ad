"""Simulated scores in the place of those that `score_study` would compute on a machine with GPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from benchmarks.paper_folders import Row

if TYPE_CHECKING:
    from metrics.models import MetricScore

AT_ONCE = 2_000


def store_simulated(study: str, scores: Iterable[Row]) -> int:
    """Stores each row (stimulus, metric, value) as the metric's own; how many there are.

    A metric with other than its usual parameters is named as in reports: key[name=value].
    """
    from metrics.models import MetricScore

    rows = list(_rows(study, scores))
    for start in range(0, len(rows), AT_ONCE):
        MetricScore.objects.bulk_create(rows[start : start + AT_ONCE], ignore_conflicts=True)
    return len(rows)


def _rows(study: str, scores: Iterable[Row]) -> Iterator[MetricScore]:
    from django.utils import timezone

    from metrics.core.metric import make_metric, outputs
    from metrics.models import MetricScore
    from metrics.scoring.study_material import study_stimuli

    clips = {row["stimulus"]: (row["sha256"], material) for row, material in study_stimuli(study)}
    made = {}
    for score in scores:
        name = score["metric"]
        if name not in made:
            output, _, given = name.rstrip("]").partition("[")
            pairs = (each.split("=") for each in given.split(",") if given)
            parameters = {key: float(value) for key, value in pairs}
            made[name] = (output, make_metric(outputs()[output].key, parameters))
        output, metric = made[name]
        sha256, material = clips[score["stimulus"]]
        yield MetricScore(
            sha256=sha256,
            metric=output,
            version=metric.version,
            parameters=metric.parameters_dict(),
            given=material.fingerprint(metric.needs),
            value=float(score["value"]),
            provenance={"simulated by": "benchmarks/bench_papers.py"},
            computed_at=timezone.now(),
        )
