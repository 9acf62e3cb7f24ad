"""Rater, Session, Block, Slot, Trial and Rating: who hears what, when, for how long, and rates it.

Ratings and justifications are added and never changed.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import MD5, Lower, Trim

from listening.models.codes import rater_code, session_code, trial_code
from listening.models.material import Item, Stimulus
from listening.models.sealed import SealedCharField
from listening.models.study import Criterion, Study, Task


class Rater(models.Model):
    """A person who rates, known outside this room by a random code only."""

    code = models.CharField(max_length=24, unique=True, default=rater_code, editable=False)
    prolific_id = SealedCharField(max_length=160, null=True, unique=True)
    external_id = SealedCharField(max_length=800, null=True, unique=True)  # Source.identity
    simulated = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.code


class Session(models.Model):
    """One sitting of a rater in a study; its code in the URL carries the rater on any device."""

    class Status(models.TextChoices):
        STARTED = "started"
        FINISHED = "finished"
        WITHDRAWN = "withdrawn"
        REJECTED = "rejected"  # judged invalid: its blocks went back
        EXPIRED = "expired"  # left, and its blocks were given to others
        SCREENED = "screened"  # turned away by a check or a question before the first trial

    rater = models.ForeignKey(Rater, models.CASCADE, related_name="sessions")
    study = models.ForeignKey(Study, models.CASCADE, related_name="sessions")
    code = models.CharField(max_length=32, unique=True, default=session_code, editable=False)
    status = models.CharField(max_length=9, choices=Status, default=Status.STARTED)
    prolific_study = SealedCharField(max_length=160, blank=True)
    prolific_session = SealedCharField(max_length=160, blank=True)
    source = models.CharField(max_length=40, blank=True)  # the key of the way in; "": not named
    external_session = SealedCharField(max_length=500, blank=True)  # of that source
    external_project = SealedCharField(max_length=500, blank=True, db_default="")  # there, too
    consent_version = models.CharField(max_length=40, blank=True)
    language = models.CharField(max_length=16, blank=True)  # chosen at the door; "": the study's
    wording_first = models.PositiveIntegerField(default=0)  # revision that it began with
    wording_last = models.PositiveIntegerField(default=0)  # the newest that its page was given
    ready = models.BooleanField(default=True)  # nothing is left to do before the trials
    checks = models.JSONField(default=dict)  # check key -> {"passed": bool, "attempts": int, ...}
    questionnaires = models.JSONField(default=dict)  # key, or of an Occasion -> {"answers", "at"}
    comment = models.TextField(blank=True)
    device = models.CharField(max_length=20, blank=True)  # phone, tablet, desktop
    short = models.BooleanField(default=False)  # a lost block could not be replaced
    review = models.CharField(
        max_length=80, blank=True
    )  # keys of `listening.sessions.outcomes.REVIEW`
    rejected_because = models.CharField(max_length=300, blank=True)
    paid = models.BooleanField(default=False)
    origin = models.CharField(max_length=24, blank=True)  # keyed hash of address and browser
    browser_of = models.CharField(max_length=24, blank=True)  # another rater who began in it before
    pilot = models.BooleanField(default=False)  # a researcher's try of a draft: see studies.pilots
    agent = models.CharField(max_length=200, blank=True)  # a program that signed, or no browser
    scripts_ran = models.BooleanField(null=True)  # those of its page; None where it is not known
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["rater", "study"],
                condition=Q(status="started"),
                name="one_open_session_per_rater_and_study",
            )
        ]
        indexes = [
            models.Index(fields=["study", "status"], name="session_by_status"),
            models.Index(fields=["study", "-started_at", "-id"], name="session_newest"),
            models.Index(fields=["study", "finished_at"], name="session_by_end"),
        ]

    def __str__(self) -> str:
        return f"session {self.pk}"

    @property
    def spoken(self) -> str:
        """The language of this session's pages and of the digits in its checks."""
        return self.language or self.study.language


class Block(models.Model):
    """Consecutive trials planned together and claimed together under a lease."""

    class State(models.IntegerChoices):
        OPEN = 0
        LEASED = 1
        DONE = 2

    task = models.ForeignKey(Task, models.CASCADE, related_name="blocks")
    replicate = models.PositiveSmallIntegerField()
    ord = models.IntegerField()  # random: where the block stands in the queue
    keys = ArrayField(models.BigIntegerField())  # what a rater may meet once: items, or stimuli
    state = models.PositiveSmallIntegerField(choices=State, default=State.OPEN)
    session = models.ForeignKey(Session, models.SET_NULL, null=True, related_name="blocks")
    lease_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="block_state_fits_its_lease",
                condition=Q(state=0, session__isnull=True, lease_until__isnull=True)
                | Q(state=1, session__isnull=False, lease_until__isnull=False)
                | Q(state=2, lease_until__isnull=True),
            )
        ]
        indexes = [
            models.Index(fields=["task", "ord"], condition=Q(state=0), name="block_open"),
            models.Index(fields=["lease_until"], condition=Q(state=1), name="block_leased"),
        ]

    def __str__(self) -> str:
        return f"block {self.pk}"


