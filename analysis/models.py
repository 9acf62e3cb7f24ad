"""One table: AnalysisRun (study, estimator, version, parameters, table hash, result)."""

from __future__ import annotations

from typing import Any

from django.db import models


class AnalysisRun(models.Model):
    """One analysis of a study: what was asked, how far it is, and the report it gave."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    study = models.ForeignKey("listening.Study", models.CASCADE, related_name="analysis_runs")
    estimator = models.CharField(max_length=60)
    version = models.CharField(max_length=20)
    parameters = models.JSONField(default=dict)  # see analysis.options.Options.parameters
    table_hash = models.CharField(max_length=64, blank=True)  # known once the table was read
    state = models.CharField(max_length=7, choices=State, default=State.QUEUED)
    result = models.TextField(blank=True)  # the report's JSON; jsonb would reorder its columns
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [models.Index(fields=["study", "-created_at"], name="run_by_study")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(state="done") ^ models.Q(result=""),
                name="a_done_run_has_a_result",
            ),
            models.CheckConstraint(
                condition=models.Q(state="failed") ^ models.Q(error=""),
                name="a_failed_run_says_why",
            ),
        ]

    def __str__(self) -> str:
        return f"analysis {self.pk} ({self.state})"

    @property
    def waits(self) -> bool:
        """Whether the run is still to come to an end."""
        return self.state in (self.State.QUEUED, self.State.RUNNING)

    def report(self) -> dict[str, Any]:
        """The report of a run that is done."""
        from analysis.report.writers import report_from_json

        return report_from_json(self.result)
