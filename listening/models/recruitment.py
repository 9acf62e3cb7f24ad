"""Connection to ledger: a study on Prolific, who came from there, what was decided and paid.

Money is in whole minor units (pence, cents) of the recruitment's currency, unless a field says
otherwise. What was decided or paid is never deleted: `PROTECT` everywhere.
"""

from django.conf import settings
from django.db import models
from django.db.models import Q

from listening.models.codes import random_code
from listening.models.project import Project
from listening.models.sealed import SealedCharField
from listening.models.session import Session
from listening.models.study import Study


def recruitment_code() -> str:
    return random_code(10)


class Connection(models.Model):
    """A researcher's or a project's access to Prolific: the token, and what it allows."""

    owner = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="prolific_connection"
    )
    of_project = models.OneToOneField(  # one of ours; `project` is Prolific's
        Project, models.CASCADE, null=True, related_name="prolific_connection"
    )
    token = SealedCharField(max_length=600)
    account = models.CharField(max_length=200, blank=True)  # whose token it is, as Prolific says
    workspace = models.CharField(max_length=80, blank=True)
    workspace_title = models.CharField(max_length=200, blank=True)
    project = models.CharField(max_length=80, blank=True)
    project_title = models.CharField(max_length=200, blank=True)
    currency = models.CharField(max_length=3, blank=True)
    features = models.JSONField(default=dict)  # name -> True, False; absent: not known
    hook_secret = SealedCharField(max_length=600, blank=True)
    hooks = models.JSONField(default=dict)  # event type -> subscription
    problem = models.CharField(max_length=400, blank=True)  # of the last time it was tried
    tried_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(owner__isnull=False) ^ Q(of_project__isnull=False),
                name="a_connection_is_a_persons_or_a_projects",
            )
        ]

    def __str__(self) -> str:
        return f"connection {self.pk}"


class Recruitment(models.Model):
    """One study on Prolific that sends raters to a study here: a draft first, then published."""

    class State(models.TextChoices):
        PLANNED = "planned"  # here only
        SENDING = "sending"  # being sent as a draft: whether it arrived may not be known
        DRAFT = "draft"  # at Prolific, costs nothing
        PUBLISHING = "publishing"
        LIVE = "live"  # published; `status` says how far it is
        DISCARDED = "discarded"  # the draft was deleted

    study = models.ForeignKey(Study, models.PROTECT, related_name="recruitments")
    connection = models.ForeignKey(Connection, models.PROTECT, related_name="recruitments")
    code = models.CharField(max_length=12, unique=True, default=recruitment_code, editable=False)
    state = models.CharField(max_length=10, choices=State, default=State.PLANNED)
    plan = models.JSONField(default=dict)  # see listening.recruitment.plan.Plan
    currency = models.CharField(max_length=3, blank=True)
    prolific_study = models.CharField(max_length=80, blank=True, db_index=True)
    status = models.CharField(max_length=40, blank=True)  # Prolific's own word
    places = models.PositiveIntegerField(default=0)
    maximum_minutes = models.FloatField(null=True)  # as Prolific has it
    secure = models.BooleanField(default=False)  # its links are signed
    codes = models.JSONField(default=dict)  # outcome -> code, and "server": ours to complete with
    ways = models.JSONField(default=dict)  # outcome -> what its code does at Prolific
    terms = models.JSONField(default=dict, db_default={})  # see listening.recruitment.terms.Terms
    drafted_terms = models.JSONField(default=dict, db_default={})  # as first read, to compare with
    project = models.CharField(max_length=80, blank=True, db_default="", default="")  # Prolific's
    asked_at = models.DateTimeField(null=True)  # for the draft, or for its publication
    fee_share = models.DecimalField(max_digits=14, decimal_places=10, null=True)  # of a reward
    expected_minor = models.DecimalField(max_digits=14, decimal_places=4, null=True)  # with fees
    budget_minor = models.PositiveBigIntegerField(null=True)  # nothing is paid beyond; NULL: none
    two_people = models.BooleanField(default=False)  # a rejection needs a second person
    costs = models.JSONField(default=dict)  # Prolific's own account of it, as last read
    group = models.CharField(max_length=80, blank=True)  # of who took part, at Prolific
    problem = models.CharField(max_length=600, blank=True)  # of the last thing tried
    created_at = models.DateTimeField(auto_now_add=True)
    published_at = models.DateTimeField(null=True)
    synced_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"recruitment {self.code}"


