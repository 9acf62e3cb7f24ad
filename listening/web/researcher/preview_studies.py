"""Studies to preview, of the demo or stored ones: their clips, wording, scales and plan.

The database is only read.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings

from listening import audio
from listening.audio.served_sound import AFTER_S, BEFORE_S, CUT_EDGES_HZ
from listening.audio.store import write_plain_flac
from listening.checks import Check
from listening.common.sound_files import AudioError, duration_s
from listening.common.speaker_turns import Excerpt
from listening.design.blocks import Amount, amount_of, sessions_of, trials_of
from listening.design.draft_questionnaires import forms_of
from listening.design.duration import SessionLength, estimate
from listening.design.presets import Preset, presets
from listening.design.preview_trials import scales_of
from listening.design.questionnaires import READY_MADE
from listening.design.settings import Recipe, derive
from listening.design.studyfile import (
    CSV,
    TOML,
    StimulusEntry,
    StudyFile,
    StudyProblems,
    TaskEntry,
    read_sent_folder,
)
from listening.design.studyfile.drawing import drawn_of
from listening.design.studyfile.problems import Notebook
from listening.design.studyfile.questionnaire_tables import read_questionnaires
from listening.design.studyfile.study_toml import default_criteria
from listening.design.traps import TrapPlan
from listening.methods import Method, Scale, method_named
from listening.methods.method import ALTERNATIVES, MARKS, SPANS, TEXTS
from listening.models import Study
from listening.sessions.line_marks import moved
from listening.studies import study_as_file
from listening.studies.deriving import Trimming
from listening.studies.length import session_length

GALLERY = "gallery"  # the folder with a task for every method
Lines = list[dict[str, Any]]

TRIM = (BEFORE_S, AFTER_S)  # what was made with others has another name
MOST_SYSTEMS = 24
MOST_CLIPS = 2  # of each
MOST_ANSWERS = 12  # more are said by their ends


class Source(Protocol):
    """A study that can be looked at, whatever it is made of."""

    @property
    def file(self) -> StudyFile:
        """The study with what its settings make of lines."""

    @property
    def length(self) -> SessionLength:
        """How long a session of it takes."""

    def clip(self, stimulus: str) -> Path | None:
        """What raters hear of this stimulus; None when there is none."""

    def lines(self, stimuli: Iterable[str]) -> Mapping[str, Lines]:
        """When each line of these stimuli sounds; those that are plain clips may be left out."""

    def trimmed_s(self, stimulus: str) -> float:
        """How much of the start of a plain clip raters do not hear, in seconds."""


class StoredSource:
    """A study of the database: its raters' own clips."""

    def __init__(self, study: Study) -> None:
        self.study = study

    @cached_property
    def file(self) -> StudyFile:
        file = study_as_file(self.study)
        return derive(file).added_to(file)

    @property
    def length(self) -> SessionLength:
        return session_length(self.study)

    def clip(self, stimulus: str) -> Path | None:
        served = self.study.stimuli.filter(key=stimulus).values_list("served", flat=True).first()
        return audio.local_path(served) if served else None

    def lines(self, stimuli: Iterable[str]) -> Mapping[str, Lines]:
        rows = self.study.stimuli.filter(key__in=list(stimuli), derived=True)
        return {row.key: moved(row.lines, -row.trimmed_s) for row in rows}

    def trimmed_s(self, stimulus: str) -> float:
        return float(self.study.stimuli.get(key=stimulus).trimmed_s)


