"""AnalysisRule: what leaves ratings out of analyses, since when; SparedRater: whom it does not."""

from django.db import models
from django.db.models import Q

from listening.models.session import Rater
from listening.models.study import Study


class AnalysisRule(models.Model):
    """A rule of a study beside those that always hold, as the text that an analysis reads.

    Rows stay when a rule ends after the study was opened: a report says what was decided when.
    """

    study = models.ForeignKey(Study, models.CASCADE, related_name="analysis_rules")
    text = models.CharField(max_length=500)  # with its version: correlation@1:minimum=0.25
    why = models.CharField(max_length=300, blank=True)
    declared = models.BooleanField()  # before the first opening: part of the frozen definition
    from_folder = models.BooleanField(default=False)  # of study.toml, not of the page
    ratings = models.PositiveIntegerField(default=0)  # that were stored when it was added
    by = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)
    ended_by = models.CharField(max_length=150, blank=True)
    ended_because = models.CharField(max_length=300, blank=True)
    ended_ratings = models.PositiveIntegerField(null=True)

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
