"""What the clock asks for, and how often: Celery's beat reads it."""

from __future__ import annotations

from typing import Any


def every(seconds: float, task: str, **options: Any) -> dict[str, Any]:
    """A job asked for again and again; one that nobody took by then is not done twice."""
    return {"task": task, "schedule": seconds, "options": {"expires": seconds, **options}}


CELERY_BEAT_SCHEDULE = {
    "send-lost-jobs": every(20.0, "listening.jobs.send_lost_jobs"),
    "return-expired-leases": every(30.0, "listening.jobs.return_expired_leases"),
    "count-sessions": every(60.0, "listening.jobs.count_sessions"),
    "clear-unused-appearances": every(600.0, "listening.jobs.clear_unused_appearances"),
    "erase-due-studies": every(3600.0, "listening.jobs.erase_due_studies"),
    "forget-ended-log-ins": every(3600.0, "listening.jobs.forget_ended_log_ins"),
    "look-at-prolific": every(300.0, "listening.jobs.look_at_prolific"),
    "watch-studies": every(60.0, "listening.jobs.watch_studies"),
    "watch-rates": every(600.0, "listening.jobs.watch_rates"),
    "send-messages": every(30.0, "listening.jobs.send_messages"),
    "forget-old-messages": every(3600.0, "listening.jobs.forget_old_messages"),
    # in the default queue: those that work off the queue gpu may all be busy
    "continue-dead-shards": every(20.0, "metrics.jobs.continue_dead_shards", queue="default"),
}
