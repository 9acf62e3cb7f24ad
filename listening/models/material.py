"""Condition, Item and Stimulus: what is compared, what is rendered, and the audio itself.

`clip_facts` is what a study says of each clip in addition, by which results can be split.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from django.db import models

from listening.models.study import Study, Task

LINE, TRAP = "line", "trap"  # roles of clips that no table of systems holds
READ = (
    *(
        "key",
        "trap",
        "run",
        "lines",
        "attributes",
        "item__speaker",
        "item__language",
        "item__dimension",
    ),
    *("condition__key", "condition__role", "condition__attributes"),
)


class Condition(models.Model):
    """What is compared: a system with voice and settings."""

    class Role(models.TextChoices):
        TEST = "test"
        REFERENCE = "reference"
        ANCHOR = "anchor"
        TRAP = "trap"
        PROMPT = "prompt"

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


class SystemFacts(TypedDict):
    """What the attributes of a condition say of its system to reports; empty where nothing."""

    group: str  # such as open-source
    architecture: str  # such as autoregressive
    rtf: str  # seconds of synthesis per second of audio


class ClipFacts(SystemFacts):
    """What is known of one clip, as text; empty where nobody says."""

    condition: str
    role: str  # of its condition; LINE: heard only as a part of other clips; TRAP
    language: str
    dimension: str
    challenge: str
    speakers: str  # how many
    sentences: str  # how many
    run: str  # of the synthesis


def clip_facts(study: str) -> dict[str, ClipFacts]:
    """What is known of every clip of a study, by its key.

    A joined clip has the speakers of its lines, and the sentences of them all.
    """
    usual = Study.objects.filter(key=study).values_list("language", flat=True).first() or ""
    stimuli = list(Stimulus.objects.filter(study__key=study).order_by("pk").values(*READ))
    own = {row["key"]: row for row in stimuli}
    whose = dict(Item.objects.filter(study__key=study).values_list("key", "speaker"))
    parts = only_lines(study)
    return {
        key: ClipFacts(
            condition=row["condition__key"],
            **_system_facts(row["condition__attributes"]),
            role=TRAP if row["trap"] else LINE if key in parts else row["condition__role"],
            language=row["item__language"] or usual,
            dimension=row["item__dimension"],
            challenge=_row_value(row, own, "challenge"),
            speakers=_speakers(row, own, whose),
            sentences=_sentences(row, own),
            run=str(row["run"]),
        )
        for key, row in own.items()
    }


def declared_covariates(study: str) -> list[str]:
    """The names of the covariates that a study declares."""
    names = Study.objects.filter(key=study).values_list("covariates", flat=True).first()
    return list(names or ())


def covariate_values(study: str) -> dict[str, dict[str, str]]:
    """By covariate that the study declares and clip: the value in stimuli.csv, or the voice.

    Covariates that a metric or the order gives have no values here.
    """
    names = declared_covariates(study)
    if not names:
        return {}
    rows = Stimulus.objects.filter(study__key=study, trap="").order_by("pk")
    clips = list(rows.values_list("key", "attributes", "condition__voice"))
    values = {
        name: {
            key: str(own.get(name) or (voice if name == "voice" else ""))
            for key, own, voice in clips
        }
        for name in names
    }
    return {name: known for name, known in values.items() if any(known.values())}


def _system_facts(attributes: Mapping[str, Any]) -> SystemFacts:
    group, architecture, rtf = (
        str(attributes.get(name, "")) for name in ("group", "architecture", "rtf")
    )
    return SystemFacts(group=group, architecture=architecture, rtf=rtf)


def only_lines(study: str) -> set[str]:
    """The clips that raters hear only as parts of joined ones: no task asks about them alone.

    None where a task takes every condition; a trap is heard, and so is a rated line alone.
    """
    named = [task.material.get("conditions") for task in Task.objects.filter(study__key=study)]
    if not named or not all(named):
        return set()
    rated = {condition for conditions in named for condition in conditions}
    stimuli = Stimulus.objects.filter(study__key=study)
    joined = stimuli.filter(derived=True).values_list("lines", flat=True)
    used = {line["stimulus"] for lines in joined for line in lines if line.get("stimulus")}
    alone = stimuli.filter(trap="", derived=False).exclude(condition__key__in=rated)
    return used.intersection(alone.values_list("key", flat=True))


def _lines(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [line for line in row["lines"] if line["role"] == "rated"]


def _row_value(row: Mapping[str, Any], own: Mapping[str, Any], name: str) -> str:
    """What the clip's row of stimuli.csv says, else what all its lines say alike."""
    if name in row["attributes"]:
        return str(row["attributes"][name])
    values = {value for value in _line_values(row, own, name) if value}
    return values.pop() if len(values) == 1 else ""


def _line_values(row: Mapping[str, Any], own: Mapping[str, Any], name: str) -> Iterable[str]:
    for line in _lines(row):
        source = own.get(line.get("stimulus") or "")
        yield str(source["attributes"].get(name, "")) if source else ""


def _speakers(row: Mapping[str, Any], own: Mapping[str, Any], whose: Mapping[str, str]) -> str:
    if speakers := _row_value(row, own, "speakers"):
        return speakers
    voices = {name for line in _lines(row) if (name := whose.get(line["item"], ""))}
    voices = voices or {row["item__speaker"]} - {""}
    return str(len(voices)) if voices else ""


def _sentences(row: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """As stimuli.csv says; of a joined clip the sum over its lines, a line without a number one."""
    if "sentences" in row["attributes"] or not (lines := _lines(row)):
        return str(row["attributes"].get("sentences", ""))
    counts = list(_line_values(row, own, "sentences"))
    numbers = [int(each) if each.isdigit() else 1 for each in counts]
    return str(sum(numbers)) if lines else ""
