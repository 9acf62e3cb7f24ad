"""Celery jobs of queue gpu (the settings route metrics.jobs.* there): a study's stimuli scored."""

from __future__ import annotations

from collections.abc import Sequence

from celery import shared_task


@shared_task(name="metrics.jobs.score_study")
def score_study(study_slug: str, metric_keys: Sequence[str] = ()) -> None:
    """Score a study's stimuli; scores are stored as they come, so a second run adds the rest."""
    from metrics import scoring
    from metrics.base import registry

    keys = list(metric_keys) or [k for k, metric in registry().items() if not metric.asked_only]
    scoring.score_study(study_slug, scoring.metrics_of(keys))
