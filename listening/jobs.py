"""Celery jobs of the room: leases that ran out are given back."""

from celery import shared_task

from listening import leases


@shared_task
def return_expired_leases() -> int:
    """Run by the beat; safe to run twice, and a claim that finds nothing does it too."""
    return leases.return_expired_leases()
