"""A study created from a folder or a zip of one: all of it, or nothing and a list of mistakes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from django.contrib.auth.models import AbstractUser
from django.db import IntegrityError, transaction

from listening import audio
from listening.common.command_name import command
from listening.design import studyfile
from listening.design.studyfile import (
    AudioUse,
    Problem,
    Reading,
    StudyFile,
    StudyProblems,
    TaskEntry,
)
from listening.design.studyfile.drawing import draws_of
from listening.design.studyfile.entries import OUTCOMES, StimulusEntry
from listening.methods import method_named
from listening.models import Condition, Criterion, Item, Project, Stimulus, Study, Task
from listening.models.codes import completion_code
from listening.models.study_log import COMMAND_LINE, note
from listening.review.verdicts import relink
from listening.studies.analysis_rules import hypotheses_from_folder, rules_from_folder
from listening.studies.deleting import audio_of, empty, forget_unused
from listening.studies.deriving import Trimming, write_derived
from listening.studies.exporting import STUDY_APART, TASK_APART
from listening.studies.findings import StudyError
from listening.studies.pilots import remove_pilots


def create_study(
    source: Path,
    owner: AbstractUser,
    *,
    replace: bool = False,
    project: Project | None = None,
    only: str = "",
    by: str = COMMAND_LINE,
    tell: Callable[[str], object] = len,
    sent: bool = False,
) -> Study:
    """A study from a folder or a .zip of one; StudyProblems lists all that is wrong with it.

    `tell` hears, a sentence at a time, what was taken for granted. A new one may belong to a
    project at once; `only`: another key than this is refused. A draft that is replaced stays
    what others know of it: its link, its owner, what was recruited for it. Whether it may be
    replaced by who asks is the caller's to know. What was `sent` over the web has tighter limits.

    Nothing is half-imported: rows are written in one transaction, and audio that was stored for a
    study that did not come about is deleted again.
    """
    with _as_folder(source, sent) as (folder, ignored):
        reading = _reading(folder, sent)
        facts, unreadable = _probed(reading)
        problems = (*reading.problems, *unreadable)
        if problems or reading.study is None:
            raise StudyProblems(problems)
        if only and reading.study.key != only:
            raise StudyError(f"The folder is of the study “{reading.study.key}”, not “{only}”.")
        _check_key(reading.study.key, replace)
        for remark in (*ignored, *reading.remarks):
            tell(remark)
        stored: list[str] = []
        try:
            shelf = _Shelf(reading.study, reading.audio, facts, stored)
            with transaction.atomic():
                draft = _emptied_draft(reading.study.key, replace, by)
                study = _write(
                    reading.study, draft or Study(owner_id=owner.pk, project=project), shelf
                )
                if draft:
                    relink(study)
                lines = draws_of(reading.study.tasks)
                drawn = {"draws": lines} if lines else {}
                note(study, "replaced" if draft else "made", by, **drawn)
                return study
        except BaseException as error:
            audio.forget(stored)
            if isinstance(error, IntegrityError):
                _check_key(reading.study.key, replace)  # made by somebody else at this moment?
            raise


@dataclass(frozen=True)
class Looked:
    """A folder that was read and stored nowhere."""

    key: str | None
    problems: tuple[Problem, ...]
    remarks: tuple[str, ...]


def look_at(source: Path, *, sent: bool = False) -> Looked:
    """All that `create_study` would refuse in the folder, and what it would take for granted."""
    try:
        with _as_folder(source, sent) as (folder, ignored):
            reading = _reading(folder, sent)
            problems = (*reading.problems, *_probed(reading)[1])
    except StudyProblems as error:
        return Looked(None, error.problems, ())
    return Looked(
        reading.study.key if reading.study else None, problems, (*ignored, *reading.remarks)
    )


def _reading(folder: Path, sent: bool) -> Reading:
    return studyfile.read_sent_folder(folder) if sent else studyfile.read_folder(folder)


@contextmanager
def _as_folder(source: Path, sent: bool) -> Iterator[tuple[Path, list[str]]]:
    """The folder, unpacked where it is a zip; and what of the zip was ignored, in a sentence."""
    if source.is_dir():
        yield source, []
    elif source.is_file():
        with tempfile.TemporaryDirectory(prefix="earnest-import-") as space:
            ignored: list[str] = []
            problems = (
                studyfile.unpack_upload(source, Path(space), ignored)
                if sent
                else studyfile.unpack(source, Path(space), ignored=ignored)
            )
            if problems:
                raise StudyProblems(problems)
            notes = [studyfile.ignored_files(ignored)] if ignored else []
            yield studyfile.study_folder(Path(space)), notes
    else:
        raise StudyError(f"{source} is neither a folder nor a file. Check the path.")


def _probed(reading: Reading) -> tuple[dict[str, audio.Facts], list[Problem]]:
    """What is in the files that exist, and what is wrong with them, by the first row of each."""
    facts: dict[str, audio.Facts] = {}
    problems = []
    probes = audio.probed_all([use.path for use in reading.audio.values()])
    for (name, use), each in zip(reading.audio.items(), probes, strict=True):
        if isinstance(each, audio.AudioError):
            what = f"“{name}”: {each.reason}"
            problems.append(Problem(studyfile.CSV, "file", what, each.remedy, use.row))
        else:
            facts[name] = each
    return facts, problems


class _Shelf:
    """The audio of one import: originals once per file, served copies once per stimulus."""

    def __init__(
        self,
        study: StudyFile,
        uses: Mapping[str, AudioUse],
        facts: dict[str, audio.Facts],
        stored: list[str],
    ) -> None:
        self.study, self.uses, self.facts, self.stored = study, uses, facts, stored
        self.originals: dict[str, str] = {}
        self.trimming = Trimming(study, facts.__getitem__)

    def fields(self, entry: StimulusEntry) -> dict[str, Any]:
        """What a Stimulus keeps about its audio, after both copies were stored."""
        file = entry.file
        span = self.trimming.span(entry)
        path, facts = self.uses[file].path, self.facts[file]
        if file not in self.originals:
            self.originals[file] = audio.keep_original(path)
            self.stored.append(self.originals[file])
        low_cut_hz, target_lufs = self.study.low_cut_hz, self.study.loudness_lufs
        level = facts if target_lufs is None else audio.level_after_cut(path, facts, low_cut_hz)
        gain_db = audio.gain_for(level, target_lufs)
        served, served_sha256 = audio.keep_served(
            path, gain_db, self.study.sample_rate_hz, span, low_cut_hz=low_cut_hz
        )
        self.stored.append(served)
        return {
            "original": self.originals[file],
            "served": served,
            "sha256": facts.sha256,
            "served_sha256": served_sha256,
            "duration_s": span.duration_s if span else facts.duration_s,
            "trimmed_s": span.start_s if span else 0.0,
            "sample_rate_hz": facts.sample_rate_hz,
            "channels": facts.channels,
            "loudness_lufs": level.loudness_lufs,
            "peak_dbfs": level.peak_dbfs,
            "gain_db": gain_db,
        }


def _check_key(key: str, replace: bool) -> None:
    study = Study.objects.filter(key=key).first()
    if study is None:
        return
    if not replace:
        raise StudyError(
            f"There is a study “{key}” already. Choose another key in study.toml; a draft can be "
            "replaced (--replace; by the API, PUT)."
        )
    if study.state != Study.State.DRAFT:
        raise StudyError(
            f"The study “{key}” is {study.state}, and raters have its link: only a draft is "
            "replaced. Choose another key in study.toml; or go on in a copy, which is a draft: "
            + command(f"copy_study {key}")
        )


def _emptied_draft(key: str, replace: bool, by: str) -> Study | None:
    """The draft that is replaced, without its material; its audio goes once that is certain."""
    draft = Study.objects.select_for_update().filter(key=key).first()
    _check_key(key, replace)
    if draft is None:
        return None
    names = audio_of(draft)
    remove_pilots(draft, by=by)  # what they heard is no more
    empty(draft, reviews=False)  # what experts said of its clips stays, see relink
    transaction.on_commit(partial(forget_unused, names))
    return draft


def _write(file: StudyFile, study: Study, shelf: _Shelf) -> Study:
    """Everything that the folder says, into a study that is new or was emptied."""
    for field in fields(file):
        if field.name not in STUDY_APART | {"completion_codes"}:
            value = getattr(file, field.name)
            setattr(study, field.name, list(value) if isinstance(value, tuple) else value)
    study.lease_s = round(file.lease_minutes * 60)
    study.completion_codes = (
        {outcome: completion_code() for outcome in OUTCOMES}
        | study.completion_codes
        | file.completion_codes
    )
    study.save()
    conditions = Condition.objects.bulk_create(
        Condition(study=study, **asdict(entry)) for entry in file.conditions
    )
    items = Item.objects.bulk_create(Item(study=study, **asdict(entry)) for entry in file.items)
    by_key = {c.key: c for c in conditions}, {i.key: i for i in items}
    stimuli = Stimulus.objects.bulk_create(
        (
            Stimulus(
                study=study,
                key=entry.key,
                condition=by_key[0][entry.condition],
                item=by_key[1][entry.item],
                trap=entry.trap,
                run=entry.run,
                attributes=entry.attributes,
                file=entry.file,
                **shelf.fields(entry),
            )
            for entry in file.stimuli
        ),
        batch_size=1000,
    )
    write_derived(study, file, stimuli, shelf.stored)
    for order, task in enumerate(file.tasks):
        _write_task(study, order, task)
    rules_from_folder(study, file.analysis_rules, studyfile.TOML)
    hypotheses_from_folder(study, file.hypotheses, studyfile.TOML)
    return study


def _write_task(study: Study, order: int, entry: TaskEntry) -> None:
    own = {name: value for name, value in asdict(entry).items() if name not in TASK_APART}
    task = Task.objects.create(study=study, order=order, material=entry.material, **own)
    method = method_named(entry.method)
    Criterion.objects.bulk_create(
        Criterion(
            task=task,
            order=n,
            scale=method.scale({**entry.options, **criterion.options}).as_dict(),
            **asdict(criterion),
        )
        for n, criterion in enumerate(entry.criteria)
    )
