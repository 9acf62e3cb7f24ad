"""Celery jobs of queue gpu (the settings route metrics.jobs.* there): shards of a scoring run."""

from __future__ import annotations

from celery import shared_task

from listening.models.requested_jobs import requested_job


@shared_task(name="metrics.jobs.score_shard")
def score_shard(shard_id: int) -> None:
    """Score what one shard of a run misses; it may come twice, and work is then done once."""
    from metrics.scoring import runs

    runs.work_on(shard_id, score_shard.delay)


@shared_task(name="metrics.jobs.continue_dead_shards")  # of queue default: see the schedule
def continue_dead_shards() -> None:
    """Queue again the shards whose worker died."""
    from metrics.scoring import runs

    runs.heal(score_shard.delay)


@requested_job("metrics.jobs.suggest_codes")
def suggest_codes(study: str, pk: int, model: str, by: str) -> None:
    """Ask a judge model for what it has not answered yet; it may come twice."""
    from metrics.scoring.code_suggestions import store_suggestions

    store_suggestions(study, pk, model, by)
