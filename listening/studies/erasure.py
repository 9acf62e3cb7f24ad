"""Erasing raters' personal data on the date of a study's retention rule; ratings stay."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from listening.common.plugins import MissingClass
from listening.common.signals import reasons_erased
from listening.design.occasions import questionnaire_of
from listening.design.questions import question_kind
from listening.models import (
    Block,
    Bonus,
    BonusBatch,
    HookEvent,
    Invitation,
    Justification,
    Rater,
    Recruitment,
    Session,
    Study,
    StudyEvent,
    Submission,
)
from listening.models.study_log import COMMAND_LINE, note
from listening.review.verdicts import forget_notes
from listening.sessions.playback_facts import AFTER_ERASURE, SKIPPED_BECAUSE
from listening.studies.findings import Counts, StudyError, counting

MOST_DAYS = 36_500
PENDING = ("ACTIVE", "RESERVED", "AWAITING REVIEW")  # at Prolific: may be paid yet
SESSION_MARKS = (  # of a session: where it came from, and in what it was heard
    *("prolific_session", "prolific_study", "external_session", "external_project"),
    *("origin", "browser_of", "device", "agent"),
)
# What stays of `trial.playback`: facts of listening, as long as they are no text.
_STAYS = f"""
SELECT coalesce(jsonb_object_agg(key, value), '{{}}') FROM jsonb_each(t.playback)
WHERE key = ANY(%(kept)s) AND (key = '{SKIPPED_BECAUSE}' AND value #>> '{{}}' IN ('load', 'decode')
    OR jsonb_typeof(value) IN ('number', 'boolean') OR jsonb_typeof(value) = 'array'
        AND NOT jsonb_path_exists(value, '$[*] ? (@.type() != "number")'))
