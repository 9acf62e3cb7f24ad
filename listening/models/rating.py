"""Rating and Justification: stored judgements, which are added and never changed."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import MD5, Lower, Trim

from listening.models.material import Stimulus
from listening.models.session import Slot, Trial
from listening.models.study import Criterion


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
