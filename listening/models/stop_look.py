"""StopLook: one application of a study's stop rule, as it was made."""

from django.db import models

from listening.models.study import Study


class StopLook(models.Model):
    """A look: what was counted, what it showed, and what was decided.

    Rows are never changed, except that a person may stop the systems that a look proposes.
    """

    class Decision(models.TextChoices):
        GO_ON = "go_on", "Continue"
        STOP = "stop", "Stop"
        END = "end", "End"

    study = models.ForeignKey(Study, models.CASCADE, related_name="looks")
    number = models.PositiveSmallIntegerField()  # of the rule's looks, from 1
    planned = models.PositiveIntegerField()  # sessions
    sessions = models.PositiveIntegerField()  # that were complete and counted
    in_progress = models.PositiveIntegerField()  # that could still finish
    data_sha256 = models.CharField(max_length=64, blank=True)  # of the table of ratings
    rules = models.JSONField(default=list)  # of exclusion, in force then
    families = models.JSONField(default=list)  # see analysis.statistics.planning.planned_looks
    why = models.CharField(max_length=300)  # the decision in a sentence
    decision = models.CharField(max_length=5, choices=Decision)
    act = models.CharField(max_length=5)  # of the rule: close, or ask
    separable = models.JSONField(default=list)  # keys of tasks in which a system may stop alone
    # By this look, or with `is_proposed` for a person to stop: see studies.stopped_systems
    stopped = models.JSONField(default=list)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["study", "number"]
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="a_look_is_made_once"),
            models.CheckConstraint(
                condition=models.Q(number__gte=1), name="looks_are_numbered_from_1"
            ),
        ]

    def __str__(self) -> str:
        return f"look {self.number} of study {self.study_id}"

    @property
    def share(self) -> float:
        """The share of the planned sessions that was counted."""
        return self.sessions / self.planned
