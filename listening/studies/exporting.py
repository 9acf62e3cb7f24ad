"""A study written back as the folder that would make it again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from listening import audio
from listening.design import studyfile
from listening.design.studyfile import StudyFile, TaskEntry
from listening.models import Condition, Item, Stimulus, Study, Task
from listening.studies.analysis_rules import hypotheses_as_declared, rules_as_declared
from listening.studies.findings import StudyError

STIMULUS = ("key", "condition__key", "item__key", "file", "trap", "attributes", "run")


def study_as_file(study: Study) -> StudyFile:
    """The study as its folder would say it."""
    minutes = study.lease_s / 60
    return StudyFile(
        key=study.key,
        title=study.title,
        language=study.language,
        seed=study.seed,
        task_plan=study.task_plan,
        sessions_per_rater=study.sessions_per_rater,
        lease_minutes=int(minutes) if minutes.is_integer() else minutes,
        break_every=study.break_every,
        loudness_lufs=study.loudness_lufs,
        sample_rate_hz=study.sample_rate_hz,
        low_cut_hz=study.low_cut_hz,
        erase_after_days=study.erase_after_days,
        erase_on=study.erase_on,
        erase_reasons=study.erase_reasons,
        ends=study.ends,
        texts=dict(study.texts),
        translations=dict(study.translations),
        completion_codes=dict(study.completion_codes),
        publication=dict(study.publication),
        ethics=dict(study.ethics),
        payment=dict(study.payment),
        checks=tuple(study.checks),
        questionnaires=tuple(study.questionnaires),
        settings=tuple(study.settings),
        sources=tuple(study.sources),
        hypotheses=hypotheses_as_declared(study),
        covariates=tuple(study.covariates),
        analysis_rules=rules_as_declared(study),
        stop=dict(study.stop),
        conditions=tuple(
            _condition_entry(c) for c in study.conditions.filter(derived=False).order_by("pk")
        ),
        tasks=tuple(_task_entry(t) for t in study.tasks.order_by("order")),
        items=tuple(_item_entry(i) for i in study.items.filter(derived=False).order_by("pk")),
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


def _condition_entry(row: Condition) -> studyfile.ConditionEntry:
    return studyfile.ConditionEntry(
        row.key, row.label, row.system, row.voice, row.role, dict(row.attributes)
    )


def _item_entry(row: Item) -> studyfile.ItemEntry:
    return studyfile.ItemEntry(
        row.key,
        row.text,
        row.dimension,
        row.paragraph,
        row.position,
        row.speaker,
        row.language,
        row.split,
        row.transcript,
    )


def _stimulus_entry(
    key: str, condition: str, item: str, file: str, trap: str, attributes: Any, run: int
) -> studyfile.StimulusEntry:
    return studyfile.StimulusEntry(key, condition, item, file, trap, dict(attributes), run=run)


def _task_entry(row: Task) -> TaskEntry:
    return TaskEntry(
        key=row.key,
        method=row.method,
        block_size=row.block_size,
        ratings_per_stimulus=row.ratings_per_stimulus,
        min_raters=row.min_raters,
        title=row.title,
        instructions=row.instructions,
        options=dict(row.options),
        conditions=tuple(row.material.get("conditions", ())),
        dimensions=tuple(row.material.get("dimensions", ())),
        draw=dict(row.material.get("draw", {})),
        blocks_per_session=row.blocks_per_session,
        blocks_per_rater=row.blocks_per_rater,
        repeat_items=row.repeat_items,
        allow_missing=row.allow_missing,
        show_text=row.show_text,
        show_caption=row.show_caption,
        autoplay=row.autoplay,
        reopen_invalid=row.reopen_invalid,
        repeats=row.repeats,
        examples=tuple(row.examples),
        training=tuple(row.training),
        justification=dict(row.justification),
        traps=dict(row.traps),
        criteria=tuple(
            studyfile.CriterionEntry(c.key, c.question, c.help_text, dict(c.options))
            for c in row.criteria.order_by("order")
        ),
        translations=dict(row.translations),
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