class Submission(models.Model):
    """A participant's place in a study on Prolific, as Prolific has it, and what we decided."""

    class Decision(models.TextChoices):
        NONE = "", "not decided"
        APPROVE = "approve", "approve"
        COMPLETE = "complete", "complete and approve"
        ASK_TO_RETURN = "return", "ask to return"
        PART = "part", "return and pay a part"
        REJECT = "reject", "reject"

    recruitment = models.ForeignKey(Recruitment, models.PROTECT, related_name="submissions")
    session = models.ForeignKey(Session, models.SET_NULL, null=True, related_name="submissions")
    prolific_id = SealedCharField(max_length=160, unique=True)
    participant = SealedCharField(max_length=160)
    child_study = models.CharField(max_length=80, blank=True, db_default="", default="")
    status = models.CharField(max_length=40)
    code = models.CharField(max_length=120, blank=True)  # as entered: NOCODE, or any word
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)
    return_requested_at = models.DateTimeField(null=True)
    bonuses = models.JSONField(default=list)  # minor units, as Prolific lists them
    place_freed = models.BooleanField(default=False)  # our places of it were given to others
    withdrew = models.BooleanField(default=False)  # here, with all answers deleted
    decision = models.CharField(max_length=10, choices=Decision, default="", blank=True)
    reason = models.CharField(max_length=1000, blank=True)  # what the participant reads
    category = models.CharField(max_length=24, blank=True)  # of a rejection, in Prolific's words
    rule = models.CharField(max_length=300, blank=True)  # that allows it
    decided_by = models.CharField(max_length=150, blank=True)
    second_by = models.CharField(max_length=150, blank=True)
    decided_at = models.DateTimeField(null=True)
    carried_out_at = models.DateTimeField(null=True)
    problem = models.CharField(max_length=400, blank=True)
    seen_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["started_at", "pk"]
        indexes = [models.Index(fields=["recruitment", "status"], name="submission_by_status")]

    def __str__(self) -> str:
        return f"submission {self.pk}"


class BonusBatch(models.Model):
    """Bonuses that are paid by one request, which is never sent twice."""

    class State(models.TextChoices):
        WRITING = "writing"  # being written down at Prolific: costs nothing
        WRITTEN = "written"
        PAYING = "paying"  # about to be asked for, or asked: whether it was paid is not known yet
        PAID = "paid"  # Prolific shows all of it
        DROPPED = "dropped"  # never paid; its bonuses went into another batch

    recruitment = models.ForeignKey(Recruitment, models.PROTECT, related_name="bonus_batches")
    prolific_id = models.CharField(max_length=80, blank=True)
    state = models.CharField(max_length=8, choices=State, default=State.WRITING)
    before = models.JSONField(default=dict)  # submission -> bonuses it had before, minor units
    total_minor = models.DecimalField(max_digits=14, decimal_places=4, null=True)  # with fees
    accepted = models.BooleanField(default=False)  # Prolific said that it will pay
    created_at = models.DateTimeField(auto_now_add=True)
    paying_at = models.DateTimeField(null=True)
    paid_at = models.DateTimeField(null=True)
    problem = models.CharField(max_length=400, blank=True)

    class Meta:
        ordering = ["created_at", "pk"]

    def __str__(self) -> str:
        return f"bonus batch {self.pk}"


class Bonus(models.Model):
    """Money for one submission beside its reward, once for each purpose."""

    submission = models.ForeignKey(Submission, models.PROTECT, related_name="own_bonuses")
    batch = models.ForeignKey(BonusBatch, models.PROTECT, null=True, related_name="own_bonuses")
    purpose = models.CharField(max_length=40)  # screened_out, part, thanks …
    minor = models.PositiveIntegerField()
    by = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    paid_at = models.DateTimeField(null=True)  # when Prolific was seen to have paid it

    class Meta:
        ordering = ["created_at", "pk"]
        verbose_name_plural = "bonuses"
        constraints = [
            models.UniqueConstraint(fields=["submission", "purpose"], name="bonus_once"),
            models.CheckConstraint(condition=Q(minor__gt=0), name="bonus_is_something"),
        ]

    def __str__(self) -> str:
        return f"bonus {self.pk}"


class LedgerEntry(models.Model):
    """What is known to have been promised or paid: written once, never changed."""

    class Kind(models.TextChoices):
        COMMITTED = "committed"  # locked at Prolific by publishing or by more places, with fees
        REWARD = "reward"
        SCREENED_OUT = "screened_out"  # the fixed payment of a code
        BONUS = "bonus"

    recruitment = models.ForeignKey(Recruitment, models.PROTECT, related_name="ledger")
    submission = models.ForeignKey(Submission, models.PROTECT, null=True, related_name="ledger")
    key = models.CharField(max_length=120, unique=True)  # what it stands for: there is no second
    kind = models.CharField(max_length=12, choices=Kind)
    minor = models.DecimalField(max_digits=14, decimal_places=4)
    fees_minor = models.DecimalField(max_digits=14, decimal_places=4, default=0)  # with tax
    note = models.CharField(max_length=300, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["at", "pk"]
        verbose_name_plural = "ledger entries"

    def __str__(self) -> str:
        return self.key


class HookEvent(models.Model):
    """An event of Prolific's that has arrived: it comes at least once, and counts once."""

    event = models.CharField(max_length=120, unique=True)
    kind = models.CharField(max_length=60)
    resource = models.CharField(max_length=80)
    at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.event
