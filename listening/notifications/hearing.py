"""Hears from other rooms what people are told of: that an analysis ended."""

from __future__ import annotations

import logging
from typing import Any

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from listening.notifications import occurring

log = logging.getLogger(__name__)
SEND_MESSAGES = "listening.jobs.send_messages"  # named, since jobs import this package


def note_analysis(study_id: int, run: int, state: str, ratings: int | None, **_signal: Any) -> None:
    """Receives `listening.common.signals.analysed`, in the transaction that ends the run."""
    event = {"done": "analysis.ready", "failed": "analysis.failed"}[state]
    occurring.note(study_id, event, f"run {run}", {"ratings": ratings} if ratings else {})
    transaction.on_commit(_send_soon)


def _send_soon() -> None:
    try:
        current_app.signature(SEND_MESSAGES).apply_async()
    except OperationalError:
        log.warning("The queue of jobs cannot be reached; the beat sends messages later.")