class FolderSource:
    """A folder of the demo, whose sounds lie beside it; what settings make is joined when asked."""

    def __init__(self, folder: Path, sounds: Path) -> None:
        reading = read_sent_folder(folder, sounds)
        if reading.study is None:
            raise StudyProblems(reading.problems)
        derived = derive(reading.study)
        self.file = derived.added_to(reading.study)
        self.recipes = {recipe.entry.key: recipe for recipe in derived.stimuli}
        self.entries = {s.key: s for s in reading.study.stimuli}
        self.paths = {s.key: reading.audio[s.file].path for s in reading.study.stimuli}
        files = {name: use.path for name, use in reading.audio.items()}
        self.trimming = Trimming(reading.study, lambda name: audio.probed(files[name]))

    @cached_property
    def length(self) -> SessionLength:
        files = {path: _seconds(path) for path in set(self.paths.values())}
        plain = {key: files[path] for key, path in self.paths.items()}
        pieces = {key: recipe.parts(plain.__getitem__) for key, recipe in self.recipes.items()}
        joined = {
            key: sum(each.duration_s if isinstance(each, Excerpt) else each for each in parts)
            for key, parts in pieces.items()
        }
        return estimate(self.file, plain | joined)

    def clip(self, stimulus: str) -> Path | None:
        if recipe := self.recipes.get(stimulus):
            return self._joined(recipe)[0]
        return self._served(stimulus) if stimulus in self.paths else None

    def lines(self, stimuli: Iterable[str]) -> Mapping[str, Lines]:
        recipes = [self.recipes[key] for key in stimuli if key in self.recipes]
        return {recipe.entry.key: self._joined(recipe)[1] for recipe in recipes}

    def trimmed_s(self, stimulus: str) -> float:
        span = self.trimming.span(self.entries[stimulus])
        return span.start_s if span else 0.0

    @property
    def _cut(self) -> tuple[Any, ...]:
        low_cut_hz = self.file.low_cut_hz
        return (*TRIM, low_cut_hz, *CUT_EDGES_HZ[low_cut_hz])

    def _served(self, stimulus: str) -> Path:
        """With loudness, sampling rate and ends as the study names them, as after an import."""
        path = self.paths[stimulus]
        loudness, rate_hz = self.file.loudness_lufs, self.file.sample_rate_hz
        low_cut_hz = self.file.low_cut_hz
        settings = loudness, rate_hz, self.file.ends, self._cut
        copy = _shelf("served", *settings, stimulus, _mark(path))
        if not copy.exists():
            span = self.trimming.span(self.entries[stimulus])
            gain_db = 0.0
            if loudness is not None:
                level = audio.level_after_cut(path, audio.probed(path), low_cut_hz)
                gain_db = audio.gain_for(level, loudness)
            _write(
                copy,
                lambda draft: write_plain_flac(
                    path, draft, gain_db, rate_hz, span, low_cut_hz=low_cut_hz
                ),
            )
        return copy

    def _joined(self, recipe: Recipe) -> tuple[Path, Lines]:
        parts = recipe.parts(self._served)
        marks = [
            (_mark(part.sound), part.start_s, part.end_s, recipe.mono)
            if isinstance(part, Excerpt) and isinstance(part.sound, Path)
            else _mark(part)
            if isinstance(part, Path)
            else part
            for part in parts
        ]
        clip = _shelf("joined", self.file.ends, self._cut, *marks)
        times = clip.with_suffix(".json")
        if not (clip.exists() and times.exists()):
            whole = _shelf("joined whole", *marks)
            spans: list[tuple[float, float]] = []
            _write(whole, lambda draft: spans.extend(audio.join(parts, draft, mono=recipe.mono)))
            heard = [s for part, s in zip(parts, spans, strict=True) if isinstance(part, Path)]
            span = self.trimming.span_of_joined(audio.probed(whole))
            cut_hz = self.file.low_cut_hz if span is not None else None
            _write(clip, lambda draft: write_plain_flac(whole, draft, span=span, low_cut_hz=cut_hz))
            whole.unlink(missing_ok=True)
            joined = {"heard": heard, "trimmed_s": span.start_s if span else 0.0}
            _write(times, lambda draft: draft.write_text(json.dumps(joined)))
        facts = json.loads(times.read_text())
        return clip, moved(recipe.timeline(facts["heard"]), -facts["trimmed_s"])


