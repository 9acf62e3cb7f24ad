"""Who took part, forgotten on a date: ratings stay, nothing that names a rater does."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from listening.events import COMMAND_LINE, note
from listening.invitations import erase_people
from listening.models import Rater, Session, Study, Submission


@dataclass(frozen=True)
class Erased:
    """How much was erased of a study, or would be."""

    study: str
    sessions: int  # that lose submission, address and browser
    raters: int  # that lose the id they came with: they are in no other study that still needs it

    def __str__(self) -> str:
        return f"{self.study}: {self.sessions} sessions, {self.raters} participant ids"


def due_studies() -> list[Study]:
    """Closed ones whose days are over, not yet erased."""
    closed = Study.objects.filter(
        state=Study.State.CLOSED, erased_at__isnull=True, erase_after_days__isnull=False
    )
    now = timezone.now()
    return [
        study
        for study in closed
        if study.closed_at and study.closed_at + timedelta(days=study.erase_after_days or 0) <= now
    ]


def erase(study: Study, *, dry_run: bool = False, by: str = COMMAND_LINE) -> Erased:
    """Erases ids of Prolific and of other sources, and the marks of address and browser.

    A rater who also takes part in a study that is not erased keeps the id for that one.
    """
    with transaction.atomic():
        sessions = Session.objects.filter(study=study)
        naming = sessions.filter(
            ~Q(prolific_session="")
            | ~Q(prolific_study="")
            | ~Q(external_session="")
            | ~Q(origin="")
            | ~Q(browser_of="")
            | ~Q(device="")
        )
        elsewhere = Session.objects.exclude(study=study).filter(study__erased_at__isnull=True)
        named = Q(prolific_id__isnull=False) | Q(external_id__isnull=False)
        raters = Rater.objects.filter(named, sessions__study=study).exclude(
            pk__in=elsewhere.values("rater")
        )
        erased = Erased(study.key, naming.count(), raters.distinct().count())
        if not dry_run:
            naming.update(
                **dict.fromkeys(("prolific_session", "prolific_study", "external_session"), ""),
                **dict.fromkeys(("origin", "browser_of", "device"), ""),
            )
            Rater.objects.filter(pk__in=list(raters.values_list("pk", flat=True))).update(
                prolific_id=None, external_id=None
            )
            erase_people(study)
            for place in Submission.objects.filter(recruitment__study=study):
                place.prolific_id, place.participant = f"erased {place.pk}", ""
                place.save(update_fields=["prolific_id", "participant"])
            study.erased_at = timezone.now()
            study.save(update_fields=["erased_at"])
            note(study, "erased", by, sessions=erased.sessions, participant_ids=erased.raters)
    return erased


def erase_due() -> list[Erased]:
    """What the clock says, once a day."""
    return [erase(study, by="the date that the study set") for study in due_studies()]
