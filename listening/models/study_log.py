"""The log of a study: who opened, paused, rejected, changed, exported, deleted.

It is only added to: the database refuses the rest (migration 0016). A line names people by user
name, raters by their code here, and never what raters wrote.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from listening.common.spreadsheets import safe_cell
from listening.models import Study, StudyEvent

FILES_SHOWN = 8
WITHOUT_RATERS = ("scores.csv", "scores.jsonl", "ledger.csv", "-links.csv")  # files of other things
COMMAND_LINE = "command line"  # whoever has a shell on the server
SAID = {
    "made": "Created",
    "replaced": "Replaced by another folder",
    "copied": "Copied",
    "made_as_copy": "Created as a copy",
    "opened": "Opened",
    "corrected": "Wording corrected",
    "paused": "Paused",
    "closed": "Closed permanently",
    "looked": "Look of the stop rule",
    "systems_stopped": "No more raters for systems",
    "look_failed": "Look of the stop rule failed",
    "renamed": "Renamed",
    "tagged": "Tags changed",
    "archived": "Archived",
    "unarchived": "Restored from the archive",
    "rejected": "Session rejected",
    "restored": "Session restored",
    "marked_paid": "Marked as paid",
    "marked_not_paid": "Marked as unpaid",
    "piloted": "Preview session",
    "pilots_deleted": "Preview sessions deleted",
    "simulated_deleted": "Simulated raters deleted",
    "quota": "Quota changed",
    "recruiting": "Recruiting",
    "invited": "Invitations changed",
    "limits": "Alert thresholds changed",
    "exported": "Data downloaded",
    "analysed": "Analysis requested",
    "review_made": "Review created",
    "review_opened": "Review opened",
    "review_closed": "Review closed",
    "review_changed": "Review changed",
    "review_unblinded": "Review unblinded",
    "review_deleted": "Review deleted",
    "codes_suggested": "Codes suggested by a model",
    "left_out": "Excluded from analyses",
    "taken_in_again": "Included in analyses again",
    "reviewer_invited": "Reviewer invited",
    "reviewer_revoked": "Reviewer removed",
    "scored": "Metrics requested",
    "scores_imported": "Scores imported",
    "rule_added": "Exclusion rule added",
    "rule_ended": "Exclusion rule ended",
    "hypothesis_added": "Hypothesis added",
    "hypothesis_ended": "Hypothesis withdrawn",
    "spared": "Exclusion undone",
    "spared_ended": "Exclusion in force again",
    "retention": "Erasure scheduled",
    "erased": "Personal data erased",
    "withdrew": "A rater withdrew",
    "moved": "Moved",
    "deleted": "Deleted",
}


def note(study: Study, what: str, by: str, **details: Any) -> None:
    """Adds a line, inside the transaction of what it tells of: neither is without the other."""
    if what not in SAID:
        raise ValueError(f"{what!r} is no event of a study")
    StudyEvent.objects.create(
        study_id=study.pk,
        key=study.key,
        owner_id=study.owner_id,
        by=by or COMMAND_LINE,
        what=what,
        details=details,
    )


def note_action(study_id: int, by: str, what: str, details: dict[str, Any], **_signal: Any) -> None:
    """Receives `listening.common.signals.acted`."""
    study = Study.objects.filter(pk=study_id).first()
    if study is not None:
        note(study, what, by, **details)


@dataclass(frozen=True)
class Withdrawals:
    """Raters who withdrew after they had answered, and what was taken out before the last did."""

    raters: int
    last: datetime
    files: list[StudyEvent]  # the newest first; those that may hold what they gave
    more: int


def withdrawals_of(study: Study) -> Withdrawals | None:
    """None where nobody withdrew, or before it was noted."""
    events = StudyEvent.objects.filter(study_id=study.pk)
    times = list(events.filter(what="withdrew").values_list("at", flat=True))
    if not times:
        return None
    files = [
        each
        for each in events.filter(what="exported", at__lt=times[0])
        if not str(each.details.get("file", "")).endswith(WITHOUT_RATERS)
    ]
    return Withdrawals(len(times), times[0], files[:FILES_SHOWN], max(len(files) - FILES_SHOWN, 0))


def event_title(event: StudyEvent) -> str:
    return SAID.get(event.what, event.what)


def details_text(event: StudyEvent, most: int | None = None) -> str:
    """The details as a person reads them: "title: old → new, sessions: 12".

    `most`: so many of a list, and how many more there are.
    """
    named = ((name.replace("_", " "), value) for name, value in event.details.items())
    return ", ".join(f"{name}: {_value(value, most)}" for name, value in named)


def _value(value: Any, most: int | None = None) -> str:
    if isinstance(value, dict) and set(value) == {"from", "to"}:
        return f"{_value(value['from'])} → {_value(value['to'])}"
    if isinstance(value, list):
        more = f" and {len(value) - most:,} more" if most and len(value) > most else ""
        return (", ".join(map(str, value[:most])) or "none") + more
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value) or "none"


def as_csv(study: int) -> str:
    """Every line of a study's log, the oldest first."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["time_utc", "study", "by", "what", "details"])
    for event in StudyEvent.objects.filter(study_id=study).order_by("at", "pk"):
        at = event.at.strftime("%Y-%m-%d %H:%M:%S")
        cells = (event.by, event_title(event), details_text(event))
        writer.writerow([at, event.key, *map(safe_cell, cells)])
    return out.getvalue()
