"""Manage, its section on what names raters: the rule, what it would erase, what it did."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from listening.access.rights import OWN
from listening.models import Study
from listening.studies import erasure
from listening.studies.errors import StudyError
from listening.studies.retention import Rule, change_rule, due_at, rule_of, why_not_erased
from listening.web.researcher.study_page import who


def retention_facts(study: Study) -> dict[str, Any]:
    record, due = erasure.record_of(study), due_at(study)
    owns = OWN in study.may
    return {
        "rule": rule_of(study),
        "due": due,
        "overdue": due is not None and due <= timezone.now(),
        "record": record,
        "erased": erasure.erased_in(record) if record else None,
        "would_go": erasure.erase(study, dry_run=True) if owns and not study.erased_at else None,
        "why_not_erased": why_not_erased(study),
    }


def set_retention(request: HttpRequest, study: Study) -> tuple[str, str]:
    """When it is erased, as the form says it."""
    when = request.POST.get("when", "never")
    days = request.POST.get("days", "").strip()
    day = request.POST.get("day", "").strip()
    if when == "days" and not (days.isascii() and days.isdigit() and len(days) < 7):
        raise StudyError("Write how many days, in digits. Nothing was changed.")
    rule = Rule(
        int(days) if when == "days" else None,
        _day(day) if when == "day" else None,
        request.POST.get("reasons") == "yes",
    )
    changed = change_rule(study, rule, by=who(request))
    return study.key, "Saved." if changed else "Nothing was changed."


def _day(written: str) -> date:
    try:
        return date.fromisoformat(written)
    except ValueError:
        raise StudyError("Write the day as 2027-06-30. Nothing was changed.") from None


def erase_now(request: HttpRequest, study: Study) -> tuple[str, str]:
    if request.POST.get("typed", "").strip() != study.key:
        raise StudyError(f"Nothing was erased: type the key “{study.key}” to erase it.")
    erased = erasure.erase(study, by=who(request))
    return study.key, f"Erased: {erased}. Ratings stay; the log says what was erased."
