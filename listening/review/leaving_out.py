"""Systems and clips that analyses leave out since a review: said by whom, why, and taken back."""

from __future__ import annotations

from django.db import transaction

from listening.models import LeftOut, Study
from listening.models.study_log import note
from listening.review.jobs import ReviewError

Named = dict[tuple[str, str], LeftOut]  # by what and key


def left_out_now(study: Study) -> Named:
    """What is left out now; the newest word on each holds."""
    newest = {(row.what, row.name): row for row in LeftOut.objects.filter(study=study)}
    return {key: row for key, row in newest.items() if row.out}


def leave_out(study: Study, what: str, name: str, because: str, *, by: str) -> None:
    """From now on default analyses leave it out, under the rule `left_out`. A reason is needed."""
    because = " ".join(because.split())[:300]
    if not because:
        raise ReviewError("Say why: the report tells it.")
    _check(study, what, name)
    _say(study, what, name, True, because, by)


def take_in_again(study: Study, what: str, name: str, because: str, *, by: str) -> None:
    if (what, name) not in left_out_now(study):
        raise ReviewError("It is not left out.")
    _say(study, what, name, False, " ".join(because.split())[:300], by)


def _check(study: Study, what: str, name: str) -> None:
    if what not in LeftOut.What.values:
        raise ReviewError("A system or a clip is left out.")
    rows = study.conditions if what == LeftOut.What.CONDITION else study.stimuli
    if not rows.filter(key=name).exists():
        raise ReviewError(f"There is no {what} “{name}” in this study.")
    if study.state == Study.State.DRAFT:
        raise ReviewError(
            "Nobody was let in yet: take it out of the draft itself, on its page Sounds."
        )


def _say(study: Study, what: str, name: str, out: bool, because: str, by: str) -> None:
    with transaction.atomic():
        LeftOut.objects.create(study=study, what=what, name=name, out=out, because=because, by=by)
        event = "left_out" if out else "taken_in_again"
        note(study, event, by, **{what: name, "because": because})