class Slot(models.Model):
    """One presentation owed: a stimulus (maybe versus another) in one replicate of the plan."""

    block = models.ForeignKey(Block, models.CASCADE, related_name="slots")
    task = models.ForeignKey(Task, models.CASCADE, related_name="slots", db_index=False)
    position = models.PositiveSmallIntegerField()  # in the block
    stimulus = models.ForeignKey(Stimulus, models.RESTRICT, related_name="slots")
    versus = models.ForeignKey(
        Stimulus, models.RESTRICT, null=True, related_name="+", db_index=False
    )
    versus_first = models.BooleanField(default=False)
    others = ArrayField(models.BigIntegerField(), default=list)  # rated on the same screen
    context = ArrayField(models.BigIntegerField(), default=list)  # heard before, not rated
    replicate = models.PositiveSmallIntegerField()
    ratings_per_stimulus = models.PositiveSmallIntegerField()  # its task's, by a foreign key
    # of its pair in a task that draws pairs; NULL: no such task, or a rater's claim will draw it
    pair_probability = models.FloatField(null=True)
    is_stopped = models.BooleanField(default=False, db_default=False)  # owed no more ratings

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["task", "stimulus", "versus", "context", "replicate"],
                nulls_distinct=False,
                name="slot_once_per_replicate",
            ),
            models.UniqueConstraint(fields=["block", "position"], name="slot_position_once"),
            models.CheckConstraint(
                condition=Q(replicate__lt=F("ratings_per_stimulus")),
                name="slot_replicate_below_target",
            ),
        ]
        indexes = [
            models.Index(fields=["versus"], condition=Q(versus__isnull=False), name="slot_versus")
        ]

    def __str__(self) -> str:
        return f"slot {self.pk}"


class Trial(models.Model):
    """One screen, at one position of a session."""

    class State(models.TextChoices):
        PLANNED = "planned"
        ANSWERED = "answered"
        VOID = "void"  # its block went back before it was answered; may be retaken
        GONE = "gone"  # somebody else has it now
        SKIPPED = "skipped"  # its clip could not be played here

    session = models.ForeignKey(Session, models.CASCADE, related_name="trials", db_index=False)
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="trials")
    task = models.ForeignKey(Task, models.CASCADE, related_name="trials", db_index=False)
    block = models.ForeignKey(Block, models.CASCADE, related_name="trials")
    slot = models.ForeignKey(Slot, models.CASCADE, null=True, related_name="trials")
    code = models.CharField(max_length=20, default=trial_code, editable=False)
    position = models.PositiveSmallIntegerField()
    stimulus = models.ForeignKey(Stimulus, models.RESTRICT, related_name="trials")
    versus = models.ForeignKey(
        Stimulus, models.RESTRICT, null=True, related_name="+", db_index=False
    )
    versus_first = models.BooleanField(default=False)
    others = ArrayField(models.BigIntegerField(), default=list)
    context = ArrayField(models.BigIntegerField(), default=list)
    item = models.ForeignKey(Item, models.RESTRICT, related_name="+")
    meets = models.BigIntegerField(null=True)  # the key of the block that this trial uses up
    pair_probability = models.FloatField(null=True)  # its slot's
    trap = models.CharField(max_length=40, blank=True)  # a kind of trap, or "training"
    expected = models.JSONField(default=list)  # labels that pass the trap
    trap_passed = models.BooleanField(null=True)
    state = models.CharField(max_length=8, choices=State, default=State.PLANNED)
    # What indexes know of the state, which an answer does not change: so it writes to none of them.
    is_met = models.GeneratedField(
        expression=Q(state__in=[State.PLANNED, State.ANSWERED]),  # type: ignore[arg-type]
        output_field=models.BooleanField(),
        db_persist=True,
    )
    is_skipped = models.GeneratedField(
        expression=Q(state=State.SKIPPED),  # type: ignore[arg-type]  # a condition is one
        output_field=models.BooleanField(),
        db_persist=True,
    )
    answered_at = models.DateTimeField(null=True)
    latency_ms = models.PositiveIntegerField(null=True)
    plays = models.PositiveIntegerField(null=True)
    heard_fraction = models.FloatField(null=True)
    playback = models.JSONField(default=dict)  # stalls, hidden time, device facts
    fetched = models.BigIntegerField(default=0)  # one bit per clip that this session was sent
    fetched_at = models.DateTimeField(null=True)  # when the first of them was
    needed_s = models.FloatField(null=True)  # what hearing them takes, of an answered trial

    class Meta:
        ordering = ["session", "position"]
        constraints = [
            # not `unique=True`, which would bring a second index, for LIKE
            models.UniqueConstraint(fields=["code"], name="trial_code_once"),
            models.UniqueConstraint(fields=["session", "position"], name="trial_position_once"),
            models.UniqueConstraint(
                fields=["rater", "task", "meets"],
                condition=Q(meets__isnull=False, is_met=True),
                name="rater_meets_it_once_per_task",
            ),
        ]
        indexes = [
            models.Index(
                fields=["stimulus"], condition=Q(is_skipped=True), name="trial_skipped_stimulus"
            ),
            models.Index(fields=["task", "trap"], condition=~Q(trap=""), name="trial_trap"),
            # who deletes a clip is asked for its trials: without an index, all of them are read
            models.Index(fields=["versus"], condition=Q(versus__isnull=False), name="trial_versus"),
        ]

    def __str__(self) -> str:
        return f"trial {self.pk}"