def _seconds(path: Path) -> float:
    """How long a sound lasts; 0 where none can be read, which the page of sounds says."""
    with suppress(AudioError):
        return duration_s(path)
    return 0.0


def _mark(path: Path) -> tuple[str, int, int]:
    facts = path.stat()
    return path.name, facts.st_size, facts.st_mtime_ns


def _shelf(*words: object) -> Path:
    """Where a sound made for previews is kept: another sound of other words has another name."""
    folder = Path(settings.EARNEST_VAR) / "previews"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{sha256(repr(words).encode()).hexdigest()[:32]}.flac"


def _write(target: Path, make: Callable[[Path], Any]) -> None:
    """All of the file or nothing of it, even when two pages make it at once."""
    with tempfile.TemporaryDirectory(dir=target.parent) as space:
        draft = Path(space) / target.name
        make(draft)
        os.replace(draft, target)


def demo_folder() -> Path:
    return Path(settings.BASE_DIR) / "demo"


def shown_presets() -> dict[str, Preset]:
    return presets(demo_folder())


def example(name: str) -> FolderSource | None:
    """A preset, or the gallery's own study, as it is on the disk now; None when there is none."""
    demo = demo_folder()
    folder = demo / GALLERY if name == GALLERY else demo / "presets" / name
    known = name == GALLERY or name in presets(demo)
    if not known or not (folder / TOML).is_file():
        return None
    return _example(folder, demo, _mark(folder / TOML), _mark(folder / CSV))


def folder_source(folder: Path) -> FolderSource:
    """Any study folder as it is on the disk now; StudyProblems where it cannot be read."""
    for name in (TOML, CSV):
        if not (folder / name).is_file():
            raise StudyProblems(read_sent_folder(folder).problems)
    return _example(folder, folder, _mark(folder / TOML), _mark(folder / CSV))


@lru_cache(maxsize=16)
def _example(folder: Path, demo: Path, *marks: tuple[str, int, int]) -> FolderSource:
    source = FolderSource(folder, demo)
    if folder.name == GALLERY:
        source.file = replace(
            source.file,
            tasks=(*source.file.tasks, *_tasks_without_example(source.file)),
            checks=every_check(),
            questionnaires=ready_questionnaires(),
        )
    return source


def _tasks_without_example(study: StudyFile) -> Iterator[TaskEntry]:
    """A task for each other method that works without options, with the clips of the first task."""
    first, shown = study.tasks[0], {task.method for task in study.tasks}
    for key in (key for key in Method.registry if key not in shown):
        method = method_named(key)
        task = TaskEntry(
            key=key,
            method=key,
            block_size=first.block_size,
            ratings_per_stimulus=first.ratings_per_stimulus,
            title=method.title,
            instructions=method.default_question,
            conditions=first.conditions,
            dimensions=first.dimensions,
            criteria=default_criteria(method, {}),
        )
        try:
            scales_of(task)
            trials_of(study, task)
        except ValueError:  # it needs an option
            continue
        yield task


def every_check() -> tuple[dict[str, Any], ...]:
    """Each check of the registry with its usual settings; the volume comes first, as in studies."""
    kinds = sorted(Check.registry.values(), key=lambda check: (check.kind != "volume", check.key))
    return tuple({"key": check.key} for check in kinds)


def ready_questionnaires() -> tuple[dict[str, Any], ...]:
    return read_questionnaires(
        [{"key": name, "when": "before", "use": [name]} for name in READY_MADE], Notebook()
    )


def questionnaire_alone(top: Mapping[str, Any], key: str) -> FolderSource | None:
    """A questionnaire of a draft that lacks something else, such as sounds, in the gallery's study.

    None where there is no such questionnaire, or something is wrong with it.
    """
    notes, gallery = Notebook(), example(GALLERY)
    forms = read_questionnaires([f for f in forms_of(top) if key and f.get("key") == key], notes)
    if gallery is None or len(forms) != 1 or len(notes):
        return None
    study = top.get("study", {})
    source = copy(gallery)
    source.file = replace(
        source.file,
        title=str(study.get("title", "")),
        language=str(study.get("language", "en")),
        translations={},
        questionnaires=forms,
    )
    return source


