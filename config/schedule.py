"""What the clock asks for, and how often: Celery's beat reads it."""

from __future__ import annotations

from typing import Any


def _every(seconds: float, task: str, **options: Any) -> dict[str, Any]:
    """A job that nobody took until the next one is due is dropped."""
    return {"task": task, "schedule": seconds, "options": {"expires": seconds, **options}}


BEAT = {
    "return-expired-leases": _every(30.0, "listening.jobs.return_expired_leases"),
    "clear-unused-appearances": _every(600.0, "listening.jobs.clear_unused_appearances"),
    "erase-due-studies": _every(3600.0, "listening.jobs.erase_due_studies"),
    "look-at-prolific": _every(300.0, "listening.jobs.look_at_prolific"),
    "watch-studies": _every(60.0, "listening.jobs.watch_studies"),
    "watch-rates": _every(600.0, "listening.jobs.watch_rates"),
    "send-messages": _every(30.0, "listening.jobs.send_messages"),
    "forget-old-messages": _every(3600.0, "listening.jobs.forget_old_messages"),
    # Those of queue gpu may all be busy.
    "continue-dead-shards": _every(20.0, "metrics.jobs.continue_dead_shards", queue="default"),
}
