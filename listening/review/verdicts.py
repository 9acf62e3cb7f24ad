"""Verdicts stored in batches, kept when a draft is replaced, and freed of notes by an erasure.

What is sent twice is stored once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection

from listening.models import ReviewAssignment, Reviewer, ReviewItem, ReviewJob, Study, Verdict
from listening.review.jobs import ReviewError
from listening.review.kinds import BadVerdict, kind_named

MOST = 200  # in one request
LONGEST_NOTE = 2000
LONGEST_S = 86_400.0


class Shut(ReviewError):
    """The job takes no verdicts now."""


@dataclass(frozen=True)
class Stored:
    """The keys that are stored now (or were before), and what was refused, with the reason."""

    keys: list[str]
    refused: list[tuple[str, str]]


def store(reviewer: Reviewer, sent: Sequence[Any]) -> Stored:
    """Stores each verdict that is one; a bad one does not hinder the others."""
    if len(sent) > MOST:
        raise ReviewError(f"Send at most {MOST} verdicts at once.")
    job = ReviewJob.objects.get(pk=reviewer.job_id)
    if job.state != ReviewJob.State.OPEN:
        raise Shut("This review is closed. Verdicts not sent yet are saved in this browser.")
    keys: list[str] = []
    refused: list[tuple[str, str]] = []
    verdicts: list[Verdict] = []
    theirs = _theirs(reviewer, sent)
    for each in sent:
        key = str(each.get("key", "")) if isinstance(each, Mapping) else ""
        try:
            verdicts.append(_verdict(job, theirs, each))
            keys.append(key)
        except BadVerdict as error:
            refused.append((key, str(error)))
    Verdict.objects.bulk_create(verdicts, ignore_conflicts=True)
    return Stored(keys, refused)


def _theirs(reviewer: Reviewer, sent: Sequence[Any]) -> dict[str, ReviewAssignment]:
    codes = [u for each in sent if isinstance(each, Mapping) and (u := _uuid(each.get("item")))]
    rows = ReviewAssignment.objects.filter(reviewer=reviewer, code__in=codes)
    return {str(row.code): row for row in rows}


def _verdict(job: ReviewJob, theirs: Mapping[str, ReviewAssignment], sent: Any) -> Verdict:
    if not isinstance(sent, Mapping) or not isinstance(sent.get("answer"), Mapping):
        raise BadVerdict("A verdict needs a key, an item and an answer.")
    key = _uuid(sent.get("key"))
    assignment = theirs.get(str(sent.get("item")))
    if key is None or assignment is None:
        raise BadVerdict("This item is not assigned to you.")
    phase, note, seconds = sent.get("phase", "own"), sent.get("note", ""), sent.get("seconds")
    if phase not in Verdict.Phase.values or not isinstance(note, str) or not _is_text(note):
        raise BadVerdict("The phase or the note is not valid.")
    kind = kind_named(job.kind)
    answer, category = kind.checked(kind.settings_from(job.settings), sent["answer"])
    return Verdict(
        assignment=assignment,
        key=key,
        phase=phase,
        answer=answer,
        category=category,
        note=note.strip()[:LONGEST_NOTE],
        seconds=_seconds(seconds),
    )


def _is_text(note: str) -> bool:
    """Whether the database can keep it."""
    try:
        return b"\0" not in note.encode()
    except UnicodeEncodeError:  # half of a pair
        return False


def _seconds(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known and 0 <= value <= LONGEST_S else None


def _uuid(value: Any) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None


def relink(study: Study) -> int:
    """Items find the clips of their names again where these are the same sound; how many do.

    The others keep what was said of them, and are given to nobody: their sound is another now.
    """
    clips = {
        (key, sha256): pk for pk, key, sha256 in study.stimuli.values_list("pk", "key", "sha256")
    }
    changed = []
    for item in ReviewItem.objects.filter(job__study=study).exclude(clip={}):
        names = item.all_clips
        matches = [clips.get((each["stimulus"], each["sha256"])) for each in names]
        whole = [pk for pk in matches if pk is not None]
        same = len(whole) == len(names)
        item.stimulus_id, item.others = (whole[0], whole[1:]) if same else (None, [])
        changed.append(item)
    ReviewItem.objects.bulk_update(changed, ["stimulus", "others"], batch_size=1000)
    return sum(item.stimulus_id is not None for item in changed)


def forget_notes(study: Study) -> int:
    """Inside a transaction: the database allows it while something is being deleted."""
    rows = Verdict.objects.filter(assignment__item__job__study=study).exclude(note="")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL earnest.deleting = 'on'")
        count = rows.update(note="")
        cursor.execute("SET LOCAL earnest.deleting = 'off'")
    return count
