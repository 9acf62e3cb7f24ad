"""StudyEvent: who did what to a study, and when. Rows are added, and never changed or deleted."""

from django.db import models


class StudyEvent(models.Model):
    """One line of a study's log. It outlives the study, so it refers to nothing by a key."""

    study_id = models.BigIntegerField()
    key = models.CharField(max_length=80)  # of the study, then
    owner_id = models.BigIntegerField()  # of the study, then
    by = models.CharField(max_length=150)  # a user name, or where it came from
    what = models.CharField(max_length=40)  # a key of listening.models.study_log.SAID
    details = models.JSONField(default=dict)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-at", "-pk"]
        indexes = [
            models.Index(fields=["study_id", "-at"], name="event_by_study"),
            models.Index(fields=["what", "-at"], name="event_by_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.what} {self.key}"
