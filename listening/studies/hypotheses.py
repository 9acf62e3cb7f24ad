"""What a study expects: hypotheses declared before it opens; later ones, and ended ones, marked."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from listening.design.studyfile.tomlpart import LONGEST_HYPOTHESIS, MOST_HYPOTHESES
from listening.events import COMMAND_LINE, note
from listening.models import Hypothesis, Study
from listening.studies.deciding import end, is_before, need_reason, ratings_of
from listening.studies.errors import StudyError


@transaction.atomic
def add_hypothesis(study: Study, text: str, why: str = "", *, by: str = COMMAND_LINE) -> Hypothesis:
    """Part of the definition where the study was not opened yet; else marked as later."""
    row = Study.objects.select_for_update().get(pk=study.pk)
    text, why, before = " ".join(text.split()), why.strip()[:300], is_before(row)
    held = row.hypotheses.filter(ended_at=None)
    if not text:
        raise StudyError("Write what you expect, as a sentence. Nothing was changed.")
    if len(text) > LONGEST_HYPOTHESIS:
        raise StudyError(
            f"A hypothesis has at most {LONGEST_HYPOTHESIS:,} characters: shorten it, or make two. "
            "Nothing was changed."
        )
    if held.filter(text=text).exists():
        raise StudyError("This hypothesis stands there already. Nothing was changed.")
    if held.count() >= MOST_HYPOTHESES:
        raise StudyError(f"A study has at most {MOST_HYPOTHESES} hypotheses. Nothing was changed.")
    if not before:
        need_reason(why, "a hypothesis that is added after the study was opened")
    ratings = ratings_of(row)
    made = Hypothesis.objects.create(
        study=row, text=text, why=why, declared=before, ratings=ratings, by=by
    )
    decided = "before opening" if before else f"after {ratings:,} ratings were stored"
    note(row, "hypothesis_added", by, text=text, decided=decided, **({"why": why} if why else {}))
    return made


@transaction.atomic
def end_hypothesis(study: Study, pk: int, because: str = "", *, by: str = COMMAND_LINE) -> str:
    """Taken back from now on, and its text; one that was declared stays in the definition."""
    row = Study.objects.select_for_update().get(pk=study.pk)
    found = row.hypotheses.filter(pk=pk, ended_at=None).first()
    if found is None:
        raise StudyError("There is no such hypothesis. Nothing was changed.")
    because = end(row, found, because, "taking a hypothesis back", by)
    note(row, "hypothesis_ended", by, text=found.text, **({"because": because} if because else {}))
    return found.text


def hypotheses_from_folder(study: Study, texts: Iterable[str], by: str) -> None:
    """Those of study.toml, in place of what an earlier folder of the same draft said."""
    study.hypotheses.filter(from_folder=True).delete()
    held = set(study.hypotheses.filter(ended_at=None).values_list("text", flat=True))
    Hypothesis.objects.bulk_create(
        Hypothesis(study=study, text=text, declared=True, from_folder=True, by=by)
        for text in texts
        if text not in held
    )


def hypotheses_as_declared(study: Study) -> tuple[str, ...]:
    """What study.toml says: those declared before the opening, taken back since or not."""
    rows = study.hypotheses.filter(declared=True).order_by("pk")
    return tuple(dict.fromkeys(rows.values_list("text", flat=True)))