"""
_OF_STUDY = "s.id = t.session_id AND s.study_id = %(study)s"
COUNT_PLAYBACK = f"""
SELECT count(*) FROM listening_trial t JOIN listening_session s ON {_OF_STUDY}
WHERE t.playback <> ({_STAYS})
"""
ERASE_PLAYBACK = f"""
UPDATE listening_trial t SET playback = ({_STAYS}) FROM listening_session s
WHERE {_OF_STUDY} AND t.playback <> ({_STAYS})
"""
BY_DATE = "the date that the study set"
log = logging.getLogger(__name__)


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
        return f"{when}, {'with' if self.reasons else 'without'} justifications"


def rule_of(study: Any) -> Rule:
    """Of a stored study, or of a study file."""
    return Rule(study.erase_after_days, study.erase_on, study.erase_reasons)


def erasure_date(study: Study) -> datetime | None:
    """From when on it is due; None where no date is set, or it is known only at the end."""
    rule = rule_of(study)
    if rule.on is not None:
        return datetime.combine(rule.on, time(), UTC)
    if rule.days is None or study.closed_at is None:
        return None
    return study.closed_at + timedelta(days=rule.days)


def why_not_erased(study: Study) -> str:
    """Return why the study cannot be erased now and what to do; "" where it can."""
    if study.state != Study.State.CLOSED:
        return f"The study “{study.key}” is {study.state}. Close it first."
    held = Block.objects.filter(
        task__study=study, state=Block.State.LEASED, lease_until__gt=timezone.now()
    )
    listening = held.values("session").distinct().count()
    if listening:
        who = "1 rater is" if listening == 1 else f"{listening} raters are"
        return f"{who} still in progress. Wait until they finish or their leases expire."
    return _pending_payments(study)


def _pending_payments(study: Study) -> str:
    """Money that may still have to reach people, for which their ids are needed."""
    page = "Resolve this under Recruiting and payments. Payments stay in the ledger."
    unsure = (Recruitment.State.SENDING, Recruitment.State.PUBLISHING)
    if study.recruitments.filter(state__in=unsure).exists():
        return f"Whether a study was published at Prolific is not known yet. {page}"
    in_doubt = Q(status="TIMED-OUT", session__status=Session.Status.FINISHED)
    waiting = Submission.objects.filter(Q(status__in=PENDING) | in_doubt, recruitment__study=study)
    bonuses = Bonus.objects.filter(submission__recruitment__study=study, paid_at=None)
    batches = BonusBatch.objects.filter(recruitment__study=study, state=BonusBatch.State.PAYING)
    if count := waiting.count():
        return f"{count:,} submissions at Prolific are not decided or not paid. {page}"
    if bonuses.exists() or batches.exists():
        return f"{max(bonuses.count(), 1):,} bonuses are due. {page}"
    return ""


def change_rule(study: Study, rule: Rule, *, by: str = COMMAND_LINE) -> bool:
    """Sets when it is erased; False where nothing changed.

    Who has taken part was told the rule, so from then on it only becomes stricter.
    """
    if rule.days is not None and rule.on is not None:
        raise StudyError("Enter either a number of days or a date. Nothing was changed.")
    if rule.days is not None and not 0 <= rule.days <= MOST_DAYS:
        raise StudyError(f"Write 0 to {MOST_DAYS:,} days. Nothing was changed.")
    with transaction.atomic():
        row = Study.objects.select_for_update().get(pk=study.pk)
        old = rule_of(row)
        if old == rule:
            return False
        if row.erased_at is not None:
            raise StudyError("This study is already erased. Nothing was changed.")
        if is_looser(rule, old) and Session.objects.filter(study=row, pilot=False).exists():
            raise StudyError(
                f"Raters were told: {old}. Choose an earlier date or include the justifications, "
                "or set another rule in a new version. Nothing was changed."
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


@dataclass(frozen=True)
class Erased(Counts):
    """How much was erased of a study, or would be."""

    # of raters who are in no other study that still needs them
    participant_ids: int = counting("IDs from Prolific or other sources")
    ids_kept: int = counting("of them kept for another study")  # of the others
    sessions: int = counting("sessions: submission, address, browser, device")
    trials: int = counting("trials: device details reported by the page")
    comments: int = counting("comments")
    answers_in_words: int = counting("free-text questionnaire answers")  # to questionnaires
    reasons: int = counting("justifications")
    invitations: int = counting("invitations: IDs and email addresses")
    submissions: int = counting("Prolific submissions: IDs (payments are kept)")

    def __str__(self) -> str:
        parts = [f"{count:,} {words}" for words, count in self.rows() if count]
        return "; ".join(parts) or "nothing"


def due_studies() -> list[Study]:
    """Closed ones whose date has come, not yet erased."""
    dated = Q(erase_after_days__isnull=False) | Q(erase_on__isnull=False)
    closed = Study.objects.filter(dated, state=Study.State.CLOSED, erased_at__isnull=True)
    now = timezone.now()
    return [study for study in closed if (at := erasure_date(study)) is not None and at <= now]


def erase(study: Study, *, dry_run: bool = False, by: str = COMMAND_LINE) -> Erased:
    """Erases ids, marks of address and browser, and words; StudyError where money is still owed.

    A rater who also takes part in a study that is not erased keeps the id for that one. Reasons go
    only where the study says so. Done once more it takes what came since.
    """
    with transaction.atomic():
        row = Study.objects.select_for_update().get(pk=study.pk)
        parts = _Parts(row)
        erased = parts.count()
        if dry_run:
            return erased
        if problem := why_not_erased(row):
            raise StudyError(f"Nothing was erased. {problem}")
        parts.erase()
        row.erased_at = study.erased_at = timezone.now()
        row.save(update_fields=["erased_at"])
        rule = "with justifications" if row.erase_reasons else "without justifications"
        note(row, "erased", by, **asdict(erased), rule=rule if by != BY_DATE else str(rule_of(row)))
        if erased.reasons:
            reasons_erased.send(Study, study_id=row.pk, study_key=row.key)
    return erased


class _Parts:
    """The rows of a study that hold something to be erased."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.sessions = Session.objects.filter(study=study)
        named = Q(prolific_id__isnull=False) | Q(external_id__isnull=False)
        self.named = Rater.objects.filter(named, pk__in=self.sessions.values("rater"))
        others = Session.objects.exclude(study=study).filter(study__erased_at__isnull=True)
        self.raters = self.named.exclude(pk__in=others.values("rater"))
        submissions = Submission.objects.filter(recruitment__study=study)
        self.submissions = submissions.exclude(participant="")
        self.answered = self._answered()

    @property
    def reasons(self) -> QuerySet[Justification]:
        rows = Justification.objects.filter(trial__session__study=self.study)
        return rows if self.study.erase_reasons else rows.none()

    @property
    def marked(self) -> QuerySet[Session]:
        marks = Q()
        for name in SESSION_MARKS:
            marks |= ~Q(**{name: ""})
        return self.sessions.filter(marks)

    def count(self) -> Erased:
        ids = self.raters.count()
        return Erased(
            participant_ids=ids,
            ids_kept=self.named.count() - ids,
            sessions=self.marked.count(),
            trials=self._trials(COUNT_PLAYBACK)[0][0],
            comments=self.sessions.exclude(comment="").count(),
            answers_in_words=sum(count for _, count in self.answered),
            reasons=self.reasons.count(),
            invitations=Invitation.objects.filter(study=self.study).count(),
            submissions=self.submissions.count(),
        )

    def _trials(self, statement: str) -> list[Any]:
        """Rows of a statement about the trials whose playback facts do not stay as they are."""
        with connection.cursor() as cursor:
            names = list(AFTER_ERASURE)
            cursor.execute(statement, {"study": self.study.pk, "kept": names})
            return cursor.fetchall() if cursor.description else []

    def _answered(self) -> list[tuple[Session, int]]:
        """Sessions with answers in words taken out, and how many those were; not stored yet."""
        words = {
            each["key"]: {q["key"] for q in each["questions"] if question_kind(q).free_text}
            for each in self.study.questionnaires
        }
        if not any(words.values()):
            return []
        rows = self.sessions.exclude(questionnaires={}).only("pk", "questionnaires")
        counted = ((row, _without_words(row.questionnaires, words)) for row in rows.iterator())
        return [(row, count) for row, count in counted if count]

    def erase(self) -> None:
        self.marked.update(**dict.fromkeys(SESSION_MARKS, ""))
        self._trials(ERASE_PLAYBACK)
        self.sessions.exclude(comment="").update(comment="")
        rows = [row for row, _ in self.answered]
        Session.objects.bulk_update(rows, ["questionnaires"], batch_size=500)
        ids = list(self.raters.values_list("pk", flat=True))
        Rater.objects.filter(pk__in=ids).update(prolific_id=None, external_id=None)
        if self.study.erase_reasons:
            forget_notes(self.study)
        self.reasons.delete()
        Invitation.objects.filter(study=self.study).delete()
        prolific_ids = [each.prolific_id for each in self.submissions]
        HookEvent.objects.filter(resource__in=prolific_ids).delete()
        for each in self.submissions:
            each.prolific_id, each.participant, each.code = f"erased {each.pk}", "", ""
            each.save(update_fields=["prolific_id", "participant", "code"])
        BonusBatch.objects.filter(recruitment__study=self.study).update(before={})


def _without_words(questionnaires: dict[str, Any], words: dict[str, set[str]]) -> int:
    """Takes the answers to such questions out; how many there were."""
    count = 0
    for answer_key, stored in questionnaires.items():
        answers = stored.get("answers", {})
        for question in words.get(questionnaire_of(answer_key), set()) & set(answers):
            del answers[question]
            count += 1
    return count


def erase_due_studies() -> list[str]:
    """Erase the studies that are due; a daily job, which tries again where one cannot be yet."""
    done = []
    for study in due_studies():
        try:
            done.append(f"{study.key}: {erase(study, by=BY_DATE)}")
        except (StudyError, MissingClass) as problem:
            log.warning("%s: %s", study.key, problem)
    return done


def erased_in(record: StudyEvent) -> Erased:
    """The counts of a record; of one that was written before they were this many, what it has."""
    known = {field.name for field in fields(Erased)}
    return Erased(**{name: n for name, n in record.details.items() if name in known})


def record_of(study: Study) -> StudyEvent | None:
    """The line of the log that says what was erased, when, by which rule and by whom."""
    return StudyEvent.objects.filter(study_id=study.pk, what="erased").first()
