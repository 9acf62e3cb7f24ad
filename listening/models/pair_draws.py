"""PairCount and PairFit: what is known of a task's pairs where each claim draws them."""

from django.db import models

from listening.models.material import Condition
from listening.models.study import Task


class PairCount(models.Model):
    """How many comparisons of two systems were drawn; the next one's order follows from it."""

    task = models.ForeignKey(Task, models.CASCADE, related_name="pair_counts", db_index=False)
    condition = models.ForeignKey(Condition, models.CASCADE, related_name="+", db_index=False)
    versus = models.ForeignKey(Condition, models.CASCADE, related_name="+", db_index=False)
    versus_starts = models.BooleanField()  # whether `versus` is heard first in the first draw
    drawn = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["task", "condition", "versus"], name="pair_count_once_per_task"
            )
        ]

    def __str__(self) -> str:
        return f"{self.task_id}: {self.condition_id} and {self.versus_id}, {self.drawn}"


class PairFit(models.Model):
    """The last fit of a task's strengths, by which its pairs are drawn."""

    task = models.OneToOneField(Task, models.CASCADE, primary_key=True, related_name="pair_fit")
    number = models.PositiveIntegerField()  # how many fits there were
    answers = models.PositiveIntegerField()  # that it is of
    drawn = models.PositiveIntegerField()  # comparisons, at that time
    strengths = models.JSONField()  # by condition, in logits
    pairs = models.JSONField()  # [[condition, versus, drawn, spread, variance, met], …]: PairFacts
    fitted_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.task_id}: fit {self.number} of {self.answers} answers"
