"""Rows and audio of what a study's settings make of its lines, and which part of clips is heard."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from listening import audio
from listening.audio import Facts, Span, common_span, span_of
from listening.design.settings import Recipe, derive
from listening.design.studyfile import StudyFile
from listening.design.studyfile.entries import StimulusEntry
from listening.methods import method_named
from listening.models import Condition, Item, Stimulus, Study
from listening.studies.findings import StudyError

TURN_SLACK_S = 0.1  # by which a turn may end after its recording


class Trimming:
    """The spans of a study's stimuli; `facts_of` knows the sound of a file of the study."""

    def __init__(self, study: StudyFile, facts_of: Callable[[str], Facts]) -> None:
        self.study, self.facts_of = study, facts_of
        self.made_of_lines = bool(study.settings)

    @cached_property
    def in_step(self) -> bool:
        """Whether raters switch between the clips of an item while they play."""
        return any(method_named(task.method).screen == "parallel" for task in self.study.tasks)

    @cached_property
    def _files_of_items(self) -> dict[str, list[str]]:
        files: dict[str, list[str]] = defaultdict(list)
        for stimulus in self.study.stimuli:
            files[stimulus.item].append(stimulus.file)
        return files

    def span(self, stimulus: StimulusEntry) -> Span | None:
        """What is kept of a plain clip; None where it stays whole.

        Lines that settings join stay whole: their pauses belong to what is studied.
        """
        if self.study.ends == "as_is" or self.made_of_lines:
            return None
        clip = self.facts_of(stimulus.file)
        if self.in_step:
            common = common_span(self.facts_of(f) for f in self._files_of_items[stimulus.item])
            return Span(common.start_s, min(common.end_s, clip.duration_s))
        return span_of(clip)

    def span_of_joined(self, facts: Facts) -> Span | None:
        """What is kept of a clip that was made of lines."""
        return None if self.study.ends == "as_is" else span_of(facts)


def write_derived(
    study: Study, file: StudyFile, lines: Sequence[Stimulus], stored: list[str]
) -> None:
    """Conditions, items and stimuli of the settings; `stored` is told of every file kept."""
    derived = derive(file)
    Condition.objects.bulk_create(Condition(study=study, **asdict(c)) for c in derived.conditions)
    Item.objects.bulk_create(Item(study=study, **asdict(i)) for i in derived.items)
    conditions = {c.key: c for c in study.conditions.all()}
    items = {i.key: i for i in study.items.all()}
    by_key = {line.key: line for line in lines}
    trimming = Trimming(file, _no_facts)
    Stimulus.objects.bulk_create(
        (
            Stimulus(
                study=study,
                key=recipe.entry.key,
                condition=conditions[recipe.entry.condition],
                item=items[recipe.entry.item],
                attributes=recipe.entry.attributes,
                derived=True,
                **_sound(study, recipe, by_key, stored, trimming),
            )
            for recipe in derived.stimuli
        ),
        batch_size=1000,
    )


def what_was_derived(file: StudyFile) -> str:
    """What was made of lines and what was too short, as one line; empty without settings."""
    return derive(file).summary()


def _no_facts(file: str) -> audio.Facts:
    raise KeyError(f"{file} is a line: it stays whole")


def _sound(
    study: Study,
    recipe: Recipe,
    lines: Mapping[str, Stimulus],
    stored: list[str],
    trimming: Trimming,
) -> dict[str, Any]:
    """What a derived Stimulus keeps: the served clip with its context, the original without it."""
    heard = [lines[line.stimulus] for line in recipe.heard_lines]
    with tempfile.TemporaryDirectory(prefix="earnest-join-") as folder:
        try:
            clip, spans = _clip(recipe, lines, Path(folder) / "clip.flac")
            rated_fields = _rated_alone(recipe, lines, Path(folder) / "rated.flac", stored)
            span = trimming.span_of_joined(audio.probed(clip))
            # Faded ends have low frequencies again.
            cut_hz = study.low_cut_hz if span is not None else None
            served, served_sha256 = audio.keep_served(clip, span=span, low_cut_hz=cut_hz)
        except audio.AudioError as error:
            raise StudyError(f"“{recipe.entry.key}” cannot be made of its lines. {error}") from None
    stored.append(served)
    return {
        **rated_fields,
        "served": served,
        "served_sha256": served_sha256,
        "duration_s": span.duration_s if span else spans[-1][1],
        "trimmed_s": span.start_s if span else 0.0,
        "sample_rate_hz": max(line.sample_rate_hz for line in heard),
        "channels": 1 if recipe.mono else max(line.channels for line in heard),
        "lines": recipe.timeline(spans),
    }


def _clip(
    recipe: Recipe, lines: Mapping[str, Stimulus], target: Path
) -> tuple[Path, list[tuple[float, float]]]:
    """What raters hear, made of the lines' served copies; and when each line of it is heard."""
    parts = recipe.parts(lambda key: audio.local_path(lines[key].served))
    if len(parts) == 1 and isinstance(parts[0], Path):
        return parts[0], [(0.0, lines[recipe.heard_lines[0].stimulus].duration_s)]
    spans = audio.join(parts, target, mono=recipe.mono)
    if recipe.cut:
        last_s = max(line.end_s for line in recipe.lines) - recipe.lines[0].start_s
        if spans[-1][1] < last_s - TURN_SLACK_S:
            key = recipe.lines[0].stimulus
            raise audio.AudioError(
                f"The recording “{key}” ends before its last turn does.",
                "Correct the column turns, or replace the file.",
            )
        return target, spans
    sounds = zip(parts, spans, strict=True)
    return target, [span for part, span in sounds if isinstance(part, Path)]


def _rated_alone(
    recipe: Recipe, lines: Mapping[str, Stimulus], target: Path, stored: list[str]
) -> dict[str, Any]:
    """The rated lines as they were imported: what metrics score. One line is its own original."""
    if len(recipe.rated) == 1 and not recipe.cut:
        line = lines[recipe.rated[0].stimulus]
        names = ("original", "sha256", "loudness_lufs", "peak_dbfs", "gain_db")
        return {name: getattr(line, name) for name in names}
    audio.join(recipe.rated_parts(lambda key: audio.local_path(lines[key].original)), target)
    facts = audio.probed(target)
    stored.append(audio.keep_original(target))
    return {
        "original": stored[-1],
        "sha256": facts.sha256,
        "loudness_lufs": facts.loudness_lufs,
        "peak_dbfs": facts.peak_dbfs,
    }
