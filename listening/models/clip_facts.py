"""What a study says of each clip beside its text and sound: what results are split by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict

from listening.models.material import Item, Stimulus
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


class ClipFacts(TypedDict):
    """What is known of one clip, as text; empty where nobody says."""

    condition: str
    group: str  # of its system, such as open-source
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
            group=str(row["condition__attributes"].get("group", "")),
            role=TRAP if row["trap"] else LINE if key in parts else row["condition__role"],
            language=row["item__language"] or usual,
            dimension=row["item__dimension"],
            challenge=_told(row, own, "challenge"),
            speakers=_speakers(row, own, whose),
            sentences=_sentences(row, own),
            run=str(row["run"]),
        )
        for key, row in own.items()
    }


def only_lines(study: str) -> set[str]:
    """The clips that raters hear only as parts of joined ones: no task asks about them alone.

    None where a task takes every condition; a trap is heard, and so is a rated line alone.
    """
    named = [task.material.get("conditions") for task in Task.objects.filter(study__key=study)]
    if not named or not all(named):
        return set()
    asked = {condition for conditions in named for condition in conditions}
    stimuli = Stimulus.objects.filter(study__key=study)
    joined = stimuli.filter(derived=True).values_list("lines", flat=True)
    used = {line["stimulus"] for lines in joined for line in lines if line.get("stimulus")}
    alone = stimuli.filter(trap="", derived=False).exclude(condition__key__in=asked)
    return used.intersection(alone.values_list("key", flat=True))


def _lines(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [line for line in row["lines"] if line["role"] == "rated"]


def _told(row: Mapping[str, Any], own: Mapping[str, Any], name: str) -> str:
    """What the clip's row of stimuli.csv says, else what all its lines say alike."""
    if name in row["attributes"]:
        return str(row["attributes"][name])
    said = {value for value in _of_lines(row, own, name) if value}
    return said.pop() if len(said) == 1 else ""


def _of_lines(row: Mapping[str, Any], own: Mapping[str, Any], name: str) -> Iterable[str]:
    for line in _lines(row):
        source = own.get(line.get("stimulus") or "")
        yield str(source["attributes"].get(name, "")) if source else ""


def _speakers(row: Mapping[str, Any], own: Mapping[str, Any], whose: Mapping[str, str]) -> str:
    if told := _told(row, own, "speakers"):
        return told
    voices = {name for line in _lines(row) if (name := whose.get(line["item"], ""))}
    voices = voices or {row["item__speaker"]} - {""}
    return str(len(voices)) if voices else ""


def _sentences(row: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """As stimuli.csv says; of a joined clip the sum over its lines, a line without a number one."""
    if "sentences" in row["attributes"] or not (lines := _lines(row)):
        return str(row["attributes"].get("sentences", ""))
    told = list(_of_lines(row, own, "sentences"))
    numbers = [int(each) if each.isdigit() else 1 for each in told]
    return str(sum(numbers)) if lines else ""
