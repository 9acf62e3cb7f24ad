"""A review named on the command line."""

from __future__ import annotations

from django.core.management.base import CommandError

from listening.models import ReviewJob


def review_named(study: str, review: str) -> ReviewJob:
    """By its number, as in its page's address, or by its title."""
    jobs = ReviewJob.objects.filter(study__key=study).select_related("study")
    found = [job for job in jobs if review in (str(job.pk), job.title)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{job.pk} “{job.title}”" for job in jobs) or "none"
    told = "several reviews" if found else "no review"
    raise CommandError(f"The study “{study}” has {told} “{review}”. By number: {known}.")
