"""What a study decides of its analysis: before its first opening, or after and marked so."""

from __future__ import annotations

from django.utils import timezone

from listening.models import AnalysisRule, Hypothesis, Rating, Study
from listening.studies.errors import StudyError

LEAST_REASON = 5  # characters


def is_before(study: Study) -> bool:
    """Whether rules and hypotheses are still declared beforehand: it was never opened."""
    never = study.state == Study.State.DRAFT and study.opened_at is None
    return never and not study.definitions.exists()


def ratings_of(study: Study) -> int:
    """Stored so far, without a researcher's tries."""
    mine = Rating.objects.filter(trial__session__study=study, trial__session__pilot=False)
    return mine.count()


def end(study: Study, row: AnalysisRule | Hypothesis, because: str, what: str, by: str) -> str:
    """Out of force from now on; before the opening it is as if it never was. The reason, trimmed.

    ``study`` is locked; ``what`` is done, as the subject of a sentence.
    """
    because = because.strip()[:300]
    if is_before(study):
        row.delete()
        return because
    need_reason(because, f"{what} after the study was opened")
    row.ended_at, row.ended_by, row.ended_because = timezone.now(), by, because
    row.ended_ratings = ratings_of(study)
    row.save()
    return because


def need_reason(words: str, what: str) -> None:
    if len(words) < LEAST_REASON:
        raise StudyError(f"Say why: {what} needs a reason. Nothing was changed.")
