"""SessionSummary: what a session came to, counted, so that tables of sessions filter and sort."""

from django.db import models

from listening.models.session import Session


class SessionSummary(models.Model):
    """Counts of a session's trials, kept up to date by `listening.sessions.session_summaries`."""

    session = models.OneToOneField(
        Session, models.CASCADE, primary_key=True, related_name="summary"
    )
    trials = models.PositiveIntegerField(default=0)  # its own; those that others took over are not
    answered = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    traps = models.PositiveIntegerField(default=0)  # answered
    traps_failed = models.PositiveIntegerField(default=0)
    checks_failed = models.PositiveSmallIntegerField(default=0)
    median_ms = models.PositiveIntegerField(null=True)  # per answered trial, practice left out
    agreement = models.FloatField(null=True)  # Pearson's r with the others' means
    shared = models.PositiveIntegerField(default=0)  # ratings that r is of
    signs = models.PositiveIntegerField(default=0)  # trials with signs of a program
    answered_at = models.DateTimeField(null=True)  # the last one
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"summary of session {self.pk}"
