"""Review jobs: their items, reviewers, assignments and verdicts."""

from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from listening.models.material import Stimulus
from listening.models.session import Trial
from listening.models.study import Study


class ReviewJob(models.Model):
    """One question to experts about a study's reasons or clips, drawn by a seed."""

    class State(models.TextChoices):
        DRAFT = "draft"
        OPEN = "open"
        CLOSED = "closed"

    class Resolving(models.TextChoices):  # how reviewers who differ come to one verdict
        NONE = "none"
        THIRD = "third"  # an adjudicator, who sees no verdict of others
        TALK = "talk"  # they themselves, who then see each other's

    study = models.ForeignKey(Study, models.CASCADE, related_name="review_jobs")
    kind = models.CharField(max_length=20)  # a key of listening.review.kinds
    title = models.CharField(max_length=120)
    instructions = models.TextField(blank=True)
    settings = models.JSONField(default=dict)  # of its kind, see Kind.settings
    seed = models.BigIntegerField()
    per_item = models.PositiveSmallIntegerField(default=2)  # reviewers of each item
    repeated = models.FloatField(default=0.0)  # share that each reviewer is shown a second time
    training_pass = models.FloatField(default=0.0)  # share of training to get right; 0: no rule
    resolving = models.CharField(max_length=5, choices=Resolving, default=Resolving.NONE)
    rule = models.CharField(max_length=20)  # a key of listening.review.rules, and its version
    rule_version = models.CharField(max_length=10)
    in_use = models.BooleanField(default=True)  # analyses and exports take its outcomes
    state = models.CharField(max_length=6, choices=State, default=State.DRAFT)
    by = models.CharField(max_length=150)
    created_at = models.DateTimeField(auto_now_add=True)
    opened_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    unblinded_at = models.DateTimeField(null=True)  # results by system and label are shown since

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(per_item__gte=1, repeated__gte=0, repeated__lte=1),
                name="review_counts_are_possible",
            )
        ]

    def __str__(self) -> str:
        return self.title


class Reviewer(models.Model):
    """An expert in one job: a member of the project, or whoever has the link. Never a rater."""

    job = models.ForeignKey(ReviewJob, models.CASCADE, related_name="reviewers")
    number = models.PositiveSmallIntegerField()  # others know them as "Reviewer 2"
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="reviews"
    )
    digest = models.CharField(max_length=64, blank=True)  # of a link; "": by their account
    whom = models.CharField(max_length=120, blank=True)  # a note for the researchers
    adjudicates = models.BooleanField(default=False)  # gets what the others differ about, only
    let_on = models.BooleanField(default=False)  # goes on though training was not passed
    sees_results = models.BooleanField(default=False)  # of the study, by their role
    by = models.CharField(max_length=150)  # the name that the maker had then
    made_by = models.ForeignKey(  # of a link; NULL: the command line, or an account that is gone
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)  # when they were last given something

    class Meta:
        ordering = ["job", "number"]
        constraints = [
            models.UniqueConstraint(fields=["job", "number"], name="reviewer_number_once_per_job"),
            models.UniqueConstraint(fields=["job", "user"], name="reviewer_once_per_job"),
            models.UniqueConstraint(
                fields=["digest"], condition=~Q(digest=""), name="one_reviewer_per_link"
            ),
        ]

    def __str__(self) -> str:
        return f"Reviewer {self.number}"


class ReviewItem(models.Model):
    """What is judged: the reason given in a trial, or a clip (maybe with others beside it)."""

    job = models.ForeignKey(ReviewJob, models.CASCADE, related_name="items", db_index=False)
    trial = models.ForeignKey(Trial, models.CASCADE, null=True, related_name="review_items")
    stimulus = models.ForeignKey(  # NULL: replaced or taken away since
        Stimulus, models.SET_NULL, null=True, related_name="review_items"
    )
    clip = models.JSONField(default=dict)  # what it was when it was drawn: ClipNames; {}: a reason
    others = ArrayField(models.BigIntegerField(), default=list)  # stimuli heard beside it
    part = models.CharField(max_length=20, blank=True)  # which question, where a kind has several
    position = models.PositiveIntegerField()  # random
    wanted = models.PositiveSmallIntegerField()  # reviewers
    gold = models.JSONField(null=True)  # the answer that it is to get; it trains, and never counts
    gold_because = models.CharField(max_length=300, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "position"], name="review_position_once"),
            models.UniqueConstraint(fields=["job", "trial", "part"], name="reason_once_per_job"),
            models.UniqueConstraint(fields=["job", "stimulus", "part"], name="clip_once_per_job"),
            models.CheckConstraint(
                condition=Q(trial__isnull=False) ^ ~Q(clip={}),
                name="a_review_item_is_a_reason_or_a_clip",
            ),
        ]

    def __str__(self) -> str:
        return f"review item {self.pk}"

    @property
    def all_clips(self) -> list[dict[str, str]]:
        """Its clip and those beside it, by name and hash, as they were when they were drawn."""
        return [self.clip, *self.clip["others"]]


class ReviewAssignment(models.Model):
    """An item given to a reviewer, once for each occasion. Its code is all that they learn."""

    class Occasion(models.IntegerChoices):
        FIRST = 1
        AGAIN = 2  # the same item, unannounced: how well somebody agrees with themselves
        THIRD = 3  # an adjudicator's
        TALK = 4  # after the reviewers who differ saw each other's verdicts

    item = models.ForeignKey(ReviewItem, models.CASCADE, related_name="assignments", db_index=False)
    reviewer = models.ForeignKey(Reviewer, models.CASCADE, related_name="assignments")
    occasion = models.PositiveSmallIntegerField(choices=Occasion, default=Occasion.FIRST)
    code = models.UUIDField(unique=True, default=uuid4, editable=False)
    again = models.BooleanField(default=False)  # drawn to be shown a second time
    given_at = models.DateTimeField(auto_now_add=True)  # last
    # Of the newest verdict of one's own; a trigger keeps them (migration 0033)
    category = models.TextField(blank=True)
    answered_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item", "reviewer", "occasion"], name="review_item_once_per_reviewer"
            )
        ]

    def __str__(self) -> str:
        return f"assignment {self.pk}"


class Verdict(models.Model):
    """What a reviewer said of an item; the newest one holds, and all of them stay."""

    class Phase(models.TextChoices):
        OWN = "own"
        HINTED = "hinted"  # after suggestions were shown; counted apart

    assignment = models.ForeignKey(
        ReviewAssignment, models.CASCADE, related_name="verdicts", db_index=False
    )
    key = models.UUIDField(unique=True)  # made by the browser: sent twice, it is stored once
    phase = models.CharField(max_length=6, choices=Phase, default=Phase.OWN)
    answer = models.JSONField()
    category = models.TextField()  # the answer as agreement compares it, see Kind.checked
    note = models.TextField(blank=True)
    seconds = models.FloatField(null=True)  # from shown to answered
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["assignment", "-id"], name="verdict_newest")]

    def __str__(self) -> str:
        return f"verdict {self.pk}"


class LeftOut(models.Model):
    """A system or a clip that analyses leave out, or take in again; the newest row of it holds."""

    class What(models.TextChoices):
        CONDITION = "condition"
        STIMULUS = "stimulus"

    study = models.ForeignKey(Study, models.CASCADE, related_name="left_out")
    what = models.CharField(max_length=9, choices=What)
    name = models.CharField(max_length=120)  # its key in the study
    out = models.BooleanField(default=True)
    because = models.CharField(max_length=300, blank=True)
    by = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.what} {self.name}"
