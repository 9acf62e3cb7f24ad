"""What a study decides of its analysis: before its first opening, or after and marked so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from django.db.models import Model
from django.utils import timezone

from listening.design.studyfile.entries import MOST_HYPOTHESES
from listening.models import AnalysisRule, Hypothesis, Rating, Study
from listening.studies.findings import StudyError

LEAST_REASON = 5  # characters
MOST: dict[type[Model], int] = {AnalysisRule: 30, Hypothesis: MOST_HYPOTHESES}
Row = TypeVar("Row", AnalysisRule, Hypothesis)


def is_before(study: Study) -> bool:
    """Whether rules and hypotheses are still declared beforehand: it was never opened."""
    never = study.state == Study.State.DRAFT and study.opened_at is None
    return never and not study.definitions.exists()


def ratings_of(study: Study) -> int:
    """Stored so far, without a researcher's tries."""
    mine = Rating.objects.filter(trial__session__study=study, trial__session__pilot=False)
    return mine.count()


def add(
    study: Study, kind: type[Row], text: str, why: str, by: str, *, held: str, most: str, what: str
) -> tuple[Row, dict[str, str]]:
    """In force from now on, and what the log says of it beside the text.

    ``study`` is locked. Sentences where it cannot be: ``held``, as it is there already; ``most``,
    as there are `MOST` of its kind. ``what`` needs a reason after the opening.
    """
    why, before = why.strip()[:300], is_before(study)
    in_force = kind.objects.filter(study=study, ended_at=None)
    if in_force.filter(text=text).exists():
        raise StudyError(f"{held} Nothing was changed.")
    if in_force.count() >= MOST[kind]:
        raise StudyError(f"{most} Nothing was changed.")
    if not before:
        need_reason(why, f"{what} that is added after the study was opened")
    ratings = ratings_of(study)
    made = kind.objects.create(
        study=study, text=text, why=why, declared=before, ratings=ratings, by=by
    )
    decided = "before opening" if before else f"after {ratings:,} ratings were stored"
    return made, {"decided": decided, **({"why": why} if why else {})}


def take_from_folder(
    study: Study, kind: type[Row], entries: Iterable[tuple[str, str]], by: str
) -> None:
    """Texts of study.toml with why, in place of what an earlier folder of the same draft said."""
    kind.objects.filter(study=study, from_folder=True).delete()
    rows = kind.objects.filter(study=study, ended_at=None)
    held = set(rows.values_list("text", flat=True))
    kind.objects.bulk_create(
        kind(study=study, text=text, why=why, declared=True, from_folder=True, by=by)
        for text, why in entries
        if text not in held
    )


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