def only(
    file: StudyFile, *, task: str = "", check: str = "", questionnaire: str = ""
) -> StudyFile | None:
    """The study with one part of it alone; all of it when none is named, None when it has not."""
    wanted = {"tasks": task, "checks": check, "questionnaires": questionnaire}
    if not any(wanted.values()):
        return file
    parts: dict[str, Any] = {
        part: tuple(each for each in getattr(file, part) if _key(each) == key)
        for part, key in wanted.items()
    }
    if any(key and not parts[part] for part, key in wanted.items()):
        return None
    alone = tuple({**each, "when": "before"} for each in parts["questionnaires"])
    return replace(file, **parts | {"questionnaires": alone})


def _key(part: Any) -> str:
    return str(part["key"] if isinstance(part, Mapping) else part.key)


def what_it_is(study: StudyFile, address: Callable[[StimulusEntry], str]) -> dict[str, Any]:
    """`study` holds what its settings make; `address` is that of a clip."""
    tasks = [_task(study, task) for task in study.tasks]
    systems = [c for c in study.conditions if not c.derived]
    by_condition: dict[str, list[StimulusEntry]] = {c.key: [] for c in systems}
    for entry in study.stimuli:
        by_condition.get(entry.condition, []).append(entry)
    return {
        "tasks": tasks,
        "sessions": sessions_of((t["amount"].sessions for t in tasks), study.task_plan),
        "ratings": sum(task["amount"].ratings for task in tasks),
        "systems": [
            {
                "key": c.key,
                "label": c.label or c.key,
                "role": c.role if c.role != "test" else "",
                "count": len(by_condition[c.key]),
                "clips": [
                    {"item": entry.item, "url": address(entry)}
                    for entry in by_condition[c.key][:MOST_CLIPS]
                ],
            }
            for c in systems[:MOST_SYSTEMS]
        ],
        "more_systems": max(len(systems) - MOST_SYSTEMS, 0),
    }


def _task(study: StudyFile, task: TaskEntry) -> dict[str, Any]:
    method = method_named(task.method)
    amount: Amount = amount_of(trials_of(study, task), task)
    questions = [
        {"question": criterion.question, "help": criterion.help_text, "scale": _scale(scale)}
        for criterion, scale in zip(task.criteria, scales_of(task), strict=True)
    ]
    traps = TrapPlan.from_dict(task.traps)
    return {
        "task": task,
        "method": method.title,
        "questions": questions,
        "amount": amount,
        "drawn": drawn_of(task),
        "traps": traps.sets_for(task.block_size) * traps.traps_per_set * task.blocks_per_session,
        "reasons": task.justification.get("required") if task.justification else None,
    }


def _scale(scale: Scale) -> str:
    """Its answers, as raters read them."""
    words = [
        f"{step.label} {step.text}" if step.text and step.text != step.label else step.label
        for step in scale.steps
    ]
    if scale.span is not None:
        low, high, step = scale.span
        return f"{low:g} to {high:g} in steps of {step:g}" + (f": {', '.join(words)}" * bool(words))
    if scale.widget in TEXTS:
        also = "".join(f", or “{step.text}”" for step in scale.steps)
        return f"free text, at most {scale.longest} characters{also}"
    if scale.widget == "ranking":
        return "a ranking, best first"
    if scale.widget == "best_worst":
        return "the best and the worst clip"
    if scale.widget == MARKS:
        return f"words of the text, each marked as one of {', '.join(words[:-1])}; or {words[-1]}"
    if scale.widget == SPANS:
        return (
            f"spans of the waveform, each marked as one of {', '.join(words[:-1])}; or {words[-1]}"
        )
    if scale.widget == ALTERNATIVES:
        return "the alternatives of each clip"
    return ", ".join(words) if len(words) <= MOST_ANSWERS else f"{words[0]} to {words[-1]}"
