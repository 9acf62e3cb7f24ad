"""A study created, checked before launch, opened, paused, closed: its only writer."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from listening import audio
from listening.design import studyfile
from listening.design.studyfile import Problem, Reading, StudyFile, StudyProblems, TaskEntry
from listening.methods import method_named
from listening.models import Condition, Criterion, Item, Rating, Session, Stimulus, Study, Task
from listening.models.codes import completion_code
from listening.prelaunch import Finding, check_study

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractUser

OUTCOMES = ("complete", "screened_out", "partial")

__all__ = [
    "Finding",
    "StudyError",
    "StudyProblems",
    "check_study",
    "close_study",
    "create_study",
    "export_study",
    "open_study",
    "pause_study",
    "study_as_file",
]


class StudyError(ValueError):
    """What was asked cannot be done with this study; the message says why, and what to do."""


def create_study(source: Path, owner: AbstractUser, *, replace: bool = False) -> Study:
    """A study from a folder or a .zip of one; StudyProblems lists all that is wrong with it.

    Nothing is half-imported: rows are written in one transaction, and audio that was stored for a
    study that did not come about is deleted again.
    """
    with _as_folder(source) as folder:
        reading = studyfile.read_folder(folder)
        facts, unreadable = _probed(reading)
        problems = (*reading.problems, *unreadable)
        if problems or reading.study is None:
            raise StudyProblems(problems)
        _check_key(reading.study.key, replace)
        stored: list[str] = []
        try:
            shelf = _Shelf(reading, facts, stored)
            with transaction.atomic():
                _make_room(reading.study.key, replace)
                return _write(reading.study, owner, shelf)
        except BaseException as error:
            audio.forget(stored)
            if isinstance(error, IntegrityError):
                _check_key(reading.study.key, replace)  # made by somebody else at this moment?
            raise


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
        texts=dict(study.texts),
        completion_codes=dict(study.completion_codes),
        checks=tuple(study.checks),
        conditions=tuple(_condition_entry(c) for c in study.conditions.order_by("pk")),
        tasks=tuple(_task_entry(t) for t in study.tasks.order_by("order")),
        items=tuple(_item_entry(i) for i in study.items.order_by("pk")),
        stimuli=tuple(
            _stimulus_entry(s)
            for s in study.stimuli.select_related("condition", "item").order_by("pk")
        ),
    )


def export_study(study: Study, folder: Path) -> int:
    """Writes study.toml, stimuli.csv and the original audio; the number of sound files written."""
    if folder.exists() and any(folder.iterdir()):
        raise StudyError(f"{folder} is not empty. Name a new or an empty folder.")
    written: set[str] = set()
    for stimulus in study.stimuli.order_by("pk"):
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


@transaction.atomic
def open_study(study: Study, *, anyway: bool = False) -> int:
    """Lets raters in; plans blocks the first time. `anyway` opens in spite of found problems."""
    from listening.allocation import plan_study

    row = _locked(study)
    if row.state == Study.State.CLOSED:
        raise StudyError(f"The study “{row.key}” is closed and cannot be opened again.")
    if row.state == Study.State.DRAFT and not anyway:
        serious = [f for f in check_study(row) if f.level == "problem"]
        if serious:
            raise StudyError("\n".join(str(finding) for finding in serious))
    planned = plan_study(row)
    row.opened_at = row.opened_at or timezone.now()
    _move(study, row, Study.State.OPEN)
    return planned


@transaction.atomic
def pause_study(study: Study) -> None:
    """Lets nobody new in; raters who are at it may finish."""
    row = _locked(study)
    if row.state != Study.State.OPEN:
        raise StudyError(f"The study “{row.key}” is {row.state}; only an open one can be paused.")
    _move(study, row, Study.State.PAUSED)


@transaction.atomic
def close_study(study: Study) -> None:
    """Ends the study for good."""
    row = _locked(study)
    if row.state == Study.State.DRAFT:
        raise StudyError(f"The study “{row.key}” was never opened.")
    row.closed_at = row.closed_at or timezone.now()
    _move(study, row, Study.State.CLOSED)


# --- A folder becomes rows ------------------------------------------------------------------------


@contextmanager
def _as_folder(source: Path) -> Iterator[Path]:
    if source.is_dir():
        yield source
    elif source.is_file():
        with tempfile.TemporaryDirectory(prefix="earnest-import-") as space:
            if problems := studyfile.unpack(source, Path(space)):
                raise StudyProblems(problems)
            yield studyfile.study_folder(Path(space))
    else:
        raise StudyError(f"{source} is neither a folder nor a file. Check the path.")


def _probed(reading: Reading) -> tuple[dict[str, audio.Facts], list[Problem]]:
    """What is in the files that exist, and what is wrong with them, by the first row of each."""
    facts: dict[str, audio.Facts] = {}
    problems = []
    for name, use in reading.audio.items():
        try:
            facts[name] = audio.probed(use.path)
        except audio.AudioError as error:
            what = f"“{name}”: {error.reason}"
            problems.append(Problem(studyfile.CSV, "file", what, error.remedy, use.row))
    return facts, problems


class _Shelf:
    """The audio of one import: originals once per file, served copies once per stimulus."""

    def __init__(self, reading: Reading, facts: dict[str, audio.Facts], stored: list[str]) -> None:
        self.uses, self.facts, self.stored = reading.audio, facts, stored
        self.originals: dict[str, str] = {}

    def fields(self, file: str) -> dict[str, Any]:
        """What a Stimulus keeps about its audio, after both copies were stored."""
        path, facts = self.uses[file].path, self.facts[file]
        if file not in self.originals:
            self.originals[file] = audio.keep_original(path)
            self.stored.append(self.originals[file])
        served, served_sha256 = audio.keep_served(path)
        self.stored.append(served)
        return {
            "original": self.originals[file],
            "served": served,
            "sha256": facts.sha256,
            "served_sha256": served_sha256,
            "duration_s": facts.duration_s,
            "sample_rate_hz": facts.sample_rate_hz,
            "channels": facts.channels,
            "loudness_lufs": facts.loudness_lufs,
            "peak_dbfs": facts.peak_dbfs,
        }


def _check_key(key: str, replace: bool) -> None:
    study = Study.objects.filter(key=key).first()
    if study is None:
        return
    if not replace:
        raise StudyError(
            f"There is a study “{key}” already. Choose another key in study.toml, or replace the "
            "study with --replace."
        )
    if Rating.objects.filter(trial__session__study=study).exists():
        raise StudyError(
            f"The study “{key}” has ratings, which are never thrown away. Choose another key in "
            "study.toml."
        )
    if Session.objects.filter(study=study, status=Session.Status.STARTED).exists():
        raise StudyError(
            f"Raters are taking the study “{key}” at this moment. Choose another key in study.toml."
        )


def _make_room(key: str, replace: bool) -> None:
    """Deletes the study that is replaced, and its audio once that is certain."""
    Study.objects.select_for_update().filter(key=key).first()
    _check_key(key, replace)
    old = Study.objects.filter(key=key).first()
    if old is None:
        return
    names = {name for pair in old.stimuli.values_list("original", "served") for name in pair}
    old.sessions.all().delete()
    for task in old.tasks.all():
        task.blocks.all().delete()
    for part in (old.stimuli, old.tasks, old.items, old.conditions):
        part.all().delete()
    old.delete()
    transaction.on_commit(partial(audio.forget, sorted(names)))


def _write(file: StudyFile, owner: AbstractUser, shelf: _Shelf) -> Study:
    study = Study.objects.create(
        owner_id=owner.pk,
        key=file.key,
        title=file.title,
        language=file.language,
        seed=file.seed,
        task_plan=file.task_plan,
        sessions_per_rater=file.sessions_per_rater,
        lease_s=round(file.lease_minutes * 60),
        texts=file.texts,
        checks=list(file.checks),
        completion_codes={outcome: completion_code() for outcome in OUTCOMES}
        | file.completion_codes,
    )
    conditions = Condition.objects.bulk_create(
        Condition(study=study, **asdict(entry)) for entry in file.conditions
    )
    items = Item.objects.bulk_create(Item(study=study, **asdict(entry)) for entry in file.items)
    by_key = {c.key: c for c in conditions}, {i.key: i for i in items}
    Stimulus.objects.bulk_create(
        (
            Stimulus(
                study=study,
                key=entry.key,
                condition=by_key[0][entry.condition],
                item=by_key[1][entry.item],
                trap=entry.trap,
                attributes=entry.attributes,
                file=entry.file,
                **shelf.fields(entry.file),
            )
            for entry in file.stimuli
        ),
        batch_size=1000,
    )
    for order, task in enumerate(file.tasks):
        _write_task(study, order, task)
    return study


def _write_task(study: Study, order: int, entry: TaskEntry) -> None:
    fields = asdict(entry)
    for part in ("conditions", "dimensions", "criteria"):
        del fields[part]
    task = Task.objects.create(study=study, order=order, material=entry.material, **fields)
    scale = method_named(entry.method).scale(entry.options).as_dict()
    Criterion.objects.bulk_create(
        Criterion(task=task, order=n, scale=scale, **asdict(criterion))
        for n, criterion in enumerate(entry.criteria)
    )


# --- Rows become a folder -------------------------------------------------------------------------


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
    )


def _stimulus_entry(row: Stimulus) -> studyfile.StimulusEntry:
    return studyfile.StimulusEntry(
        row.key, row.condition.key, row.item.key, row.file, row.trap, dict(row.attributes)
    )


def _task_entry(row: Task) -> TaskEntry:
    return TaskEntry(
        key=row.key,
        method=row.method,
        block_size=row.block_size,
        ratings_per_stimulus=row.ratings_per_stimulus,
        title=row.title,
        instructions=row.instructions,
        options=dict(row.options),
        conditions=tuple(row.material.get("conditions", ())),
        dimensions=tuple(row.material.get("dimensions", ())),
        blocks_per_session=row.blocks_per_session,
        blocks_per_rater=row.blocks_per_rater,
        repeat_items=row.repeat_items,
        allow_missing=row.allow_missing,
        show_text=row.show_text,
        reopen_invalid=row.reopen_invalid,
        justification=dict(row.justification),
        traps=dict(row.traps),
        criteria=tuple(
            studyfile.CriterionEntry(c.key, c.question, c.help_text)
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


# --- States ---------------------------------------------------------------------------------------


def _locked(study: Study) -> Study:
    return Study.objects.select_for_update().get(pk=study.pk)


def _move(study: Study, row: Study, state: Study.State) -> None:
    """Writes the state, and shows it in the caller's object too."""
    row.state = state
    row.save(update_fields=["state", "opened_at", "closed_at"])
    study.state, study.opened_at, study.closed_at = state, row.opened_at, row.closed_at
