"""What a study expects: hypotheses declared before it opens; later ones, and ended ones, marked."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from listening.design.studyfile.entries import LONGEST_HYPOTHESIS, MOST_HYPOTHESES
from listening.models import Hypothesis, Study
from listening.models.study_log import COMMAND_LINE, note
from listening.studies.deciding import add, end, take_from_folder
from listening.studies.findings import StudyError


@transaction.atomic
def add_hypothesis(study: Study, text: str, why: str = "", *, by: str = COMMAND_LINE) -> Hypothesis:
    """Part of the definition where the study was not opened yet; else marked as later."""
    row = Study.objects.select_for_update().get(pk=study.pk)
    text = " ".join(text.split())
    if not text:
        raise StudyError("Write what you expect, as a sentence. Nothing was changed.")
    if len(text) > LONGEST_HYPOTHESIS:
        raise StudyError(
            f"A hypothesis has at most {LONGEST_HYPOTHESIS:,} characters: shorten it, or make two. "
            "Nothing was changed."
        )
    made, told = add(
        *(row, Hypothesis, text, why, by),
        held="This hypothesis stands there already.",
        most=f"A study has at most {MOST_HYPOTHESES} hypotheses.",
        what="a hypothesis",
    )
    note(row, "hypothesis_added", by, text=text, **told)
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
    take_from_folder(study, Hypothesis, ((text, "") for text in texts), by)


def hypotheses_as_declared(study: Study) -> tuple[str, ...]:
    """What study.toml says: those declared before the opening, taken back since or not."""
    rows = study.hypotheses.filter(declared=True).order_by("pk")
    return tuple(dict.fromkeys(rows.values_list("text", flat=True)))
