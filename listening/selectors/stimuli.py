"""Every stimulus of a study with the path of its audio, and clips that browsers could not play."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from django.db import connection
from django.db.models import Count, Q

from listening import audio
from listening.models import Item, Stimulus, Study, Trial
from listening.sessions.outcomes import SKIPPED_BY_OTHERS

READ = (  # whole rows of three tables take three times as long
    *("key", "trap", "run", "file", "original", "sha256", "duration_s", "lines", "attributes"),
    *("condition__key", "condition__system", "condition__voice", "condition__role"),
    *("item__key", "item__text", "item__transcript", "item__dimension"),
    *("item__language", "item__speaker"),
)
MARK = """
    SELECT md5(string_agg(md5(ROW(s.*, c.*, i.*)::text), '' ORDER BY s.id)),
        coalesce(array_agg(DISTINCT s.sha256), '{}')
    FROM listening_stimulus s
    JOIN listening_condition c ON c.id = s.condition_id
    JOIN listening_item i ON i.id = s.item_id
    JOIN listening_study y ON y.id = s.study_id
    WHERE y.key = %s
"""
MOST_NAMED = 20


class TurnRow(TypedDict):
    """One rated line of a derived stimulus, in seconds from the start of what `path` holds."""

    speaker: str
    start_s: float
    end_s: float
    text: str


class StimulusRow(TypedDict):
    """One stimulus with the place of its original audio; of a derived one, the rated lines.

    Where clips lie in a remote store, nothing is at ``path`` before `bring_audio` was told of it.
    """

    stimulus: str
    item: str
    condition: str
    system: str
    voice: str
    role: str
    file: str  # in the study's folder, as imported
    path: str  # on this machine
    sha256: str
    run: int  # of the synthesis
    text: str  # what is spoken: the transcript, else the text that raters are shown
    shown_text: str  # what raters are shown where a task shows it
    dimension: str
    language: str
    speaker: str
    duration_s: float
    reference_path: str
    reference_sha256: str
    prompt_path: str  # of the recording of the target speaker that raters hear before the clip
    prompt_sha256: str
    turns: list[TurnRow]
    attributes: dict[str, str]


def stimulus_rows(study: str) -> list[StimulusRow]:
    """Every stimulus of a study, traps included; `bring_audio` has its paths hold their files."""
    stimuli = (
        Stimulus.objects.filter(study__key=study)
        .select_related("condition", "item")
        .only(*READ)
        .order_by("pk")
    )
    languages = Study.objects.filter(key=study).values_list("language", flat=True)
    usual = languages.first() or ""
    references = _by_item(stimuli, "reference")
    prompts = _by_item(stimuli, "prompt")
    speakers = dict(Item.objects.filter(study__key=study).values_list("key", "speaker"))
    return [
        _stimulus_row(s, references.get(s.item_id), prompts.get(s.item_id), speakers, usual)
        for s in stimuli
    ]


def _by_item(stimuli: Iterable[Stimulus], role: str) -> dict[int, Stimulus]:
    """The stimulus of each item by the condition with the role, the first one declared."""
    of_role = (s for s in stimuli if s.condition.role == role and s.trap == "")
    by_place = sorted(of_role, key=lambda s: (s.condition_id, s.pk), reverse=True)
    return {s.item_id: s for s in by_place}


def stimuli_mark(study: str) -> tuple[str, list[str]]:
    """A mark that changes when anything that `stimulus_rows` tells does; and their hashes."""
    languages = Study.objects.filter(key=study).values_list("language", flat=True)
    with connection.cursor() as cursor:
        cursor.execute(MARK, [study])
        mark, hashes = cursor.fetchone()
    return f"{mark or ''} {languages.first() or ''}", list(hashes)


def _stimulus_row(
    s: Stimulus,
    reference: Stimulus | None,
    prompt: Stimulus | None,
    speakers: Mapping[str, str],
    usual_language: str,
) -> StimulusRow:
    return StimulusRow(
        stimulus=s.key,
        item=s.item.key,
        condition=s.condition.key,
        system=s.condition.system,
        voice=s.condition.voice,
        role="trap" if s.trap else s.condition.role,
        file=s.file,
        path=_original(s),
        sha256=s.sha256,
        run=s.run,
        text=s.item.transcript or s.item.text,
        shown_text=s.item.text,
        dimension=s.item.dimension,
        language=s.item.language or usual_language,
        speaker=s.item.speaker,
        duration_s=_rated_s(s),
        reference_path=_original(reference) if reference else "",
        reference_sha256=reference.sha256 if reference else "",
        prompt_path=_original(prompt) if prompt else "",
        prompt_sha256=prompt.sha256 if prompt else "",
        turns=_turns(s, speakers),
        attributes={str(k): str(v) for k, v in s.attributes.items()},
    )


def _rated_s(s: Stimulus) -> float:
    """How long the rated part lasts: what `path` holds."""
    rated = [line for line in s.lines if line["role"] == "rated"]
    if not rated:
        return s.duration_s
    return float(max(line["end_s"] for line in rated) - rated[0]["start_s"])


def _turns(s: Stimulus, speakers: Mapping[str, str]) -> list[TurnRow]:
    """The rated lines with the speaker of each line's item; none of a stimulus that was imported.

    The context is no part of what `path` holds: times count from the first rated line.
    """
    rated = [line for line in s.lines if line["role"] == "rated"]
    return [
        TurnRow(
            speaker=line.get("speaker") or speakers.get(line["item"], ""),
            start_s=round(line["start_s"] - rated[0]["start_s"], 6),
            end_s=round(line["end_s"] - rated[0]["start_s"], 6),
            text=line["text"],
        )
        for line in rated
    ]


def _original(s: Stimulus) -> str:
    return str(audio.expected_path(s.original))


class UnplayedClip(TypedDict):
    """A stimulus, and in how many of the sessions that met it it was passed over."""

    stimulus: str
    condition: str
    skipped: int
    met: int


def unplayed_clips(study: str) -> list[UnplayedClip]:
    """Those passed over in more than two sessions, most often first; at most 20."""
    row = Study.objects.get(key=study)
    dealt_with = (Trial.State.ANSWERED, Trial.State.SKIPPED)
    skipped = Trial.objects.filter(task__study=row, is_skipped=True)
    counts = (
        Trial.objects.filter(stimulus__in=skipped.values("stimulus"), state__in=dealt_with)
        .order_by()
        .values("stimulus__key", "stimulus__condition__key")
        .annotate(
            skipped=Count("session", distinct=True, filter=Q(is_skipped=True)),
            met=Count("session", distinct=True),
        )
        .filter(skipped__gt=SKIPPED_BY_OTHERS)
        .order_by("-skipped", "stimulus__key")[:MOST_NAMED]
    )
    return [
        UnplayedClip(
            stimulus=count["stimulus__key"],
            condition=count["stimulus__condition__key"],
            skipped=count["skipped"],
            met=count["met"],
        )
        for count in counts
    ]
