"""Heartbeat: one row per process that says when it lived last."""

from django.db import models


class Heartbeat(models.Model):
    """Upserted every few seconds; time and age are the database's, so clocks need not agree."""

    name = models.CharField(max_length=200, primary_key=True)  # jobs@host
    roles = models.CharField(max_length=200)  # its queues with commas between, or "beat", "pages"
    shares = models.TextField(
        db_default=""
    )  # `shared_parts.py`: what this process shares with others
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
