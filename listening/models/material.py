"""Condition, Item and Stimulus: what is compared, what is rendered, and the audio itself."""

from django.db import models

from listening.models.study import Study


class Condition(models.Model):
    """What is compared: a system with voice and settings."""

    class Role(models.TextChoices):
        TEST = "test"
        REFERENCE = "reference"
        ANCHOR = "anchor"
        TRAP = "trap"

    study = models.ForeignKey(Study, models.CASCADE, related_name="conditions")
    key = models.CharField(max_length=80)
    label = models.CharField(max_length=120, blank=True)
    system = models.CharField(max_length=80, blank=True)
    voice = models.CharField(max_length=80, blank=True)
    role = models.CharField(max_length=9, choices=Role, default=Role.TEST)
    attributes = models.JSONField(default=dict)
    derived = models.BooleanField(default=False)  # made from lines by the study's settings

    class Meta:
        ordering = ["study", "key"]
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="condition_key_once_per_study")
        ]

    def __str__(self) -> str:
        return self.key


class Item(models.Model):
    """What every condition renders: a sentence, a paragraph, a turn."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="items")
    key = models.CharField(max_length=80)
    text = models.TextField(blank=True)  # what raters are shown
    transcript = models.TextField(blank=True)  # what is spoken, where it is not the text
    dimension = models.CharField(max_length=80, blank=True)
    paragraph = models.CharField(max_length=80, blank=True)
    position = models.PositiveIntegerField(null=True)
    speaker = models.CharField(max_length=80, blank=True)
    language = models.CharField(max_length=16, blank=True)
    split = models.CharField(max_length=40, blank=True)
    derived = models.BooleanField(default=False)

    class Meta:
        ordering = ["study", "key"]
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="item_key_once_per_study")
        ]

    def __str__(self) -> str:
        return self.key


class Stimulus(models.Model):
    """One audio file: an item rendered by a condition."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="stimuli")
    key = models.CharField(max_length=120)
    condition = models.ForeignKey(Condition, models.RESTRICT, related_name="stimuli")
    item = models.ForeignKey(Item, models.RESTRICT, related_name="stimuli")
    trap = models.CharField(max_length=40, blank=True)  # the kind of trap, "" for rated material
    run = models.PositiveSmallIntegerField(default=1)  # of the synthesis; the first one is rated
    attributes = models.JSONField(default=dict)
    file = models.CharField(max_length=255)  # path in the study's folder, as imported
    original = models.CharField(max_length=120)  # storage name of the audio as uploaded
    served = models.CharField(max_length=120)  # storage name of the copy that raters hear
    sha256 = models.CharField(max_length=64)  # of the audio as uploaded
    served_sha256 = models.CharField(max_length=64)
    duration_s = models.FloatField()
    sample_rate_hz = models.PositiveIntegerField()
    channels = models.PositiveSmallIntegerField()
    loudness_lufs = models.FloatField(null=True)
    peak_dbfs = models.FloatField(null=True)
    gain_db = models.FloatField(default=0.0)  # applied to the served copy
    trimmed_s = models.FloatField(default=0.0)  # cut from the start of the served copy
    derived = models.BooleanField(default=False)
    lines = models.JSONField(default=list)  # of a derived one: [{"stimulus", "role", "start_s", …}]

    class Meta:
        verbose_name_plural = "stimuli"
        ordering = ["study", "key"]
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="stimulus_key_once_per_study"),
            models.UniqueConstraint(
                fields=["condition", "item", "trap", "run"],
                name="one_stimulus_per_condition_item_and_run",
            ),
            models.CheckConstraint(
                condition=models.Q(duration_s__gt=0), name="stimulus_has_a_duration"
            ),
        ]

    def __str__(self) -> str:
        return self.key
