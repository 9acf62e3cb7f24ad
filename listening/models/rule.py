"""AnalysisRule: what leaves ratings out, since when; SparedRater: whom it does not; Hypothesis."""

from django.db import models
from django.db.models import Q

from listening.models.session import Rater
from listening.models.study import Study


class Decided(models.Model):
    """What a study says of its analysis, and since when.

    Rows stay when something ends after the study was opened: a report says what was decided when.
    """

    declared = models.BooleanField()  # before the first opening: part of the frozen definition
    from_folder = models.BooleanField(default=False)  # of study.toml, not of the page
    why = models.CharField(max_length=300, blank=True)
    ratings = models.PositiveIntegerField(default=0)  # that were stored when it was added
    by = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=150, blank=True)
    ended_because = models.CharField(max_length=300, blank=True)
    ended_ratings = models.PositiveIntegerField(null=True)

    class Meta:
        abstract = True


class AnalysisRule(Decided):
    """A rule of a study beside those that always hold, as the text that an analysis reads."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="analysis_rules")
    text = models.CharField(max_length=500)  # with its version: correlation@1:minimum=0.25

    class Meta:
        ordering = ["study", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "text"],
                condition=Q(ended_at__isnull=True),
                name="a_rule_holds_once_per_study",
            )
        ]

    def __str__(self) -> str:
        return self.text


class Hypothesis(Decided):
    """What is expected of a study, as a sentence."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="hypotheses")
    text = models.CharField(max_length=1000)

    class Meta:
        ordering = ["study", "pk"]
        verbose_name_plural = "hypotheses"
        constraints = [
            models.UniqueConstraint(
                fields=["study", "text"],
                condition=Q(ended_at__isnull=True),
                name="a_hypothesis_stands_once_per_study",
            )
        ]

    def __str__(self) -> str:
        return self.text


class SparedRater(models.Model):
    """A rater of whom a rule leaves out nothing, because somebody decided so and said why."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="spared_raters")
    rule = models.CharField(max_length=60)  # the rule's key
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="spared")
    because = models.CharField(max_length=300)
    ratings = models.PositiveIntegerField(default=0)  # of the study, stored then
    by = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["study", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "rule", "rater"], name="a_rater_is_spared_once_per_rule"
            )
        ]

    def __str__(self) -> str:
        return f"{self.rule} spares rater {self.rater_id}"
