"""Studies at Prolific whose study here is closed: paused at once, and stopped when all is decided.

A pause keeps every place that is taken: who has one may finish, and is decided on as before. A stop
gives back the money of places that nobody took, and may be final there. So it waits until no
submission is in progress or awaits a decision. Prolific is read again after each of both.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from listening.models import Recruitment, Study
from listening.models.study_log import note
from listening.recruitment.drafting import is_closed, note_study
from listening.recruitment.prolific import Prolific, ProlificError

BY, SYNC = "Earnest", "listening.jobs.sync_recruitment"
RECRUITING = "ACTIVE"
DECIDED = (  # nothing of a submission is open
    *("APPROVED", "PARTIALLY APPROVED", "REJECTED", "RETURNED", "SCREENED OUT", "TIMED-OUT"),
)
REMEDY = "Earnest tries again every 5 minutes. To stop it now, pause the study at Prolific."


class Closing(NamedTuple):
    """How far a closed study is at Prolific, in a sentence or two."""

    words: str
    is_problem: bool


def look_when_closed(study_id: int, **_signal: Any) -> None:
    """Receives `listening.common.signals.closed`: Prolific is asked once the study is closed."""
    live = Recruitment.objects.filter(study=study_id, state=Recruitment.State.LIVE)
    for pk in live.values_list("pk", flat=True):
        transaction.on_commit(partial(_ask_to_sync, pk), robust=True)


def _ask_to_sync(pk: int) -> None:
    with suppress(OperationalError):  # the clock looks too
        current_app.send_task(SYNC, [pk])


def pause_closed(prolific: Prolific, recruitment: Recruitment) -> str:
    """Pause what still recruits for a closed study; the problem, "" where there is none."""
    if recruitment.status != RECRUITING or not is_closed(recruitment):
        return ""
    return _change(prolific, recruitment, "PAUSE")


def stop_closed(prolific: Prolific, recruitment: Recruitment) -> str:
    """Stop what is paused for a closed study, once all its submissions are decided."""
    if recruitment.status != "PAUSED" or not is_closed(recruitment) or open_places(recruitment):
        return ""
    return _change(prolific, recruitment, "STOP")


def open_places(recruitment: Recruitment) -> int:
    """The submissions that are in progress or await a decision."""
    return recruitment.submissions.exclude(status__in=DECIDED).count()


def _change(prolific: Prolific, recruitment: Recruitment, action: str) -> str:
    before, said = recruitment.status, ""
    try:
        prolific.transition(recruitment.prolific_study, action)
    except ProlificError as error:
        said = str(error)  # what Prolific has is read below
    note_study(prolific, recruitment, prolific.study(recruitment.prolific_study))
    if recruitment.status != before:
        words = f"The study is closed: {recruitment.status.lower()} at Prolific"
        note(recruitment.study, "recruiting", BY, said=words)
        return ""
    wanted = "pause" if action == "PAUSE" else "stop"
    return f"Prolific did not {wanted} the closed study. {said or 'It shows no change.'}".strip()


def closings_of(study: Study) -> list[Closing]:
    """What the page of a closed study says about Prolific; nothing where none was published."""
    if study.state != Study.State.CLOSED:
        return []
    return [_closing(each) for each in study.recruitments.filter(state=Recruitment.State.LIVE)]


def _closing(recruitment: Recruitment) -> Closing:
    if recruitment.status == RECRUITING:
        said = f" {recruitment.problem}" if recruitment.problem else ""
        return Closing(f"Prolific still recruits for this study.{said} {REMEDY}", is_problem=True)
    if recruitment.status != "PAUSED":
        return Closing(f"Prolific has ended recruiting: {recruitment.status.lower()}.", False)
    number = open_places(recruitment)
    if number:
        are = "1 submission is" if number == 1 else f"{number:,} submissions are"
        return Closing(
            f"Recruiting is paused at Prolific. {are} in progress or awaiting a decision, and keep "
            "their places. Earnest stops the study there when all are decided.",
            is_problem=False,
        )
    said = recruitment.problem or "Earnest stops the study there at the next update."
    return Closing(f"Recruiting is paused at Prolific. {said}", bool(recruitment.problem))
