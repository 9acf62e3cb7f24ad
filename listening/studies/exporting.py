"""A study written back as the folder that would make it again."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields
from pathlib import Path
from typing import Any

from django.db.models import Model

from listening import audio
from listening.design import studyfile
from listening.design.studyfile import StudyFile, TaskEntry
from listening.models import Stimulus, Study, Task
from listening.studies.analysis_rules import hypotheses_as_declared, rules_as_declared
from listening.studies.findings import StudyError

# Fields of entries that the rows of a study and of its tasks hold otherwise, or in other rows.
STUDY_APART = {
    *("lease_minutes", "hypotheses", "analysis_rules", "conditions", "tasks", "items", "stimuli"),
}
TASK_APART = {"conditions", "dimensions", "draw", "criteria"}
STIMULUS = ("key", "condition__key", "item__key", "file", "trap", "attributes", "run")


def study_as_file(study: Study) -> StudyFile:
    """The study as its folder would say it."""
    minutes = study.lease_s / 60
    return StudyFile(
        **_same_fields(study, StudyFile, STUDY_APART),
        lease_minutes=int(minutes) if minutes.is_integer() else minutes,
        hypotheses=hypotheses_as_declared(study),
        analysis_rules=rules_as_declared(study),
        conditions=tuple(
            studyfile.ConditionEntry(**_same_fields(row, studyfile.ConditionEntry))
            for row in study.conditions.filter(derived=False).order_by("pk")
        ),
        tasks=tuple(_task_entry(t) for t in study.tasks.order_by("order")),
        items=tuple(
            studyfile.ItemEntry(**_same_fields(row, studyfile.ItemEntry))
            for row in study.items.filter(derived=False).order_by("pk")
        ),
        stimuli=tuple(
            _stimulus_entry(*row)
            for row in study.stimuli.filter(derived=False).order_by("pk").values_list(*STIMULUS)
        ),
    )


def export_study(study: Study, folder: Path) -> int:
    """Writes study.toml, stimuli.csv and the original audio; the number of sound files written."""
    if folder.exists() and any(folder.iterdir()):
        raise StudyError(f"{folder} is not empty. Name a new or an empty folder.")
    written: set[str] = set()
    for stimulus in study.stimuli.filter(derived=False).order_by("pk"):
        if stimulus.file in written:
            continue
        target = folder / stimulus.file
        if not target.resolve().is_relative_to(folder.resolve()):
            raise StudyError(f"“{stimulus.file}” leads out of the folder.")
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy_original(stimulus, target)
        written.add(stimulus.file)
    folder.mkdir(parents=True, exist_ok=True)
    whole = study_as_file(study)
    (folder / studyfile.TOML).write_text(studyfile.toml_text(whole), "utf-8", newline="\n")
    (folder / studyfile.CSV).write_text(studyfile.csv_text(whole), "utf-8", newline="")
    return len(written)


def _same_fields(row: Model, entry: type, apart: Collection[str] = ()) -> dict[str, Any]:
    """Return what a row holds under the names of an entry's fields."""
    return {f.name: _copy(getattr(row, f.name)) for f in fields(entry) if f.name not in apart}


def _copy(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return dict(value) if isinstance(value, dict) else value


def _stimulus_entry(
    key: str, condition: str, item: str, file: str, trap: str, attributes: Any, run: int
) -> studyfile.StimulusEntry:
    return studyfile.StimulusEntry(key, condition, item, file, trap, dict(attributes), run=run)


def _task_entry(row: Task) -> TaskEntry:
    return TaskEntry(
        **_same_fields(row, TaskEntry, TASK_APART),
        conditions=tuple(row.material.get("conditions", ())),
        dimensions=tuple(row.material.get("dimensions", ())),
        draw=dict(row.material.get("draw", {})),
        criteria=tuple(
            studyfile.CriterionEntry(c.key, c.question, c.help_text, dict(c.options))
            for c in row.criteria.order_by("order")
        ),
    )


def _copy_original(stimulus: Stimulus, target: Path) -> None:
    try:
        content = audio.local_path(stimulus.original).read_bytes()
    except OSError:
        raise StudyError(
            f"The original audio of “{stimulus.key}” is missing from the media store. Restore it "
            "from a backup."
        ) from None
    target.write_bytes(content)
    if audio.sha256_of(target) != stimulus.sha256:
        raise StudyError(
            f"The original audio of “{stimulus.key}” has changed since it was imported. Restore it "
            "from a backup."
        )
