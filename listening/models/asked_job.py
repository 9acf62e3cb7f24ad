"""AskedJob: a job that somebody waits for, until it has ended."""

from django.db import models


class AskedJob(models.Model):
    """The queue may lose its message: see `listening.models.requested_jobs`."""

    job = models.CharField(max_length=100)  # the name by which Celery knows it
    given = models.JSONField()
    mark = models.CharField(max_length=64, unique=True)  # of both: asked twice, it is done once
    asked_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)  # its last message
    begun_at = models.DateTimeField(null=True)  # by who took that message
    tries = models.PositiveSmallIntegerField(default=0)  # how often it was begun

    class Meta:
        ordering = ["asked_at", "pk"]

    def __str__(self) -> str:
        return f"{self.job} {self.mark[:8]}"