class SessionSummary(models.Model):
    """Counts of a session's trials, kept up to date by `listening.sessions.session_summaries`."""

    session = models.OneToOneField(
        Session, models.CASCADE, primary_key=True, related_name="summary"
    )
    trials = models.PositiveIntegerField(default=0)  # its own; those that others took over are not
    answered = models.PositiveIntegerField(default=0)
    skipped = models.PositiveIntegerField(default=0)
    traps = models.PositiveIntegerField(default=0)  # answered
    traps_failed = models.PositiveIntegerField(default=0)
    checks_failed = models.PositiveSmallIntegerField(default=0)
    median_ms = models.PositiveIntegerField(null=True)  # per answered trial, practice left out
    agreement = models.FloatField(null=True)  # Pearson's r with the others' means
    shared = models.PositiveIntegerField(default=0)  # ratings that r is of
    signs = models.PositiveIntegerField(default=0)  # trials with signs of a program
    answered_at = models.DateTimeField(null=True)  # the last one
    made_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"summary of session {self.pk}"


class Rating(models.Model):
    """The stored judgement of one stimulus on one criterion in one trial."""

    trial = models.ForeignKey(Trial, models.CASCADE, related_name="ratings", db_index=False)
    slot = models.ForeignKey(
        Slot, models.CASCADE, null=True, related_name="ratings", db_index=False
    )
    criterion = models.ForeignKey(Criterion, models.RESTRICT, related_name="+", db_index=False)
    stimulus = models.ForeignKey(Stimulus, models.RESTRICT, related_name="ratings")
    label = models.TextField()
    score = models.FloatField(null=True)  # a text, or several choices, have none
    counts = models.BooleanField()  # towards the slot's target; false for traps and reopened blocks
    rated_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["trial", "stimulus", "criterion"], name="one_rating_per_trial_and_criterion"
            ),
            models.UniqueConstraint(
                fields=["slot", "stimulus", "criterion"],
                condition=Q(counts=True),
                name="one_counting_rating_per_slot",
            ),
            models.CheckConstraint(
                condition=Q(counts=False) | Q(slot__isnull=False),
                name="a_counting_rating_fills_a_slot",
            ),
        ]
        indexes = [
            # a study's ratings in the order of storing, and its first and last
            models.Index(fields=["criterion", "id"], name="rating_in_order"),
            # who deletes a slot is asked for its ratings, also for those that do not count
            models.Index(fields=["slot"], condition=Q(slot__isnull=False), name="rating_slot"),
        ]

    def __str__(self) -> str:
        return f"rating {self.pk}"


class Justification(models.Model):
    """The rater's reason, with evidence of how it was typed."""

    trial = models.OneToOneField(Trial, models.CASCADE, related_name="justification")
    text = models.TextField()
    keystrokes = models.PositiveIntegerField(null=True)
    pasted_chars = models.PositiveIntegerField(null=True)
    typing_ms = models.PositiveIntegerField(null=True)

    class Meta:
        indexes = [models.Index(MD5(Lower(Trim("text"))), name="justification_words")]

    def __str__(self) -> str:
        return self.text[:40]
