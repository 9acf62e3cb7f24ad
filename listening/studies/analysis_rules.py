"""Rules of analysis and hypotheses of a study: declared, added and ended, with who, when and why.

What is declared before the first opening stands; what comes later is marked so. Nothing here
touches a rating, what counts for the plan, or pay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from django.db import transaction
from django.db.models import Model
from django.utils import timezone

from listening.design.analysis_rules import key_of, versioned_rule
from listening.design.studyfile.entries import LONGEST_HYPOTHESIS, MOST_HYPOTHESES
from listening.models import AnalysisRule, Hypothesis, Rater, Rating, SparedRater, Study
from listening.models.study_log import COMMAND_LINE, note
from listening.studies.findings import StudyError

LEAST_REASON = 5  # characters
MOST: dict[type[Model], int] = {AnalysisRule: 30, Hypothesis: MOST_HYPOTHESES}
Row = TypeVar("Row", AnalysisRule, Hypothesis)
ALWAYS = {  # rules that are undone elsewhere, and where
    "session_status": "Restore the session on the page Raters.",
    "not_counted": "Another rater has filled this slot, so the rating does not count.",
    "missing_score": "Ratings without a score are not used in estimates.",
    "duplicate": "Only the first of two ratings in a trial counts.",
    "repeat": "Repeated trials are used only for intra-rater agreement.",
}


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
    row = kind.objects.create(
        study=study, text=text, why=why, declared=before, ratings=ratings, by=by
    )
    decided = "before opening" if before else f"after {ratings:,} ratings were stored"
    return row, {"decided": decided, **({"why": why} if why else {})}


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


@transaction.atomic
def add_hypothesis(study: Study, text: str, why: str = "", *, by: str = COMMAND_LINE) -> Hypothesis:
    """Part of the definition where the study was not opened yet; else marked as later."""
    row = Study.objects.select_for_update().get(pk=study.pk)
    text = " ".join(text.split())
    if not text:
        raise StudyError("State your hypothesis in a sentence. Nothing was changed.")
    if len(text) > LONGEST_HYPOTHESIS:
        raise StudyError(
            f"A hypothesis has at most {LONGEST_HYPOTHESIS:,} characters: shorten or split it. "
            "Nothing was changed."
        )
    hypothesis, details = add(
        *(row, Hypothesis, text, why, by),
        held="This hypothesis has already been added.",
        most=f"A study has at most {MOST_HYPOTHESES} hypotheses.",
        what="a hypothesis",
    )
    note(row, "hypothesis_added", by, text=text, **details)
    return hypothesis


@transaction.atomic
def end_hypothesis(study: Study, pk: int, because: str = "", *, by: str = COMMAND_LINE) -> str:
    """Taken back from now on, and its text; one that was declared stays in the definition."""
    row = Study.objects.select_for_update().get(pk=study.pk)
    hypothesis = row.hypotheses.filter(pk=pk, ended_at=None).first()
    if hypothesis is None:
        raise StudyError("There is no such hypothesis. Nothing was changed.")
    because = end(row, hypothesis, because, "withdrawing a hypothesis", by)
    note(
        row,
        "hypothesis_ended",
        by,
        text=hypothesis.text,
        **({"because": because} if because else {}),
    )
    return hypothesis.text


def hypotheses_from_folder(study: Study, texts: Iterable[str], by: str) -> None:
    """Those of study.toml, in place of what an earlier folder of the same draft said."""
    take_from_folder(study, Hypothesis, ((text, "") for text in texts), by)


def hypotheses_as_declared(study: Study) -> tuple[str, ...]:
    """What study.toml says: those declared before the opening, taken back since or not."""
    rows = study.hypotheses.filter(declared=True).order_by("pk")
    return tuple(dict.fromkeys(rows.values_list("text", flat=True)))


@transaction.atomic
def add_rule(study: Study, text: str, why: str = "", *, by: str = COMMAND_LINE) -> AnalysisRule:
    """In force from now on; part of the definition where the study was not opened yet."""
    row = Study.objects.select_for_update().get(pk=study.pk)
    try:
        text = versioned_rule(text)
    except ValueError as error:
        raise StudyError(f"{error}. Nothing was changed.") from None
    rule, details = add(
        *(row, AnalysisRule, text, why, by),
        held=f"The rule “{text}” is in force already.",
        most=f"A study has at most {MOST[AnalysisRule]} rules.",
        what="a rule",
    )
    note(row, "rule_added", by, rule=text, **details)
    return rule


@transaction.atomic
def end_rule(study: Study, pk: int, because: str = "", *, by: str = COMMAND_LINE) -> str:
    """Out of force from now on, and its text. Before the opening it is as if it never was."""
    row = Study.objects.select_for_update().get(pk=study.pk)
    rule = row.analysis_rules.filter(pk=pk, ended_at=None).first()
    if rule is None:
        raise StudyError("There is no such rule in force. Nothing was changed.")
    because = end(row, rule, because, "ending a rule", by)
    note(row, "rule_ended", by, rule=rule.text, **({"because": because} if because else {}))
    return rule.text


@transaction.atomic
def spare_rater(
    study: Study, rule: str, code: str, because: str, *, by: str = COMMAND_LINE
) -> SparedRater:
    """The rule leaves out nothing of this rater from now on."""
    row = Study.objects.select_for_update().get(pk=study.pk)
    key = key_of(rule.strip())
    if key in ALWAYS:
        raise StudyError(f"What “{key}” leaves out is not undone here. {ALWAYS[key]}")
    try:
        versioned_rule(key)
    except ValueError as error:
        if "no rule" in str(error):
            raise StudyError(f"{error}. Nothing was changed.") from None
    rater = Rater.objects.filter(code=code.strip(), sessions__study=row).distinct().first()
    if rater is None:
        raise StudyError(f"No rater “{code.strip()}” took part. Copy the code from the table.")
    because = because.strip()[:300]
    need_reason(because, "undoing an exclusion")
    if row.spared_raters.filter(rule=key, rater=rater).exists():
        raise StudyError("This exclusion is already undone. Nothing was changed.")
    exception = SparedRater.objects.create(
        study=row, rule=key, rater=rater, because=because, ratings=ratings_of(row), by=by
    )
    note(row, "spared", by, rule=key, rater=rater.code, because=because)
    return exception


@transaction.atomic
def unspare_rater(study: Study, pk: int, *, by: str = COMMAND_LINE) -> None:
    """The rule holds for this rater again."""
    row = Study.objects.select_for_update().get(pk=study.pk)
    exception = row.spared_raters.filter(pk=pk).select_related("rater").first()
    if exception is None:
        raise StudyError("There is no such exception. Nothing was changed.")
    note(row, "spared_ended", by, rule=exception.rule, rater=exception.rater.code)
    exception.delete()


def rules_from_folder(study: Study, rules: Iterable[Mapping[str, str]], by: str) -> None:
    """Those of study.toml, in place of what an earlier folder of the same draft said."""
    take_from_folder(
        study, AnalysisRule, ((rule["rule"], rule.get("why", "")) for rule in rules), by
    )


def rules_as_declared(study: Study) -> tuple[dict[str, str], ...]:
    """What study.toml says: the rules that were declared before the opening, ended since or not."""
    rows = study.analysis_rules.filter(declared=True).order_by("pk")
    return tuple({"rule": row.text, **({"why": row.why} if row.why else {})} for row in rows)
