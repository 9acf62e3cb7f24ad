"""The definition of an opened study, frozen: as it was opened, and after each correction."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from listening.design.studyfile import StudyFile, toml_text
from listening.design.studyfile.writer import rows_text
from listening.models import Rating, Study, StudyDefinition
from listening.studies.exporting import study_as_file

COLUMNS = (  # of a clip: what it is, and what its sound is
    *("stimulus", "condition", "item", "file", "trap", "run", "text", "transcript"),
    *("derived", "sha256"),
    *("served_sha256", "duration_s", "sample_rate_hz", "channels", "gain_db", "trimmed_s"),
)


def freeze_when_opened(study: Study, by: str) -> StudyDefinition | None:
    """The definition at the first opening; None where there is one already.

    A study that was opened before definitions were frozen gets its own at the next occasion.
    """
    if study.definitions.exists():
        return None
    return freeze(study, study_as_file(study), by)


def freeze(
    study: Study,
    file: StudyFile,
    by: str,
    changes: Sequence[dict[str, Any]] = (),
    reason: str = "",
) -> StudyDefinition:
    """Stores the definition as this study says it now, under the wording's revision."""
    toml, clips = toml_text(as_defined(file)), clips_text(study)
    return StudyDefinition.objects.create(
        study=study,
        revision=study.wording,
        toml=toml,
        clips=clips,
        sha256=hashlib.sha256(f"{toml}\x1e{clips}".encode()).hexdigest(),
        changes=list(changes),
        reason=reason,
        ratings=Rating.objects.filter(trial__session__study=study).count(),
        by=by,
    )


def as_defined(file: StudyFile) -> StudyFile:
    """Without codes that pay and the ways in, which change while a study runs."""
    return replace(file, completion_codes={}, sources=())


def clips_text(study: Study) -> str:
    """Every clip with the hashes of its audio, as CSV, in the order of their keys."""
    rows = study.stimuli.select_related("condition", "item").order_by("key")
    return rows_text(
        [
            {
                **{name: getattr(row, name) for name in COLUMNS if hasattr(row, name)},
                "stimulus": row.key,
                "condition": row.condition.key,
                "item": row.item.key,
                "text": row.item.text,
                "transcript": row.item.transcript,
            }
            for row in rows.iterator(chunk_size=2000)
        ],
        COLUMNS,
    )
