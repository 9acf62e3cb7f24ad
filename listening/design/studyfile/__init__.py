"""A study folder read into plain objects or a complete list of mistakes, and written back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from listening.common.command_name import command
from listening.common.input_limits import APART_FROM_TABLE_BYTES
from listening.common.reading_process import TookTooLong, read_apart
from listening.common.sound_files import EXTENSIONS
from listening.design.studyfile.archive import Limits, study_folder, unpack, unpack_upload
from listening.design.studyfile.drawing import remarks_of, with_draws
from listening.design.studyfile.entries import (
    ConditionEntry,
    CriterionEntry,
    ItemEntry,
    StimulusEntry,
    StudyFile,
    TaskEntry,
)
from listening.design.studyfile.files import AudioUse, audio_of, ignored_files
from listening.design.studyfile.fit import check_fit
from listening.design.studyfile.problems import (
    CSV,
    TOML,
    Notebook,
    Problem,
    StudyProblems,
    did_you_mean,
    mistakes,
)
from listening.design.studyfile.stimuli_csv import items_of, read_rows, stimuli_of, with_undeclared
from listening.design.studyfile.study_toml import read_study_toml
from listening.design.studyfile.writer import csv_text, toml_text


@dataclass(frozen=True)
class Reading:
    """A folder as read: the study if nothing is wrong, else what is; and the files it names."""

    study: StudyFile | None
    problems: tuple[Problem, ...]
    audio: dict[str, AudioUse]  # whether they hold sound is for listening.audio to say
    remarks: tuple[str, ...] = ()  # what was taken for granted


def read_folder(folder: Path, sounds: Path | None = None) -> Reading:
    """Everything that is wrong with study.toml and stimuli.csv is found in one go.

    The files that they name lie in the folder, or in another one: `sounds`.
    """
    notes = Notebook()
    toml, table = _content(folder, TOML, notes), _content(folder, CSV, notes)
    study = None if toml is None else read_study_toml(toml, notes)
    rows = [] if table is None else read_rows(table, notes)
    stimuli = stimuli_of(rows, notes)
    items = items_of(rows, study.language if study else "", notes)
    audio = audio_of(sounds or folder, rows, notes)
    remarks: tuple[str, ...] = ()
    if study:
        study, remarks = with_undeclared(replace(study, items=items, stimuli=stimuli))
        study = with_draws(study, notes)
        remarks = (*notes.remarks, *remarks, *remarks_of(study))
        check_fit(study, rows, notes)
    problems = tuple(notes.in_order())
    return Reading(None if problems else study, problems, audio, remarks)


def read_sent_folder(folder: Path, sounds: Path | None = None) -> Reading:
    """Read a folder that came over the web: apart from raters where its tables are large."""
    if sum(_size(folder / name) for name in (TOML, CSV)) <= APART_FROM_TABLE_BYTES:
        return read_folder(folder, sounds)
    try:
        return read_apart(read_folder, folder, sounds)
    except TookTooLong as error:
        remedy = "Split the study, or import the folder on the server."
        problem = Problem(CSV, "", *error.explain(f"Reading {TOML} and {CSV}", remedy))
        return Reading(None, (problem,), {})


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _content(folder: Path, name: str, notes: Notebook) -> bytes | None:
    try:
        path = (folder / name).resolve(strict=True)
        if not path.is_relative_to(folder.resolve()):
            notes.note(Problem(name, "", "This is a link out of the folder.", "Copy the file."))
            return None
        return path.read_bytes()
    except (OSError, RuntimeError) as error:
        words = getattr(error, "strerror", None) or "it is a link to itself"
        what = f"The file cannot be read ({words})."
        notes.note(Problem(name, "", what, _remedy(folder, name)))
        return None


def _remedy(folder: Path, name: str) -> str:
    """Who names a folder of sounds is told what makes a study of it."""
    sounds = any(path.suffix[1:].casefold() in EXTENSIONS for path in folder.rglob("*"))
    if not sounds:
        return f"A study folder holds {TOML} and {CSV}."
    if name == CSV:
        return f"The folder holds sounds: {command('scan_audio')} makes {CSV} of their names."
    return (
        f"{command('new_study mos FOLDER')} writes a {TOML} to start from; or make a study of "
        "these sounds in the browser: New study."
    )
