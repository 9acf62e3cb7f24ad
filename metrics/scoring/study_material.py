"""A study's audio files as clips with what is known of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from listening.common.speaker_turns import turns_of
from metrics.core.metric import REFERENCE_AUDIO, Material, Metric, Turn
from metrics.core.vocalisations import TARGET, has_marks
from metrics.scoring.runner import Clip


class NoStimuli(ValueError):
    """There is no such study, or it has no stimuli."""


def study_stimuli(study: str) -> list[tuple[Mapping[str, Any], Material]]:
    """Every stimulus (StimulusRow) of a study with its material, in order."""
    from listening.selectors import stimulus_rows

    rows = stimulus_rows(study)
    named = {row["file"]: row for row in rows} | {row["stimulus"]: row for row in rows}
    return [(row, material_of(row, named)) for row in rows]


def material_of(
    row: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]] | None = None
) -> Material:
    """What a StimulusRow says beside the audio; turns of its lines, else of its attributes.

    The reference voice is the item's prompt where the study has prompts, as in SIM-o, else its
    reference. A recording is no reference of its own voice: that comparison would only flatter
    it. ``named``:
    the rows of the study by stimulus and by file, which the attribute reference_audio may name.
    """
    attributes = {**(row.get("attributes") or {})}
    if TARGET not in attributes and has_marks(shown := row.get("shown_text", "")):
        attributes[TARGET] = shown  # the transcript may be without the marks
    turns = tuple(Turn(**turn) for turn in row.get("turns") or ())
    if not turns:
        try:
            turns = turns_of(str(attributes.get("turns", "")))
        except ValueError:
            turns = ()  # said by the metric that needs them: no turns
    voice = "prompt" if row.get("prompt_path") else "reference"
    itself = row.get(f"{voice}_sha256") == row.get("sha256")
    return Material(
        text=row.get("text", ""),
        language=row.get("language", ""),
        speaker=row.get("speaker", ""),
        turns=turns,
        reference_path="" if itself else row.get(f"{voice}_path", ""),
        reference_sha256="" if itself else row.get(f"{voice}_sha256", ""),
        attributes=attributes,
        **same_words(row, named or {}),
    )


def same_words(row: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The recording of the same words that the clip is compared with, as Material's fields.

    The one that its attribute reference_audio names, by stimulus or file; else its item's by the
    reference condition. Nothing for the recording itself, nor for an unknown name.
    """
    wanted = str((row.get("attributes") or {}).get(REFERENCE_AUDIO, "")).strip()
    if wanted:
        other = named.get(wanted, {})
        path, sha256 = other.get("path", ""), other.get("sha256", "")
    else:
        path, sha256 = row.get("reference_path", ""), row.get("reference_sha256", "")
    if not path:
        return {}
    if sha256 == row.get("sha256"):
        return {"is_reference_audio": True}
    return {"reference_audio_path": path, "reference_audio_sha256": sha256}


def heard_stimuli(study: str) -> tuple[list[tuple[Mapping[str, Any], Material]], int]:
    """Every stimulus that raters hear as it is, and how many are heard only in joined clips."""
    from listening.selectors import only_lines

    stimuli, parts = study_stimuli(study), only_lines(study)
    heard = [(row, material) for row, material in stimuli if row["stimulus"] not in parts]
    return heard, len(stimuli) - len(heard)


def study_clips(study: str, metrics: Collection[Metric] = (), *, lines: bool = False) -> list[Clip]:
    """The study's audio files, each once for every material that the metrics tell apart.

    Without those that raters hear only as lines of joined clips, unless ``lines`` is true. Raises
    NoStimuli when there are none.
    """
    needs = sorted({need for metric in metrics for need in metric.needs})
    names: dict[tuple[str, str], list[str]] = {}
    first: dict[tuple[str, str], tuple[Mapping[str, Any], Material]] = {}
    for row, material in study_stimuli(study) if lines else heard_stimuli(study)[0]:
        key = (row["sha256"], material.fingerprint(needs))
        names.setdefault(key, []).append(row["stimulus"])
        first.setdefault(key, (row, material))
    if not first:
        from listening.selectors import no_study

        raise NoStimuli(no_study(study) or f"study {study!r} has no stimuli")
    return [
        Clip(row["path"], row["sha256"], ", ".join(names[key]), material)
        for key, (row, material) in first.items()
    ]
