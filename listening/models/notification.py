"""Channel to delivery: who is told of what, what has happened, and which message went where."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from listening.models.codes import random_code
from listening.models.project import Project
from listening.models.sealed import SealedCharField
from listening.models.study import Study


def delivery_code() -> str:
    return f"msg_{random_code(24)}"


def percent() -> list[MinValueValidator | MaxValueValidator]:
    return [MinValueValidator(1), MaxValueValidator(99)]


class Channel(models.Model):
    """A way to one person or program: an address for mail, a webhook, an incoming webhook of chat.

    Addresses are sealed: whoever knows that of a chat can write into it.
    """

    class Kind(models.TextChoices):
        MAIL = "mail", "Mail"
        WEBHOOK = "webhook", "Webhook"
        SLACK = "slack", "Slack, Mattermost or Discord"

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="message_channels"
    )
    kind = models.CharField(max_length=7, choices=Kind)
    name = models.CharField(max_length=80)
    address = SealedCharField(max_length=1600)
    secret = SealedCharField(max_length=300, blank=True)  # of a webhook: whsec_…
    old_secret = SealedCharField(max_length=300, blank=True)  # signs too, until `old_until`
    old_until = models.DateTimeField(null=True)
    between_h = models.PositiveSmallIntegerField(default=1)  # hours, per kind of event and study
    confirmed_at = models.DateTimeField(null=True)  # of mail: its reader followed the link
    stopped_at = models.DateTimeField(null=True)  # nothing is sent until it is started again
    problem = models.CharField(max_length=300, blank=True)  # why it was stopped
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "pk"]

    def __str__(self) -> str:
        return f"channel {self.pk}"


class Subscription(models.Model):
    """The events that a channel is told of: of one study, of a project, or of all one's studies."""

    channel = models.ForeignKey(Channel, models.CASCADE, related_name="subscriptions")
    study = models.ForeignKey(Study, models.CASCADE, null=True, related_name="subscriptions")
    project = models.ForeignKey(Project, models.CASCADE, null=True, related_name="subscriptions")
    events = ArrayField(models.CharField(max_length=30), default=list)  # listening.notifications

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["channel", "study", "project"],
                nulls_distinct=False,
                name="subscription_once_per_scope",
            ),
            models.CheckConstraint(
                condition=Q(study__isnull=True) | Q(project__isnull=True),
                name="subscription_has_one_scope",
            ),
        ]

    def __str__(self) -> str:
        return f"subscription {self.pk}"


class StudyLimits(models.Model):
    """From where on a study's figures are unusual; a study without a row has the defaults."""

    study = models.OneToOneField(
        Study, models.CASCADE, primary_key=True, related_name="message_limits"
    )
    stalled_h = models.PositiveSmallIntegerField(
        default=24, validators=[MinValueValidator(1), MaxValueValidator(720)]
    )
    trap_percent = models.PositiveSmallIntegerField(default=20, validators=percent())
    error_percent = models.PositiveSmallIntegerField(default=2, validators=percent())
    budget_percent = models.PositiveSmallIntegerField(default=80, validators=percent())

    def __str__(self) -> str:
        return f"limits of {self.study_id}"


class Occurrence(models.Model):
    """Something that happened to a study, once: it is told once, however often it is looked for.

    What lasts (full, stalled) is one occurrence until it is over; then it can happen again.
    """

    study = models.ForeignKey(Study, models.CASCADE, related_name="occurrences")
    event = models.CharField(max_length=30)  # a key of listening.notifications.kinds
    subject = models.CharField(max_length=160, blank=True)  # which trap, analysis, recruitment
    facts = models.JSONField(default=dict)
    at = models.DateTimeField(auto_now_add=True)
    over_at = models.DateTimeField(null=True)
    dispatched_at = models.DateTimeField(null=True)  # when it was decided who is told

    class Meta:
        ordering = ["at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "event", "subject"],
                condition=Q(over_at__isnull=True),
                name="occurrence_once_until_it_is_over",
            )
        ]
        indexes = [
            models.Index(
                fields=["at"],
                condition=Q(dispatched_at__isnull=True),
                name="occurrence_not_dispatched",
            )
        ]

    def __str__(self) -> str:
        return f"{self.event} of {self.study_id}"


class Delivery(models.Model):
    """One message on its way through a channel, about one kind of event of one study."""

    class State(models.TextChoices):
        WAITING = "waiting"  # for its first or next try, at `next_at`
        SENDING = "sending"  # until `next_at`; who finds it later knows that its sender died
        SENT = "sent"
        FAILED = "failed"  # given up

    channel = models.ForeignKey(Channel, models.CASCADE, related_name="deliveries")
    study = models.ForeignKey(Study, models.CASCADE, null=True, related_name="deliveries")
    event = models.CharField(max_length=30)
    code = models.CharField(max_length=32, unique=True, default=delivery_code)  # webhook-id
    subject = models.CharField(max_length=300)
    text = models.TextField()
    payload = models.JSONField(default=dict)  # of a webhook
    count = models.PositiveIntegerField(default=1)  # occurrences that it tells of
    state = models.CharField(max_length=7, choices=State, default=State.WAITING)
    tries = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField()
    answer = models.CharField(max_length=300, blank=True)  # to the last try
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(
                fields=["next_at"],
                condition=Q(state__in=["waiting", "sending"]),
                name="delivery_not_ended",
            ),
            models.Index(fields=["channel", "study", "event", "-created_at"], name="delivery_last"),
        ]

    def __str__(self) -> str:
        return self.code


class Telling(models.Model):
    """That a channel is told of an occurrence: once. Without a delivery it waits for the next."""

    occurrence = models.ForeignKey(Occurrence, models.CASCADE, related_name="tellings")
    channel = models.ForeignKey(Channel, models.CASCADE, related_name="tellings")
    delivery = models.ForeignKey(Delivery, models.CASCADE, null=True, related_name="tellings")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["occurrence", "channel"], name="told_once_per_channel")
        ]

    def __str__(self) -> str:
        return f"telling {self.pk}"
