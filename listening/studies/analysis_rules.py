"""Rules of analysis declared, added and ended; exclusions undone: each with who, when and why.

Nothing here touches a rating, what counts for the plan, or pay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from django.db import transaction

from listening.design.analysis_rules import key_of, rule_read
from listening.models import AnalysisRule, Rater, SparedRater, Study
from listening.models.study_log import COMMAND_LINE, note
from listening.studies.deciding import MOST, add, end, need_reason, ratings_of, take_from_folder
from listening.studies.findings import StudyError

ALWAYS = {  # rules that are undone elsewhere, and where
    "session_status": "Restore the session on the page Raters.",
    "not_counted": "Whose place another rater has filled stays outside of the plan.",
    "missing_score": "A rating without a score enters no estimate.",
    "duplicate": "The first of two ratings in one trial is in already.",
    "repeat": "A second answer tells how a rater agrees with themselves.",
}


@transaction.atomic
def add_rule(study: Study, text: str, why: str = "", *, by: str = COMMAND_LINE) -> AnalysisRule:
    """In force from now on; part of the definition where the study was not opened yet."""
    row = Study.objects.select_for_update().get(pk=study.pk)
    try:
        text = rule_read(text)
    except ValueError as error:
        raise StudyError(f"{error}. Nothing was changed.") from None
    made, told = add(
        *(row, AnalysisRule, text, why, by),
        held=f"The rule “{text}” is in force already.",
        most=f"A study has at most {MOST[AnalysisRule]} rules.",
        what="a rule",
    )
    note(row, "rule_added", by, rule=text, **told)
    return made


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
    _check_key(key)
    rater = Rater.objects.filter(code=code.strip(), sessions__study=row).distinct().first()
    if rater is None:
        raise StudyError(f"No rater “{code.strip()}” took part. Copy the code from the table.")
    because = because.strip()[:300]
    need_reason(because, "undoing an exclusion")
    if row.spared_raters.filter(rule=key, rater=rater).exists():
        raise StudyError("That is undone already. Nothing was changed.")
    made = SparedRater.objects.create(
        study=row, rule=key, rater=rater, because=because, ratings=ratings_of(row), by=by
    )
    note(row, "spared", by, rule=key, rater=rater.code, because=because)
    return made


@transaction.atomic
def unspare_rater(study: Study, pk: int, *, by: str = COMMAND_LINE) -> None:
    """The rule holds for this rater again."""
    row = Study.objects.select_for_update().get(pk=study.pk)
    spared = row.spared_raters.filter(pk=pk).select_related("rater").first()
    if spared is None:
        raise StudyError("There is no such exception. Nothing was changed.")
    note(row, "spared_ended", by, rule=spared.rule, rater=spared.rater.code)
    spared.delete()


def rules_from_folder(study: Study, rules: Iterable[Mapping[str, str]], by: str) -> None:
    """Those of study.toml, in place of what an earlier folder of the same draft said."""
    take_from_folder(
        study, AnalysisRule, ((rule["rule"], rule.get("why", "")) for rule in rules), by
    )


def rules_as_declared(study: Study) -> tuple[dict[str, str], ...]:
    """What study.toml says: the rules that were declared before the opening, ended since or not."""
    rows = study.analysis_rules.filter(declared=True).order_by("pk")
    return tuple({"rule": row.text, **({"why": row.why} if row.why else {})} for row in rows)


def _check_key(key: str) -> None:
    try:
        rule_read(key)
    except ValueError as error:
        if "no rule" in str(error):
            raise StudyError(f"{error}. Nothing was changed.") from None
