"""StudyDefinition: a study as it was opened, and as each correction of its wording left it."""

from django.db import models

from listening.models.study import Study


class StudyDefinition(models.Model):
    """A frozen definition; rows are added, and never changed: see migration 0022."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="definitions")
    revision = models.PositiveIntegerField()  # of the wording; 0: as opened
    toml = models.TextField()  # study.toml without codes and ways in
    clips = models.TextField()  # CSV: every clip, with the hashes of its audio
    sha256 = models.CharField(max_length=64)  # of both
    changes = models.JSONField(default=list)  # [{"place", "before", "after"}], of a correction
    reason = models.CharField(max_length=300, blank=True)
    ratings = models.PositiveIntegerField()  # that were stored then
    by = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["study", "revision"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "revision"], name="one_definition_per_study_and_revision"
            )
        ]

    def __str__(self) -> str:
        return f"definition {self.revision} of study {self.study_id}"
