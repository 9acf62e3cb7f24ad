"""Study, Task and Criterion, with the definitions and versions of a study."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models, transaction

from listening.models.codes import link_code
from listening.models.project import Project
from listening.models.sealed import unseal


class Study(models.Model):
    """One published listening test with its tasks, texts, checks and targets."""

    class State(models.TextChoices):
        DRAFT = "draft"
        OPEN = "open"
        PAUSED = "paused"
        CLOSED = "closed"

    RUNNING = (State.OPEN, State.PAUSED)  # raters came, and may come again

    class TaskPlan(models.TextChoices):
        ONE = "one"  # a rater gets one task
        ALL = "all"  # a rater gets every task, in the order of the study

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="studies")
    project = models.ForeignKey(  # whose members may see it; NULL: its owner alone
        Project, models.PROTECT, null=True, related_name="studies"
    )
    key = models.SlugField(max_length=80, unique=True)
    link = models.CharField(max_length=24, unique=True, default=link_code, editable=False)
    title = models.CharField(max_length=200)  # what raters read
    name = models.CharField(max_length=120, blank=True)  # what colleagues read; "": the title
    tags = ArrayField(models.CharField(max_length=40), default=list)
    archived_at = models.DateTimeField(null=True)  # out of the list; nothing else changes
    version = models.PositiveSmallIntegerField(default=1)
    version_of = models.ForeignKey(  # the version before this one
        "self", models.SET_NULL, null=True, related_name="later_versions"
    )
    wording = models.PositiveIntegerField(default=0)  # the revision that raters read now
    keeps_out_earlier = models.BooleanField(default=False)  # who took part in a version before
    language = models.CharField(max_length=16, default="en")
    state = models.CharField(max_length=8, choices=State, default=State.DRAFT)
    seed = models.BigIntegerField(default=0)
    task_plan = models.CharField(max_length=3, choices=TaskPlan, default=TaskPlan.ALL)
    sessions_per_rater = models.PositiveSmallIntegerField(default=1)
    lease_s = models.PositiveIntegerField(
        default=1800, validators=[MinValueValidator(60), MaxValueValidator(7 * 86_400)]
    )
    break_every = models.PositiveSmallIntegerField(default=0)  # trials; 0: no breaks
    loudness_lufs = models.FloatField(null=True)  # what served clips were brought to
    sample_rate_hz = models.PositiveIntegerField(null=True)  # what served clips were brought to
    low_cut_hz = models.PositiveSmallIntegerField(default=50)  # what served clips lost: 20 or 50
    ends = models.CharField(max_length=5, default="as_is")  # of served clips: alike, or as_is
    texts = models.JSONField(default=dict)  # welcome, consent, consent_version, end, contact …
    translations = models.JSONField(default=dict)  # language -> {"title", "texts"}
    checks = models.JSONField(default=list)  # [{"key": "volume", ...its settings}]
    questionnaires = models.JSONField(default=list)  # see listening.design.questionnaires
    settings = models.JSONField(default=list)  # see listening.design.settings
    sources = models.JSONField(default=list)  # see listening.design.sources
    source_secrets = models.JSONField(default=dict, db_default={})  # key of a source -> sealed
    publication = models.JSONField(default=dict)  # licences, and what the consent lets leave
    ethics = models.JSONField(default=dict)  # what a board asks: see listening.design.consent
    payment = models.JSONField(default=dict)  # by whom, per_hour, currency; {}: not said
    covariates = models.JSONField(default=list)  # names, of clips
    stop = models.JSONField(default=dict)  # see listening.design.stop_rule; {}: no rule
    look_problem = models.JSONField(default=dict, db_default={})  # see studies.stopping; {}: none
    completion_codes = models.JSONField(default=dict)  # outcome -> code shown at the end
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True)
    erase_after_days = models.PositiveIntegerField(null=True)  # once closed; NULL: never
    erase_on = models.DateField(null=True)  # instead of days; not before it is closed
    erase_reasons = models.BooleanField(default=False)  # with what names raters
    erased_at = models.DateTimeField(null=True)  # when what names raters was erased
    closed_at = models.DateTimeField(null=True)
    may: frozenset[str] = frozenset()  # what who asks may do: see listening.access.rights.study_for

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(keeps_out_earlier=False) | models.Q(version__gt=1),
                name="only_a_later_version_keeps_out_earlier_raters",
            )
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def called(self) -> str:
        """What researchers call it."""
        return self.name or self.title

    def source_secret(self, key: str) -> str:
        """The secret with which a source of this key signs; "" where none is set."""
        return unseal(self.source_secrets.get(key, ""))

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Its blocks first: one that is leased cannot lose its session alone.

        The database refuses it where there are ratings; see `listening.studies.delete_study`.
        """
        with transaction.atomic():
            for task in self.tasks.all():
                task.blocks.all().delete()
            return super().delete(*args, **kwargs)


