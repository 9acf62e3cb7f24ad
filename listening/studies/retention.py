"""When what names raters is erased: a study's rule, in words, and what stands against its date."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from listening.models import Block, Bonus, BonusBatch, Recruitment, Session, Study, Submission
from listening.models.study_log import COMMAND_LINE, note
from listening.studies.findings import StudyError

MOST_DAYS = 36_500
GOING_ON = ("ACTIVE", "RESERVED", "AWAITING REVIEW")  # at Prolific: may be paid yet


@dataclass(frozen=True)
class Rule:
    """So many days after the study closed, or on a day; neither: never by itself."""

    days: int | None = None
    on: date | None = None
    reasons: bool = False

    @property
    def is_set(self) -> bool:
        return self.days is not None or self.on is not None

    def __str__(self) -> str:
        """As the log and the report card have it."""
        if not self.is_set:
            return "no date"
        when = f"{self.days} days after the study is closed"
        if self.on is not None:
            when = f"on {self.on}, 00:00 UTC"
        return f"{when}, {'with' if self.reasons else 'without'} the reasons"


def rule_of(study: Any) -> Rule:
    """Of a stored study, or of a study file."""
    return Rule(study.erase_after_days, study.erase_on, study.erase_reasons)


def due_at(study: Study) -> datetime | None:
    """From when on it is due; None where no date is set, or it is known only at the end."""
    rule = rule_of(study)
    if rule.on is not None:
        return datetime.combine(rule.on, time(), UTC)
    if rule.days is None or study.closed_at is None:
        return None
    return study.closed_at + timedelta(days=rule.days)


def why_not_erased(study: Study) -> str:
    """What stands against erasing now, with the way out; "" where nothing does."""
    if study.state != Study.State.CLOSED:
        return f"The study “{study.key}” is {study.state}. Close it first."
    held = Block.objects.filter(
        task__study=study, state=Block.State.LEASED, lease_until__gt=timezone.now()
    )
    listening = held.values("session").distinct().count()
    if listening:
        who = "1 rater is" if listening == 1 else f"{listening} raters are"
        return f"{who} still listening. Wait until they are through, or their places expire."
    return _owed(study)


def _owed(study: Study) -> str:
    """Money that may still have to reach people, for which their ids are needed."""
    page = "Settle it on the page Recruiting; what was paid stays in the ledger."
    unsure = (Recruitment.State.SENDING, Recruitment.State.PUBLISHING)
    if study.recruitments.filter(state__in=unsure).exists():
        return f"Whether a study was published at Prolific is not known yet. {page}"
    in_doubt = Q(status="TIMED-OUT", session__status=Session.Status.FINISHED)
    waiting = Submission.objects.filter(Q(status__in=GOING_ON) | in_doubt, recruitment__study=study)
    bonuses = Bonus.objects.filter(submission__recruitment__study=study, paid_at=None)
    batches = BonusBatch.objects.filter(recruitment__study=study, state=BonusBatch.State.PAYING)
    if count := waiting.count():
        return f"{count:,} submissions at Prolific are not decided or not paid. {page}"
    if bonuses.exists() or batches.exists():
        return f"{max(bonuses.count(), 1):,} bonuses are owed. {page}"
    return ""


def change_rule(study: Study, rule: Rule, *, by: str = COMMAND_LINE) -> bool:
    """Sets when it is erased; False where nothing changed.

    Who has taken part was told the rule, so from then on it only becomes stricter.
    """
    if rule.days is not None and rule.on is not None:
        raise StudyError("Say either after how many days, or on which day. Nothing was changed.")
    if rule.days is not None and not 0 <= rule.days <= MOST_DAYS:
        raise StudyError(f"Write 0 to {MOST_DAYS:,} days. Nothing was changed.")
    with transaction.atomic():
        row = Study.objects.select_for_update().get(pk=study.pk)
        old = rule_of(row)
        if old == rule:
            return False
        if row.erased_at is not None:
            raise StudyError("It is erased already. Nothing was changed.")
        if is_looser(rule, old) and Session.objects.filter(study=row, pilot=False).exists():
            raise StudyError(
                f"Raters were told: {old}. For them it can only become earlier, or take the "
                "reasons along. Nothing was changed; a copy as the next version can have another."
            )
        row.erase_after_days, row.erase_on, row.erase_reasons = rule.days, rule.on, rule.reasons
        row.save(update_fields=["erase_after_days", "erase_on", "erase_reasons"])
        note(row, "retention", by, rule={"from": str(old), "to": str(rule)})
    study.erase_after_days, study.erase_on, study.erase_reasons = rule.days, rule.on, rule.reasons
    return True


def is_looser(new: Rule, old: Rule) -> bool:
    """Whether something would be kept longer than was said; days and a day are not compared."""
    if old.reasons and not new.reasons:
        return True
    if not old.is_set:
        return False
    if old.days is not None:
        return new.days is None or new.days > old.days
    return new.on is None or old.on is None or new.on > old.on
