"""A study opened, paused and closed; its definition is frozen when it opens."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from listening.common.signals import closed
from listening.design.studyfile import StudyFile, toml_text
from listening.design.studyfile.writer import rows_text
from listening.models import Rating, Study, StudyDefinition
from listening.models.study_log import COMMAND_LINE, note
from listening.studies.exporting import study_as_file
from listening.studies.findings import Finding, ProblemsFound, StudyError
from listening.studies.length import cached_estimate
from listening.studies.pilots import remove_pilots
from listening.studies.prelaunch import check_study

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
    # Codes that pay and the ways in change while a study runs.
    toml = toml_text(replace(file, completion_codes={}, sources=()))
    clips = clips_text(study)
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


@transaction.atomic
def open_study(
    study: Study,
    *,
    anyway: bool = False,
    by: str = COMMAND_LINE,
    findings: Sequence[Finding] | None = None,
) -> int:
    """Lets raters in; plans blocks the first time, and deletes the tries of a draft.

    `anyway` opens in spite of problems. `findings` is what `check_study` has just said: every
    clip is decoded for it, which need not be done twice.
    """
    from listening.sessions.allocation import plan_study

    row = _locked(study)
    if row.state == Study.State.CLOSED:
        raise StudyError(f"The study “{row.key}” is closed and cannot be opened again.")
    if row.state == Study.State.DRAFT and not anyway:
        findings = check_study(row) if findings is None else findings
        serious = [f for f in findings if f.level == "problem"]
        if serious:
            raise ProblemsFound(serious)
    if row.state == Study.State.DRAFT:
        remove_pilots(row, by=by)
    planned = plan_study(row)
    row.opened_at = row.opened_at or timezone.now()
    _move(study, row, Study.State.OPEN)
    frozen = freeze_when_opened(row, by)
    details = {"definition_sha256": frozen.sha256, "version": row.version} if frozen else {}
    note(row, "opened", by, **({"in_spite_of_problems": True} if anyway else {}), **details)
    transaction.on_commit(partial(cached_estimate, row))
    return planned


def change_state(study: Study, to: str, *, anyway: bool = False, by: str = COMMAND_LINE) -> None:
    """To one of the states that somebody may ask for."""
    if to == Study.State.OPEN:
        open_study(study, anyway=anyway, by=by)
    elif to == Study.State.PAUSED:
        pause_study(study, by=by)
    elif to == Study.State.CLOSED:
        close_study(study, by=by)
    else:
        raise StudyError("A study can be opened, paused or closed.")


@transaction.atomic
def pause_study(study: Study, *, by: str = COMMAND_LINE) -> None:
    """Lets nobody new in; raters who are at it may finish."""
    row = _locked(study)
    if row.state != Study.State.OPEN:
        raise StudyError(f"The study “{row.key}” is {row.state}; only an open one can be paused.")
    _move(study, row, Study.State.PAUSED)
    note(row, "paused", by)
    freeze_when_opened(row, by)  # one opened before definitions were frozen


@transaction.atomic
def close_study(study: Study, *, by: str = COMMAND_LINE) -> None:
    """Ends the study for good."""
    row = _locked(study)
    if row.state == Study.State.DRAFT:
        raise StudyError(f"The study “{row.key}” was never opened.")
    row.closed_at = row.closed_at or timezone.now()
    _move(study, row, Study.State.CLOSED)
    note(row, "closed", by)
    freeze_when_opened(row, by)
    closed.send(Study, study_id=row.pk, study_key=row.key)


def _locked(study: Study) -> Study:
    return Study.objects.select_for_update().get(pk=study.pk)


def _move(study: Study, row: Study, state: Study.State) -> None:
    """Writes the state, and shows it in the caller's object too."""
    row.state = state
    row.save(update_fields=["state", "opened_at", "closed_at"])
    study.state, study.opened_at, study.closed_at = state, row.opened_at, row.closed_at
