"""Tables: MetricScore (what a metric says of an audio file); ScoringRun, ScoringShard (asked)."""

from django.db import models


class MetricScore(models.Model):
    """One output of one metric, with one version and set of parameters, of one audio file.

    Audio is named by the SHA-256 of its bytes: equal files share their scores, in any study. A
    number that depends on more than the audio (a text, a reference) has the mark of that in
    ``given``. Numbers computed elsewhere belong to the study into which they were imported.
    """

    class Origin(models.TextChoices):
        COMPUTED = "computed"
        IMPORTED = "imported"

    sha256 = models.CharField(max_length=64)
    metric = models.CharField(max_length=100, help_text="The output's key.")
    version = models.CharField(max_length=40)
    parameters = models.JSONField(default=dict, blank=True)
    given = models.CharField(
        max_length=64,
        blank=True,
        default="",
        help_text="Mark of the material beside the audio; of an imported score, of its study.",
    )
    origin = models.CharField(max_length=8, choices=Origin, default=Origin.COMPUTED)
    value = models.FloatField(null=True, blank=True)
    reason = models.TextField(blank=True, help_text="Why there is no value.")
    failed = models.BooleanField(
        default=False, help_text="The run broke; the next run tries this file again."
    )
    details = models.JSONField(default=dict, blank=True)
    provenance = models.JSONField(default=dict, blank=True)
    computed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["sha256", "metric", "version", "parameters", "given", "origin"],
                name="one_score_per_audio_metric_parameters_material_and_origin",
            ),
            models.CheckConstraint(
                condition=models.Q(value__isnull=True) ^ models.Q(reason=""),
                name="either_a_value_or_a_reason",
            ),
            models.CheckConstraint(
                condition=models.Q(failed=False) | models.Q(value__isnull=True),
                name="a_failed_score_has_no_value",
            ),
        ]
        indexes = [models.Index(fields=["metric", "version"], name="score_by_metric")]

    def __str__(self) -> str:
        shown = self.reason if self.value is None else f"{self.value:.6g}"
        return f"{self.metric} {self.version} of {self.sha256[:12]}: {shown}"