class Task(models.Model):
    """One way of asking inside a study: method, criteria, material, block size, target."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="tasks")
    key = models.SlugField(max_length=80)
    order = models.PositiveSmallIntegerField()
    title = models.CharField(max_length=200, blank=True)
    instructions = models.TextField(blank=True)
    method = models.CharField(max_length=40)  # a key of listening.methods
    options = models.JSONField(default=dict)  # what the method lets a study choose
    material = models.JSONField(default=dict)  # conditions, dimensions, draw: TaskEntry.material
    block_size = models.PositiveSmallIntegerField()
    ratings_per_stimulus = models.PositiveSmallIntegerField()
    min_raters = models.PositiveSmallIntegerField(null=True)  # of each condition; None: none
    blocks_per_session = models.PositiveSmallIntegerField(default=1)
    blocks_per_rater = models.PositiveSmallIntegerField(default=1)
    repeat_items = models.BooleanField(default=False)
    allow_missing = models.BooleanField(default=False)
    show_text = models.BooleanField(default=False)
    show_caption = models.BooleanField(default=False)
    autoplay = models.BooleanField(default=False)  # from the second trial of a page on
    justification = models.JSONField(default=dict)  # {"required": bool, "min_chars": int, ...}
    traps = models.JSONField(default=dict)  # see listening.design.traps.TrapPlan
    reopen_invalid = models.BooleanField(default=False)
    repeats = models.PositiveSmallIntegerField(default=0)  # trials of a session asked twice
    examples = models.JSONField(default=list)  # [{"stimulus": key, "caption": "..."}]
    translations = models.JSONField(default=dict)  # language -> title, instructions, criteria …
    training = models.JSONField(default=list)  # [{"stimulus", "expected", "right", "wrong"}]

    class Meta:
        ordering = ["study", "order"]
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="task_key_once_per_study"),
            models.UniqueConstraint(fields=["study", "order"], name="task_order_once_per_study"),
            models.UniqueConstraint(fields=["id", "ratings_per_stimulus"], name="task_target"),
            models.CheckConstraint(
                condition=models.Q(block_size__gte=1, ratings_per_stimulus__gte=1),
                name="task_counts_are_positive",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}/{self.key}"


class Criterion(models.Model):
    """What is asked about a stimulus, and on which scale."""

    task = models.ForeignKey(Task, models.CASCADE, related_name="criteria")
    key = models.SlugField(max_length=80)
    order = models.PositiveSmallIntegerField()
    question = models.CharField(max_length=300)
    help_text = models.TextField(blank=True)
    options = models.JSONField(default=dict)  # of its own scale, over those of the task
    scale = models.JSONField()  # Scale.as_dict() of listening.methods.method

    class Meta:
        verbose_name_plural = "criteria"
        ordering = ["task", "order"]
        constraints = [
            models.UniqueConstraint(fields=["task", "key"], name="criterion_key_once_per_task"),
            models.UniqueConstraint(fields=["task", "order"], name="criterion_order_once_per_task"),
        ]

    def __str__(self) -> str:
        return self.key


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


def earlier_versions(study: Study) -> list[Study]:
    """The versions before this one, the newest first."""
    versions: list[Study] = []
    before = study.version_of
    while before is not None and before not in versions:
        versions.append(before)
        before = before.version_of
    return versions


def all_versions(study: Study) -> list[Study]:
    """Every version of the same study, this one too, in the order of their numbers."""
    family = [(earlier_versions(study) or [study])[-1]]
    for each in family:
        family += each.later_versions.all()
    return sorted(family, key=lambda each: (each.version, each.pk))


def next_version(study: Study) -> int:
    """One more than the newest version there is: two copies of one study are two versions."""
    return max(each.version for each in all_versions(study)) + 1
