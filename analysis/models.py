"""AnalysisRun (what was asked, its report), RunFile (made of it), ResultsLink (who may read it).

Leaderboard (several studies, what was last made of them), LeaderboardVersion (what it showed on a
day) and LeaderboardLink (who may read it).
"""

from __future__ import annotations

from functools import cached_property

from django.conf import settings
from django.db import models
from django.utils import timezone

from analysis.report.report_schema import Report
from listening.selectors import holds_right


class AnalysisRun(models.Model):
    """One analysis of a study: what was asked, how far it is, and the report it gave."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"
        STALE = "stale"  # its result is deleted, see StaleBecause

    class StaleBecause(models.TextChoices):
        RATERS = "raters"  # some in it withdrew
        REASONS = "reasons"  # which reports quote, were erased
        VERSION = "version"  # with which it was combined, is deleted

    study = models.ForeignKey("listening.Study", models.CASCADE, related_name="analysis_runs")
    estimator = models.CharField(max_length=60)
    version = models.CharField(max_length=20)
    parameters = models.JSONField(
        default=dict
    )  # see analysis.statistics.options.Options.parameters
    ratings_mark = models.CharField(max_length=200, blank=True)  # just before they were read
    scores_mark = models.CharField(max_length=64, blank=True)
    code = models.CharField(max_length=64, blank=True)  # see analysis.web.cache.code_mark
    table_hash = models.CharField(max_length=64, blank=True)  # known once the table was read
    scores_hash = models.CharField(max_length=64, blank=True)
    ratings = models.PositiveIntegerField(null=True)  # in the table, traps included
    state = models.CharField(max_length=9, choices=State, default=State.QUEUED)
    share = models.FloatField(default=0.0)  # of the work that is done, 0 to 1
    doing = models.CharField(max_length=200, blank=True)  # in words
    result = models.TextField(blank=True)  # the report's JSON; jsonb would reorder its columns
    brief = models.TextField(blank=True)  # the same for the page, its long tables cut
    error = models.TextField(blank=True)
    stale_because = models.CharField(max_length=7, choices=StaleBecause, blank=True)
    raters_gone = models.PositiveIntegerField(default=0)  # withdrew since
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
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

    @property
    def percent(self) -> int:
        """The share of the work that is done, in whole percent."""
        return int(100 * min(max(self.share, 0.0), 1.0))

    @property
    def took_s(self) -> float | None:
        """Seconds from its start to its end, where both are known."""
        if self.started_at is None or self.finished_at is None:
            return None
        return (self.finished_at - self.started_at).total_seconds()

    @property
    def versions(self) -> list[str]:
        """The keys of earlier versions whose ratings are in it, too."""
        return list(self.parameters.get("versions", ()))

    @property
    def asked_for(self) -> str:
        """The options in a few words, as a list of analyses tells them apart."""
        options = self.parameters
        words = [f"{float(options.get('level', 0.95)) * 100:g} %"]
        words += [
            f"by {by.partition(':')[2].replace(',', ' and ')}" for by in options.get("by", ())
        ]
        words += [f"report {options['preset']}"] if options.get("preset") else []
        words += [f"with {', '.join(options['parts'])}"] if options.get("parts") else []
        words += [f"against {options['reference']}"] if options.get("reference") else []
        words += [f"with version “{key}”" for key in self.versions]
        words += [] if options.get("rules") else ["nothing left out"]
        words += [f"seed {options['seed']}"] if options.get("seed") else []
        return ", ".join(words)

    def report(self) -> Report:
        """The report of a run that is done."""
        from analysis.report.writers.exports import report_from_json

        return report_from_json(self.result)

    def page_report(self) -> Report:
        """The report cut to what a page shows, where the run has that."""
        from analysis.report.writers.exports import report_from_json

        return report_from_json(self.brief or self.result)


class RunFile(models.Model):
    """A file that a worker makes from a finished run: the bundle, or the draws of a posterior."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    run = models.ForeignKey(AnalysisRun, models.CASCADE, related_name="files")
    name = models.CharField(max_length=120)
    state = models.CharField(max_length=7, choices=State, default=State.QUEUED)
    error = models.TextField(blank=True)
    content = models.BinaryField(null=True)  # in the database: it goes when its run goes
    size_bytes = models.PositiveBigIntegerField(default=0)
    asked_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "name"], name="one_file_of_a_name_per_run"),
            models.CheckConstraint(
                condition=models.Q(state="done") ^ models.Q(content=None),
                name="a_done_file_has_content",
            ),
            models.CheckConstraint(
                condition=models.Q(state="failed") ^ models.Q(error=""),
                name="a_failed_file_says_why",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} of analysis {self.run_id} ({self.state})"

    @property
    def waits(self) -> bool:
        """Whether it is still being made."""
        return self.state in (self.State.QUEUED, self.State.RUNNING)


