"""Celery jobs of the room: leases that ran out are given back, unused copies of clips cleared."""

from celery import shared_task

from listening import erasure, leases
from listening.audio.appearance import clear_appearances


@shared_task
def return_expired_leases() -> int:
    """Run by the beat; safe to run twice, and a claim that finds nothing does it too."""
    return leases.return_expired_leases()


@shared_task
def clear_unused_appearances() -> int:
    """Run by the beat: what raters hear now is asked for again, and again made."""
    return clear_appearances()


@shared_task
def erase_due_studies() -> list[str]:
    """Run by the beat: who took part in a study is forgotten on its date."""
    return [str(erased) for erased in erasure.erase_due()]
