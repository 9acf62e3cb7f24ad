"""Tables: MetricScore (what a metric says), ClipFacts, ScoringRun and ScoringShard (asked)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from django.db import models

AT_ONCE = 5_000  # hashes in one query


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
    warnings = models.JSONField(
        default=dict, blank=True, help_text="Words by code: why the value may mislead."
    )
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

    @classmethod
    def of_hashes(cls, hashes: Collection[str]) -> Iterator[models.QuerySet[MetricScore]]:
        """Return queries that together find all scores of these audio files."""
        ordered = sorted(hashes)
        for start in range(0, len(ordered), AT_ONCE):
            yield cls.objects.filter(sha256__in=ordered[start : start + AT_ONCE])


class ClipFacts(models.Model):
    """What an audio file is, measured when it was scored (`metrics.core.audio_facts`)."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    facts = models.JSONField()

    def __str__(self) -> str:
        return f"facts of {self.sha256[:12]}"


class ScoringRun(models.Model):
    """A study's stimuli to be scored: what was asked for; its shards say how far it is."""

    class State(models.TextChoices):
        WORKING = "working"  # some shard waits or is being scored
        DONE = "done"
        FAILED = "failed"  # a shard broke; what it stored is kept
        CANCELLED = "cancelled"

    study = models.ForeignKey("listening.Study", models.CASCADE, related_name="scoring_runs")
    metrics = models.JSONField(default=list, help_text="[{metric, parameters}]")
    device = models.CharField(max_length=4, default="auto")
    asked_at = models.DateTimeField(auto_now_add=True)
    asked_by = models.CharField(max_length=150, blank=True)
    state = models.CharField(max_length=9, choices=State, default=State.WORKING)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-asked_at", "-pk"]

    def __str__(self) -> str:
        return f"scoring run {self.pk} ({self.state})"


class ScoringShard(models.Model):
    """The part of a run whose clips' hashes fall on one number: one worker's job."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    run = models.ForeignKey(ScoringRun, models.CASCADE, related_name="shards")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=7, choices=State, default=State.QUEUED)
    total = models.PositiveIntegerField(default=0, help_text="Clips times metrics.")
    done = models.PositiveIntegerField(default=0, help_text="Of these, with a score now.")
    failed = models.PositiveIntegerField(default=0, help_text="Of these, broke in this run.")
    doing = models.CharField(max_length=200, blank=True)
    worker = models.CharField(max_length=200, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="one_shard_of_a_number_per_run"),
            models.CheckConstraint(
                condition=models.Q(state="failed") ^ models.Q(error=""),
                name="a_failed_shard_says_why",
            ),
        ]

    def __str__(self) -> str:
        return f"shard {self.number} of scoring run {self.run_id} ({self.state})"


class CodeSuggestion(models.Model):
    """Which codes a judge model names for a reason under review: shown after a reviewer's own."""

    item = models.ForeignKey(
        "listening.ReviewItem", models.CASCADE, related_name="code_suggestions"
    )
    version = models.PositiveSmallIntegerField()  # of the codebook
    judge = models.CharField(max_length=200)  # the model that was asked
    rubric = models.CharField(max_length=80)
    rubric_sha256 = models.CharField(max_length=64)
    answered_by = models.CharField(max_length=200, blank=True)  # as the server calls the model
    codes = models.JSONField(null=True)  # NULL: it gave no answer that can be used
    reason = models.CharField(max_length=200, blank=True)  # why not
    asked_again = models.BooleanField(default=False)
    by = models.CharField(max_length=150, blank=True)  # who had it asked
    at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item", "version", "judge", "rubric"], name="code_suggestion_once"
            )
        ]

    def __str__(self) -> str:
        return f"code suggestion {self.pk}"