class ReadOnlyLink(models.Model):
    """An address under which people without an account read something, until a day.

    The address itself is kept nowhere: its hash finds it again.
    """

    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True)
    name = models.CharField(max_length=80, blank=True)  # whom it is for, in the maker's words
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    last_opened_at = models.DateTimeField(null=True)
    opened = models.PositiveIntegerField(default=0)

    class Meta:
        abstract = True
        ordering = ["-created_at", "-pk"]

    @property
    def is_open(self) -> bool:
        """Whether it still leads anywhere."""
        return self.state == "open"

    @property
    def state(self) -> str:
        """Open, or in two words why it is not."""
        if self.revoked_at is not None:
            return "ended"
        if timezone.now() >= self.expires_at:
            return "expired"
        return "open" if self.maker_may_share else "maker left"

    @cached_property
    def maker_may_share(self) -> bool:
        """Whether who made it could make it still: it ends with their right."""
        return all(holds_right(key, self.made_by, "edit") for key in self.shown_keys)

    @property
    def shown_keys(self) -> list[str]:
        """The keys of the studies that it shows."""
        raise NotImplementedError


class ResultsLink(ReadOnlyLink):
    """A link to one study's results."""

    study = models.ForeignKey("listening.Study", models.CASCADE, related_name="results_links")
    run = models.ForeignKey(  # this analysis and no other; NULL: always the newest
        AnalysisRun, models.CASCADE, null=True, related_name="links"
    )
    audio = models.BooleanField(default=False)  # clips may be heard
    reasons = models.BooleanField(default=False)  # raters' own words may be read

    def __str__(self) -> str:
        return f"link {self.pk} to the results of study {self.study_id}"

    @property
    def shown_keys(self) -> list[str]:
        return [self.study.key]


class Leaderboard(models.Model):
    """Systems and metrics of one or several studies; made again when what it is made of changes."""

    class State(models.TextChoices):
        EMPTY = "empty"  # nothing was made yet, or it was deleted
        WAITING = "waiting"  # for its job; an earlier result may be there
        DONE = "done"
        FAILED = "failed"

    title = models.CharField(max_length=120)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="leaderboards")
    project = models.ForeignKey(
        "listening.Project", models.CASCADE, null=True, related_name="leaderboards"
    )
    reference = models.CharField(max_length=120, blank=True)  # the system others are compared with
    anchors = models.JSONField(default=list)  # names of systems that should not move
    first_day = models.DateField(null=True)  # older answers are set apart
    created_at = models.DateTimeField(auto_now_add=True)
    state = models.CharField(max_length=7, choices=State, default=State.EMPTY)
    mark = models.CharField(max_length=64, blank=True)  # of all that the result was made of
    result = models.TextField(blank=True)  # JSON of the content
    error = models.TextField(blank=True)
    asked_at = models.DateTimeField(null=True)
    made_at = models.DateTimeField(null=True)
    version_note = models.CharField(max_length=200, blank=True)  # of the version that is asked for

    class Meta:
        ordering = ["title", "pk"]

    def __str__(self) -> str:
        return self.title

    @property
    def keys(self) -> list[str]:
        """The keys of its studies, in their order."""
        return list(self.entries.values_list("study__key", flat=True))


class LeaderboardEntry(models.Model):
    """A study on a leaderboard, and its place: scores are on the scale of the first."""

    board = models.ForeignKey(Leaderboard, models.CASCADE, related_name="entries")
    study = models.ForeignKey("listening.Study", models.CASCADE, related_name="board_entries")
    place = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["place", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["board", "study"], name="study_once_per_leaderboard")
        ]

    def __str__(self) -> str:
        return f"study {self.study_id} on {self.board_id}"


class LeaderboardVersion(models.Model):
    """What a leaderboard showed on a day: see analysis.web.board_versions."""

    board = models.ForeignKey(Leaderboard, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    taken_at = models.DateTimeField()
    studies = models.JSONField(default=list)  # their keys
    systems = models.JSONField(default=list)  # their names
    note = models.CharField(max_length=200, blank=True)  # of who asked for it
    text = models.TextField(blank=True)  # the file; empty once it is deleted
    digest = models.CharField(max_length=64)  # SHA-256 of the file
    answers = models.BinaryField(null=True)  # those that may be published: CSV, gzip
    answers_facts = models.JSONField(default=dict)  # see AnswersFacts; in the file, too
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-number"]
        constraints = [
            models.UniqueConstraint(fields=["board", "number"], name="version_once_per_leaderboard")
        ]

    def __str__(self) -> str:
        return f"version {self.number} of leaderboard {self.board_id}"


class LeaderboardLink(ReadOnlyLink):
    """A link to a leaderboard."""

    board = models.ForeignKey(Leaderboard, models.CASCADE, related_name="links")

    def __str__(self) -> str:
        return f"link {self.pk} to leaderboard {self.board_id}"

    @property
    def shown_keys(self) -> list[str]:
        return self.board.keys
